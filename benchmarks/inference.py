r"""Inference against a plain loop of timm's validation style; memory; what bf16 changes.

    .venv/bin/python benchmarks/inference.py                     CPU: 1,000 images
    .venv/bin/python benchmarks/inference.py --device cuda --images 20000 --batch-size 256 \
        --models resnet50 vit_base_patch16_224 tf_efficientnet_b5
    .venv/bin/python benchmarks/inference.py --memory            peaks at 1,000 and 20,000 images

The images are generated JPEGs of 500 × 375 pixels, the weights random: neither changes the work.
The plain loop is `ImageFolder` and `DataLoader` with the same transform, batch and threads, and
`model(images)`. `cold` decodes on the way; `shared` has five models read one pixel cache, whose
making counts a fifth to each; `forward` is the model alone on pixels that are on the device.
"""

import argparse
import io
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import peak_mib, write_results
from PIL import Image

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.datasets.images import EncodedImages
from matcheval.inference.forward import ForwardConfig, run_inference
from matcheval.inference.pixel_cache import open_pixels, write_pixels
from matcheval.inference.precision import arithmetic
from matcheval.inference.readers import DecodingReader, Reader
from matcheval.inference.writers import PredictionWriter
from matcheval.models.geometry import Geometry
from matcheval.models.timm_library import load_timm
from matcheval.models.transforms import Transform

SHARING = 5  # models that share a cache
Rates = dict[str, float]
N_DISTINCT = 500  # photographs; more images are these again


def photographs(n: int) -> list[bytes]:
    """JPEG files of the size and weight of ImageNet's."""
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
    """Generated photographs as a dataset of the workflow, in `folder/dataset`."""
    files = photographs(n)
    offsets = np.cumsum([0, *map(len, files)])[:-1].astype(np.int64)
    images = EncodedImages(np.frombuffer(b"".join(files), np.uint8), offsets)
    classes = tuple(f"{i:04d}" for i in range(1000))
    labels = np.arange(n) % 1000
    dataset = make_dataset(
        "photos", images, labels, classes=classes, max_value=255, source="generated"
    )
    write_dataset(dataset, folder / "dataset")
    return files


def make_inputs(folder: Path, n: int) -> None:
    """The same images as our dataset and as a tree of class folders."""
    for i, data in enumerate(make_dataset_folder(folder, n)):
        place = folder / "tree" / f"{i % 1000:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i:06d}.jpg").write_bytes(data)


