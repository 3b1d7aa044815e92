r"""Inference against a plain loop of timm's validation style; what bf16 changes.

    .venv/bin/python benchmarks/inference.py                     CPU: 1,000 images
    .venv/bin/python benchmarks/inference.py --device cuda --images 20000 --batch-size 256 \
        --models resnet50 vit_base_patch16_224 tf_efficientnet_b5

The images are generated JPEGs of 500 × 375 pixels, the weights random: neither changes the work.
The plain loop is `ImageFolder` and `DataLoader` with the same transform, batch and threads, and
`model(images)`. `alone` is our pass of one model, `shared` one pass of five models over one
decoding, `decoded` a pass over images that are decoded already, and `forward` the model alone on
pixels that are on the device: what a pass without decoding could reach.
"""

import argparse
import io
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import write_results
from PIL import Image

from matcheval.datasets.dataset import Dataset, EncodedImages, make_dataset
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.inference.forward import ForwardModel, arithmetic, run_inference
from matcheval.inference.outputs import PredictionWriter
from matcheval.inference.readers import ArrayReader, DecodingReader, Reader
from matcheval.inference.settings import InferenceConfig
from matcheval.models.packages import load_timm
from matcheval.models.transforms import Geometry, Transform

SHARING = 5  # models that share a decoding
Rates = dict[str, float]
N_DISTINCT = 500  # photographs; more images are these again


def make_photographs(n: int) -> list[bytes]:
    """Generate JPEG files with the size and weight of ImageNet's."""
    files = []
    for i in range(min(n, N_DISTINCT)):
        rng = np.random.default_rng(i)
        soft = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        pixels = np.asarray(soft.resize((500, 375), Image.Resampling.BICUBIC)).astype(np.float32)
        pixels += rng.normal(0, 14, pixels.shape)
        stream = io.BytesIO()
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(stream, "JPEG", quality=90)
        files.append(stream.getvalue())
    return [files[i % len(files)] for i in range(n)]


def make_dataset_folder(folder: Path, n: int) -> list[bytes]:
    """Write generated photographs as a dataset to `folder/dataset`; return the files."""
    files = make_photographs(n)
    offsets = np.cumsum([0, *map(len, files)])[:-1].astype(np.int64)
    images = EncodedImages(np.frombuffer(b"".join(files), np.uint8), offsets)
    classes = tuple(f"{i:04d}" for i in range(1000))
    labels = np.arange(n) % 1000
    dataset = make_dataset(
        "photos", images, labels, classes=classes, max_value=255, source="generated"
    )
    write_dataset(dataset, folder / "dataset")
    return files


def make_input_folders(folder: Path, n: int) -> None:
    """Write the same images as a dataset of ours and as a tree of class folders."""
    for i, data in enumerate(make_dataset_folder(folder, n)):
        place = folder / "tree" / f"{i % 1000:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i:06d}.jpg").write_bytes(data)


def make_model(name: str) -> tuple[torch.nn.Module, dict[str, object]]:
    """Make a model of timm with random weights; return it and its data configuration."""
    timm = load_timm()
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    return model, timm.data.resolve_data_config(model=model)


def finished_time(settings: InferenceConfig) -> float:
    """Return the time in seconds once the device has done its work."""
    if settings.device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def plain_loop_rate(name: str, tree: Path, settings: InferenceConfig, workers: int) -> float:
    """Return images per second of a loop like timm's validation script, after its start."""
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    model, data = make_model(name)
    transform = load_timm().data.create_transform(**data, is_training=False)
    dataset = ImageFolder(tree, transform)
    cuda = settings.device == "cuda"
    loader = DataLoader(
        dataset, batch_size=settings.images_at_a_time(1, 1), num_workers=workers, pin_memory=cuda
    )
    model.to(settings.device)
    torch.set_num_threads(settings.n_threads)
    start = finished_time(settings)
    predictions = []
    with torch.inference_mode():
        for images, _ in loader:
            p = model(images.to(settings.device, non_blocking=cuda)).float().softmax(1)
            predictions.append(p.max(1).indices.cpu())
    return len(dataset) / (finished_time(settings) - start)


def time_pass(
    name: str, reader: Reader, dataset: Dataset, settings: InferenceConfig, n_models: int = 1
) -> tuple[float, Any]:
    """Return images per second and model of this workflow, after its start, and predictions."""
    tasks = []
    for _ in range(n_models):
        model, data = make_model(name)
        writer = PredictionWriter(Path("unused"), {"n_classes": "1000"})
        writer.finish = lambda: None  # type: ignore[method-assign]
        transform = Transform.from_data_config(data)
        tasks.append((ForwardModel(name, model, transform, settings), [writer]))
    start = finished_time(settings)
    run_inference(tasks, reader, dataset, settings)
    rate = n_models * len(dataset) / (finished_time(settings) - start)
    return rate, tasks[0][1][0].collect()


