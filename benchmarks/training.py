"""Training steps against a plain PyTorch loop; on a GPU, epochs per minute and time to 94 %.

    python benchmarks/training.py
    python benchmarks/training.py --device cuda --train results/datasets/cifar10-train \
        --test results/datasets/cifar10-test

On the CPU: images per second of whole steps - batch, augmentation, forward, backward, optimiser -
of this engine, and of a loop over a DataLoader with torchvision's transforms: same network, batch,
augmentation and threads, medians of alternating repeats. Beside them the rate of the pure step, on
a batch that lies ready: no loading can make a training faster than that. Ratios are to the better
of the loop's two versions, without and with two workers. Images are generated.

On a GPU: epochs per minute of the first network of each family of `cifar10-models.csv`, with
generated images where no dataset is given, and the seconds until a ResNet-18 first validates at
94 %, which needs the real ones.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from common import ROOT, write_results
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.folders import read_dataset
from matcheval.models import devices
from matcheval.models.networks import build_model
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.study.catalogue import read_catalogue
from matcheval.training.data import ResidentSet
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.run import Run
from matcheval.training.settings import Engine

BATCH, THREADS, REPEATS = 128, 2, 5
RECIPE = Recipe(
    architecture="resnet_a", width=16, depth=20, loss="cross_entropy", loss_parameter=None,
    augmentation="basic", schedule="cosine", epochs=1000, batch_size=BATCH, learning_rate=0.1,
    weight_decay=5e-4, train_fraction=1.0, seed=0, normalization="channels",
)  # fmt: skip
# Where loading weighs most, and a usual one, in which forward and backward pass weigh most.
NETWORKS = {"resnet-8, width 4": (4, 8), "resnet-8, width 16": (16, 8), "resnet-20": (16, 20)}


def make_noise(n: int) -> Dataset:
    """Make a dataset of `n` images of noise."""
    rng = np.random.default_rng(0)
    return make_dataset(
        "noise",
        rng.integers(0, 256, (n, 32, 32, 3)).astype(np.uint8),
        rng.integers(0, 10, n),
        classes=tuple("0123456789"),
        max_value=255,
        source="generated",
    )


def plain_epoch(recipe: Recipe, dataset: Dataset, workers: int) -> Callable[[], object]:
    """Return a function that trains an epoch as tutorials do, with a DataLoader."""
    augment = transforms.Compose(
        [
            transforms.RandomCrop(32, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.5,) * 3, (0.25,) * 3),
        ]
    )
    pictures = [Image.fromarray(image) for image in dataset.images]

    class Pictures(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(pictures)

        def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
            return augment(pictures[i]), int(dataset.labels[i])

    loader = DataLoader(
        Pictures(), BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    step = make_step(recipe)

    def epoch() -> None:
        for images, labels in loader:
            step(images, labels)

    return epoch


def make_step(recipe: Recipe, channels_last: bool = False) -> Callable[..., None]:
    """Return a function that does a plain training step with cross entropy."""
    torch.manual_seed(0)
    model = build_model(
        recipe.architecture, width=recipe.width, depth=recipe.depth,
        input_shape=(32, 32, 3), n_classes=10,
    ).train()  # fmt: skip
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=5e-4
    )

    def step(images: torch.Tensor, labels: torch.Tensor) -> None:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def pure_steps(recipe: Recipe, steps: int, channels_last: bool) -> Callable[[], object]:
    """Return a function that does steps on one batch in memory, without loading."""
    step, images = make_step(recipe, channels_last), torch.rand(BATCH, 3, 32, 32)
    if channels_last:
        images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.arange(BATCH) % 10

    def epoch() -> None:
        for _ in range(steps):
            step(images, labels)

    return epoch


def engine_epoch(recipe: Recipe, dataset: Dataset, channels_last: bool) -> Callable[[], object]:
    """Return a function that trains an epoch by this project's engine, without validation."""
    engine = Engine(n_threads=THREADS, channels_last=channels_last, validate_every=10**6)
    device = torch.device("cpu")
    run = Run("benchmark", recipe, [dataset], engine, device)
    watched = ResidentSet(dataset, device, channels_last=False)

    def epoch() -> None:
        with devices.repeatable_arithmetic(THREADS, strict=True):
            run.train_epoch(len(run.history), watched)

    return epoch