def alone(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function in a process of its own, which has its own peak of memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def make_model(name: str) -> tuple[torch.nn.Module, dict[str, object]]:
    """A model of timm with random weights, and its data configuration."""
    timm = load_timm()
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    return model, timm.data.resolve_data_config(model=model)


def seconds_of(settings: ForwardConfig) -> float:
    """The time now, once the device is done with what it was given."""
    if settings.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def plain_loop(name: str, tree: Path, settings: ForwardConfig, workers: int) -> float:
    """Images a second of timm's validation style, without its start."""
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    model, data = make_model(name)
    transform = load_timm().data.create_transform(**data, is_training=False)
    dataset = ImageFolder(tree, transform)
    cuda = settings.device.type == "cuda"
    loader = DataLoader(
        dataset, batch_size=settings.images_at_a_time(1, 1), num_workers=workers, pin_memory=cuda
    )
    model.to(settings.device)
    torch.set_num_threads(settings.n_threads)
    start = seconds_of(settings)
    found = []
    with torch.inference_mode():
        for images, _ in loader:
            p = model(images.to(settings.device, non_blocking=cuda)).float().softmax(1)
            found.append(p.max(1).indices.cpu())
    return len(dataset) / (seconds_of(settings) - start)


def our_pass(
    name: str, reader: Reader, dataset: Dataset, settings: ForwardConfig
) -> tuple[float, object]:
    """Images a second of this workflow, without its start, and the predictions."""
    model, data = make_model(name)
    model.to(settings.device)
    writer = PredictionWriter(Path("unused"), {"n_classes": "1000"})
    writer.finish = lambda: None  # type: ignore[method-assign]
    start = seconds_of(settings)
    run_inference(
        model, reader, Transform.from_data_config(data), dataset,
        model_name=name, settings=settings, writers=[writer],
    )  # fmt: skip
    return len(dataset) / (seconds_of(settings) - start), writer.collect()


def forward_rate(name: str, settings: ForwardConfig, size: int) -> float:
    """Images a second of the model alone, its input normalised and on the device."""
    model, data = make_model(name)
    model.to(settings.device, memory_format=torch.channels_last)
    batch = settings.images_at_a_time(size, size)
    images = torch.rand(batch, *data["input_size"], device=settings.device)
    images = images.to(memory_format=torch.channels_last)
    n = 0
    with (
        arithmetic(settings.precision, settings.device, settings.n_threads),
        torch.inference_mode(),
    ):
        model(images)
        start = seconds_of(settings)
        while seconds_of(settings) - start < 5:
            model(images)
            n += batch
        return n / (seconds_of(settings) - start)


def measure_speed(name: str, folder: Path, settings: ForwardConfig, workers: int) -> Rates:
    """Images a second of each way, measured one right after the other."""
    dataset = read_dataset(folder / "dataset")
    _, data = make_model(name)
    geometry = Transform.from_data_config(data).geometry
    plain = plain_loop(name, folder / "tree", settings, workers)
    cold, _ = our_pass(name, DecodingReader(dataset, geometry, workers), dataset, settings)
    start = time.perf_counter()
    write_pixels(folder / "dataset", geometry, folder / "p.npy", n_workers=workers)
    transforming = time.perf_counter() - start
    warm, fp32 = our_pass(
        name, open_pixels(folder / "p.npy", dataset.sha256, geometry), dataset, settings
    )
    forward = forward_rate(name, settings, geometry.crop[0])
    low = replace(settings, precision="bf16")
    bf16, rounded = our_pass(
        name, open_pixels(folder / "p.npy", dataset.sha256, geometry), dataset, low
    )
    shared, shared_bf16 = (
        len(dataset) / (len(dataset) / rate + transforming / SHARING) for rate in (warm, bf16)
    )
    return {
        "plain_per_s": plain, "cold_per_s": cold, "transform_s": transforming, "warm_per_s": warm,
        "shared_per_s": shared, "forward_per_s": forward, "bf16_per_s": bf16,
        "cold_ratio": cold / plain, "shared_ratio": shared / plain,
        "shared_bf16_ratio": shared_bf16 / plain, "warm_of_forward": warm / forward,
        "bf16_flips": (fp32.prediction != rounded.prediction).mean(),
    }  # fmt: skip


def typical(name: str, folder: Path, given: argparse.Namespace) -> dict[str, object]:
    """One row: medians of the rounds, and the range of the ratios."""
    settings = ForwardConfig(torch.device(given.device), given.batch_size, given.threads)
    rounds = [measure_speed(name, folder, settings, given.workers) for _ in range(given.rounds)]
    row: dict[str, object] = {
        "model": name, "device": given.device, "images": given.images, "rounds": given.rounds,
        "threads": given.threads, "decoders": given.workers,
    }  # fmt: skip
    for key in rounds[0]:
        values = sorted(each[key] for each in rounds)
        row[key] = f"{statistics.median(values):.3g}"
        if key.endswith("_ratio") or key == "warm_of_forward":
            row[f"{key}_range"] = f"{values[0]:.3g} to {values[-1]:.3g}"
    return row


def measure_memory(n: int, cached: bool) -> dict[str, object]:
    """Peak memory of a pass of a small model, in a process of its own."""
    settings = ForwardConfig(torch.device("cpu"), 64, 2)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        alone(make_dataset_folder, folder, n)
        dataset = read_dataset(folder / "dataset")
        geometry = Geometry("short", (256, 256), (224, 224), "bicubic")
        reader: Reader = DecodingReader(dataset, geometry, 2)
        if cached:
            alone(
                partial(write_pixels, n_workers=2), folder / "dataset", geometry, folder / "p.npy"
            )
            reader = open_pixels(folder / "p.npy", dataset.sha256, geometry)
        model = torch.nn.Sequential(  # what counts is the reading: a small model saves an hour
            torch.nn.AvgPool2d(16), torch.nn.Flatten(), torch.nn.Linear(588, 1000)
        )
        writer = PredictionWriter(folder / "p.parquet", {"n_classes": "1000"})
        before = peak_mib()
        run_inference(
            model, reader, Transform(geometry, (0.5,) * 3, (0.5,) * 3), dataset,
            model_name="small", settings=settings, writers=[writer],
        )  # fmt: skip
    return {
        "images": n, "pixels": "cache" if cached else "decoded", "peak_mib": peak_mib(),
        "of_it_before_mib": before,
    }  # fmt: skip


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
    parser.add_argument(
        "--memory", action="store_true", help="instead: peaks of memory, on the CPU"
    )
    given = parser.parse_args()
    if given.memory:
        cases = [(1_000, False), (20_000, False), (1_000, True), (20_000, True)]
        peaks = [alone(measure_memory, *case) for case in cases]
        write_results("inference_memory", peaks, "torch", "pillow")
        return
    name = "inference" if given.device == "cpu" else f"inference_{given.device}"
    with tempfile.TemporaryDirectory() as place:
        make_inputs(Path(place), given.images)
        rows = [typical(model, Path(place), given) for model in given.models]
    write_results(name, rows, "torch", "timm", "pillow")


if __name__ == "__main__":
    main()