def make_decoded_reader(dataset: Dataset, geometry: Geometry) -> Reader:
    """Make a reader of a dataset's images as an array: decoded, resized and cropped."""
    images = (geometry.apply(dataset.image(i)) for i in range(len(dataset)))
    pixels = np.stack([np.asarray(image) for image in images])
    return ArrayReader(
        make_dataset(
            "decoded", pixels, dataset.labels, classes=dataset.classes, max_value=255, source=""
        )
    )


def forward_pass_rate(name: str, settings: InferenceConfig, size: int) -> float:
    """Return images per second of the model alone, with normalised images on the device."""
    model, data = make_model(name)
    model.to(settings.device, memory_format=torch.channels_last)
    batch = settings.images_at_a_time(size, size)
    images = torch.rand(batch, *data["input_size"], device=settings.device)
    images = images.to(memory_format=torch.channels_last)
    n = 0
    with arithmetic(settings), torch.inference_mode():
        model(images)
        start = finished_time(settings)
        while finished_time(settings) - start < 5:
            model(images)
            n += batch
        return n / (finished_time(settings) - start)


def measure_speed(name: str, folder: Path, settings: InferenceConfig, workers: int) -> Rates:
    """Return images per second of each way to run a model, and the ratios of these."""
    dataset = read_dataset(folder / "dataset")
    _, data = make_model(name)
    geometry = Transform.from_data_config(data).geometry
    plain = plain_loop_rate(name, folder / "tree", settings, workers)

    def reader() -> Reader:
        return DecodingReader(dataset, geometry, workers)

    alone, fp32 = time_pass(name, reader(), dataset, settings)
    shared, _ = time_pass(name, reader(), dataset, settings, SHARING)
    decoded, _ = time_pass(name, make_decoded_reader(dataset, geometry), dataset, settings)
    forward = forward_pass_rate(name, settings, geometry.crop[0])
    low = replace(settings, precision="bf16")
    bf16, rounded = time_pass(name, reader(), dataset, low)
    shared_bf16, _ = time_pass(name, reader(), dataset, low, SHARING)
    return {
        "plain_per_s": plain, "alone_per_s": alone, "shared_per_s": shared,
        "decoded_per_s": decoded, "forward_per_s": forward, "bf16_per_s": bf16,
        "alone_ratio": alone / plain, "shared_ratio": shared / plain,
        "bf16_ratio": bf16 / plain, "shared_bf16_ratio": shared_bf16 / plain,
        "decoded_of_forward": decoded / forward,
        "bf16_flips": (fp32.prediction != rounded.prediction).mean(),
    }  # fmt: skip


def measure_model(name: str, folder: Path, arguments: argparse.Namespace) -> dict[str, object]:
    """Measure a model in several rounds; return a row of medians and ranges of the ratios."""
    settings = InferenceConfig(arguments.device, arguments.batch_size, arguments.threads)
    rounds = [
        measure_speed(name, folder, settings, arguments.workers) for _ in range(arguments.rounds)
    ]
    row: dict[str, object] = {
        "model": name, "device": arguments.device, "images": arguments.images,
        "rounds": arguments.rounds, "threads": arguments.threads, "decoders": arguments.workers,
    }  # fmt: skip
    for key in rounds[0]:
        values = sorted(rates[key] for rates in rounds)
        row[key] = f"{statistics.median(values):.3g}"
        if key.endswith("_ratio") or key == "decoded_of_forward":
            row[f"{key}_range"] = f"{values[0]:.3g} to {values[-1]:.3g}"
    return row


def main() -> None:
    """Read the command line, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    models = ["resnet18", "vit_tiny_patch16_224", "efficientnet_b0"]
    parser.add_argument("--models", nargs="+", default=models)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is taken")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of the model, on the CPU")
    parser.add_argument("--workers", type=int, default=2, help="that decode")
    parser.add_argument("--batch-size", type=int, default=64)
    arguments = parser.parse_args()
    name = "inference" if arguments.device == "cpu" else f"inference_{arguments.device}"
    with tempfile.TemporaryDirectory() as place:
        make_input_folders(Path(place), arguments.images)
        rows = [measure_model(model, Path(place), arguments) for model in arguments.models]
    write_results(name, rows, "torch", "timm", "pillow")


if __name__ == "__main__":
    main()
