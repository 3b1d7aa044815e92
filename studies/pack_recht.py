"""Pack the released predictions of Recht et al. (2019) into the files that `make recht` reads.

    git clone https://github.com/modestyachts/CIFAR-10.1
    git clone https://github.com/modestyachts/ImageNetV2
    .venv/bin/python studies/pack_recht.py CIFAR-10.1 ImageNetV2 FOLDER data/recht

FOLDER holds `cifar-10-python.tar.gz` (https://www.cs.toronto.edu/~kriz/cifar.html), for the labels
of the CIFAR-10 test set, which neither repository has. Predictions are packed as published.
"""

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.folders import read_dataset
from matcheval.datasets.published import Cifar10
from matcheval.datasets.sources import Sources
from matcheval.errors import InputError
from matcheval.io.files import atomic_file
from matcheval.predictions.correctness import count_hits, read_integers

Integers = npt.NDArray[np.integer[Any]]

# Names in the study files, and in the repository ImageNetV2.
SETS = {
    "val": "imagenet-validation-original",
    "matched_frequency": "imagenetv2-b-33",
    "threshold_07": "imagenetv2-a-44",
    "top_images": "imagenetv2-c-12",
}
EARLY = "imagenetv2-b-23"


def pack_cifar10(clone: Path, labels: Integers) -> dict[str, npt.NDArray[Any]]:
    """Arrays of `cifar10_1_predictions.npz`: predictions of shape (n_models, n), and labels."""
    folders = {"orig": "original", "v4": "v4", "v6": "v6"}
    files = {
        key: _by_model(clone / "model_predictions" / f"{name}_predictions", "_predictions.json")
        for key, name in folders.items()
    }
    models = _same_models(files)
    arrays: dict[str, npt.NDArray[Any]] = {"models": np.array(models)}
    for key, of_set in files.items():
        own = clone / "datasets" / f"cifar10.1_{key}_labels.npy"
        arrays[f"{key}_labels"] = (labels if key == "orig" else read_integers(own)).astype(np.int8)
        arrays[f"{key}_pred"] = _stacked(of_set, models, len(arrays[f"{key}_labels"]), np.int8)
    return arrays


def pack_imagenet(clone: Path) -> dict[str, npt.NDArray[Any]]:
    """Arrays of `imagenetv2_predictions.npz`: classes of shape (n, n_models, 5), and labels."""
    files = {key: _by_model(_predictions(clone, name), ".npy") for key, name in SETS.items()}
    models = _same_models(files)
    numbers = _class_numbers(clone)
    arrays: dict[str, npt.NDArray[Any]] = {
        "models": np.array(models), "wnids": np.array(list(numbers)),
    }  # fmt: skip
    for key, name in SETS.items():
        arrays[f"{key}_labels"] = _labels(clone, name, numbers)
        classes = _stacked(files[key], models, len(arrays[f"{key}_labels"]), np.int16)
        arrays[key] = np.swapaxes(classes, 0, 1)
    return arrays


def count_early(clone: Path) -> list[dict[str, Any]]:
    """Rows of `imagenetv2_b23_accuracy.csv`: hits of every model on an early revision."""
    labels = _labels(clone, EARLY, _class_numbers(clone))
    rows = []
    for model, path in _by_model(_predictions(clone, EARLY), ".npy").items():
        hits = count_hits(read_integers(path), labels, file=path)
        top = {"b23_top1_correct": hits[0], "b23_top5_correct": hits[4]}
        rows.append({"model": model, **top, "n": len(labels)})
    return rows


def pack(cifar: Path, imagenet: Path, archives: Path, target: Path) -> None:
    """Write the three files.

    Raises
    ------
    InputError
        If a folder or file is missing, or not as released.
    """
    with Sources(archives, target, read_dataset) as sources:
        labels = Cifar10(kind="cifar10", part="test").build("CIFAR-10", sources).labels
    target.mkdir(parents=True, exist_ok=True)
    for file, arrays in (
        ("cifar10_1_predictions.npz", pack_cifar10(cifar, labels)),
        ("imagenetv2_predictions.npz", pack_imagenet(imagenet)),
    ):
        with atomic_file(target / file) as partial, partial.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    rows = count_early(imagenet)
    table = target / "imagenetv2_b23_accuracy.csv"
    with atomic_file(table) as partial, partial.open("w", newline="", encoding="utf-8") as text:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _predictions(clone: Path, name: str) -> Path:
    return clone / "data" / "predictions" / name


def _by_model(folder: Path, suffix: str) -> dict[str, Path]:
    """Files of a folder by model; some Fisher vectors are named `..._model` in some folders."""
    paths = folder.glob(f"*{suffix}")
    found = {path.name.removesuffix(suffix).removesuffix("_model"): path for path in paths}
    if not found:
        raise InputError(f"no files *{suffix}", file=folder, remedy="Name a whole clone")
    return dict(sorted(found.items()))


def _same_models(files: Mapping[str, Mapping[str, Path]]) -> list[str]:
    first, *others = (set(of_set) for of_set in files.values())
    for key, other in zip(list(files)[1:], others, strict=True):
        if other != first:
            raise InputError(f"other models than the first set: {sorted(other ^ first)}", file=key)
    return sorted(first)


def _stacked(
    files: Mapping[str, Path], models: list[str], n: int, dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    arrays = []
    for model in models:
        classes = read_integers(files[model])
        if len(classes) != n:
            raise InputError(f"{len(classes)} predictions for {n} labels", file=files[model])
        arrays.append(classes.astype(dtype))
    return np.stack(arrays)


def _images(clone: Path, name: str) -> list[list[str]]:
    """Image and WordNet id of every datapoint, in the order of the predictions."""
    path = clone / "data" / "datasets" / f"{name}.json"
    if not path.is_file():
        raise InputError("no such file", file=path, remedy="Name a whole clone")
    images: list[list[str]] = json.loads(path.read_text(encoding="utf-8"))["image_filenames"]
    return images


def _class_numbers(clone: Path) -> dict[str, int]:
    """Classes count in the order of their WordNet ids."""
    wnids = sorted({wnid for _, wnid in _images(clone, SETS["val"])})
    return {wnid: number for number, wnid in enumerate(wnids)}


def _labels(clone: Path, name: str, numbers: Mapping[str, int]) -> npt.NDArray[np.int16]:
    return np.array([numbers[wnid] for _, wnid in _images(clone, name)], np.int16)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("cifar", "imagenet", "archives", "target"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    try:
        pack(**vars(arguments))
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