def measure_cpu() -> list[dict[str, object]]:
    """Measure images per second of all ways to train on the CPU; a row per network."""
    torch.set_num_threads(THREADS)
    rows = []
    for name, (width, depth) in NETWORKS.items():
        recipe = replace(RECIPE, width=width, depth=depth)
        steps = 3 if depth > 8 else 8
        dataset = make_noise(steps * BATCH)
        sides = {
            "engine": engine_epoch(recipe, dataset, channels_last=False),
            "engine_channels_last": engine_epoch(recipe, dataset, channels_last=True),
            "dataloader": plain_epoch(recipe, dataset, workers=0),
            "dataloader_2_workers": plain_epoch(recipe, dataset, workers=2),
            "pure_step": pure_steps(recipe, steps, channels_last=False),
            "pure_step_channels_last": pure_steps(recipe, steps, channels_last=True),
        }
        times: dict[str, list[float]] = {side: [] for side in sides}
        for repeat in range(REPEATS + 1):
            for side, epoch in sides.items():
                start = time.perf_counter()
                epoch()
                if repeat:  # the first warms up
                    times[side].append(time.perf_counter() - start)
        rates = {side: len(dataset) / statistics.median(values) for side, values in times.items()}
        best_loop = max(rates["dataloader"], rates["dataloader_2_workers"])
        row = {"network": name, "batch": BATCH, "threads": THREADS, "repeats": REPEATS}
        row |= {f"{side}_images_per_s": round(rate) for side, rate in rates.items()}
        for layout in ("", "_channels_last"):
            ours = rates[f"engine{layout}"]
            row[f"ratio{layout}"] = round(ours / best_loop, 2)
            row[f"part_of_pure_step{layout}"] = round(ours / rates[f"pure_step{layout}"], 2)
        rows.append(row)
    return rows


class Reached(Exception):  # noqa: N818 - no error
    """Ends a training once it has the wanted accuracy."""


def measure_gpu(device: str, train_set: Dataset | None, test_set: Dataset | None) -> list[dict]:
    """Measure epochs per minute of each family of networks, and the time to 94 %."""
    engine = Engine(device=device, channels_last=True, deterministic=False, validate_every=10**6)
    dataset = train_set or make_noise(50_000)
    first = {}
    for model in read_catalogue(ROOT / "studies" / "cifar10-models.csv").values():
        family = SPECIFICATIONS[model.recipe.architecture].family
        first.setdefault(family, (model.name, model.recipe))
    rows = []
    for family, (name, recipe) in first.items():
        for precision in ("fp32", "bf16"):
            ends: list[float] = []
            train(
                name, replace(recipe, epochs=3, warmup_epochs=0, precision=precision), [dataset],
                dataset, engine=engine, on_epoch=lambda _, ends=ends: ends.append(time.monotonic()),
            )  # fmt: skip
            # Between the ends of the first and the second epoch: neither start nor validation.
            rate = 60 / (ends[1] - ends[0])
            rows.append({"what": f"{family} {name} {precision}", "epochs_per_minute": rate})
    if train_set is not None and test_set is not None:
        rows.append(time_to_94(engine, train_set, test_set))
    return rows


def time_to_94(engine: Engine, train_set: Dataset, test_set: Dataset) -> dict[str, object]:
    """Measure the seconds until a ResNet-18 first validates at 94 %."""
    recipe = replace(
        RECIPE, architecture="resnet_imagenet", width=64, depth=18, batch_size=512,
        learning_rate=0.4, loss="label_smoothing", schedule="onecycle", epochs=24,
        precision="bf16", weight_decay_on="weights",
    )  # fmt: skip
    start, epochs = time.monotonic(), 0

    def stop_at_94(history: list) -> None:
        nonlocal epochs
        epochs = len(history)
        if history[-1].validation_accuracy >= 0.94:
            raise Reached

    reached = False
    try:
        train("resnet-18", recipe, [train_set], test_set,
              engine=replace(engine, validate_every=1), on_epoch=stop_at_94)  # fmt: skip
    except Reached:
        reached = True
    what = f"ResNet-18 to 94 %: {'reached' if reached else 'not reached'} in epoch {epochs}"
    return {"what": what, "seconds": round(time.monotonic() - start, 1)}


def main() -> None:
    """Measure on the device that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--train", type=Path, help="dataset folder of CIFAR-10's training set")
    parser.add_argument("--test", type=Path, help="dataset folder of its test set")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        write_results("training", measure_cpu(), "torch", "torchvision")
        return
    sets = [read_dataset(path) if path else None for path in (arguments.train, arguments.test)]
    rows = measure_gpu(arguments.device, *sets)
    full = [{"what": "", "epochs_per_minute": "", "seconds": ""} | row for row in rows]
    gpu = torch.cuda.get_device_name()
    write_results("training_gpu", [row | {"gpu": gpu} for row in full], "torch")


if __name__ == "__main__":
    main()
