"""Fingerprints of kinds of dataset, from tiny files in published formats, and of derivations."""

import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from golden.training import sets
from golden.values import Fingerprint, fingerprint, pixels
from image_sets import cifar10_tar, encode, imagenet_devkit, npy, npz, prepare, tar, write_files
from image_sets import dataset as image_set
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.derived import Derivation, derive, part, rest, union
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes


def of_derivation(name: str) -> Fingerprint:
    """A derived set of pixel arrays."""
    (first, second), _ = sets()
    options = {"per_set": 10, "test_fraction": 0.5, "seed": 2}
    derivations = {
        "part": [part("first", 2, 3, 5)],
        "rest": [rest("first", 2, 3, 5)],
        "union": [union("first", "second")],
        "origins": [
            Derivation("origins", ("first", "second"), {**options, "role": role})
            for role in ("train", "test")
        ],
    }[name]
    sources = {"first": first, "second": second}
    return _of_datasets(derive(d, [sources[one] for one in d.of]) for d in derivations)


def _of_datasets(datasets: Iterable[Dataset]) -> Fingerprint:
    arrays, text = [], []
    for dataset in datasets:
        if dataset.stored == "files":
            images = [np.asarray(dataset.image(i)).ravel() for i in range(len(dataset))]
            arrays.append(np.concatenate(images))
        else:
            arrays.append(np.asarray(dataset.pixels))
        arrays.append(dataset.labels)
        text.append((dataset.stored, dataset.max_value, dataset.classes, dataset.names))
    return fingerprint(arrays, text)


_WNIDS = imagenet_classes()
_N = 30
_IMAGES, _LABELS = pixels(_N, 32, 32, 3), np.arange(_N) * 7 % 10
# Classes of 1,000 images, numbered in another order than the classes.
_ORDER = np.argsort(np.arange(1000) * 367 % 1000)
_TINY = pixels(1000, 4, 5, 3)

_CLASSES = [f"class-{i}" for i in range(10)]

# What is built of each kind. Paths are in a folder that has the files of `_write_own`.
_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "digits": [{"part": part} for part in ("train", "validation", "known", "new-writers")],
    "cifar10": [{"part": "train"}, {"part": "test"}, {"part": "test", "per_class": 2}],
    "cifar10_1": [{"version": "v6"}],
    "cifar10_2": [{"part": "train"}, {"part": "test"}],
    "cifar10_c": [{"corruption": "snow", "severity": severity} for severity in (1, 4)],
    "cinic10": [{"part": "test"}, {"part": "train", "per_class": 1}],
    "imagenet": [{"source": "sorted", "per_class": 1}, {"source": "flat", "devkit": "kit"}],
    "imagenetv2": [
        {"variant": variant} for variant in ("matched-frequency", "threshold-0.7", "top-images")
    ],
    "image_folder": [{"path": "set"}, {"path": "set", "classes": _CLASSES[::-1]}],
    "arrays": [
        {"images": "images.npy", "labels": "labels.npy", "classes": "cifar10", "per_class": 1},
        {"file": "set.npz", "classes": _CLASSES, "max_value": 250},
    ],
    "parquet": [{"files": ["1.parquet", "0.parquet"], "classes": _CLASSES}],
    "restyled": [{"of": "of", "style": "inverted"}, {"of": "of", "style": "background", "seed": 3}],
    "corrupted": [
        {"of": "of", "corruption": "snow", "severity": 2, "seed": 1},
        {"of": "of", "corruption": "none", "size": 20, "stored": True},
    ],
}  # fmt: skip


@cache
def _published() -> dict[str, bytes]:
    """The published files, with few images."""
    cinic10 = {
        f"./{part}/{CIFAR10[label]}/n{i:04d}.png": encode(_IMAGES[i])
        for i, label in enumerate(_LABELS)
        for part in ("test", "train")
    }
    cifar10_c = {"labels": np.tile(_LABELS, 5)}
    cifar10_c |= {name: pixels(5 * _N, 32, 32, 3) for name in ("fog", "snow")}
    cifar10_2 = npz(images=_IMAGES, labels=_LABELS, label_names=np.array(CIFAR10))
    imagenetv2 = tar({f"top/{label}/{i}.png": encode(_TINY[i]) for i, label in enumerate(_ORDER)})
    return {
        "cifar-10-python.tar.gz": cifar10_tar(_IMAGES, _LABELS),
        "cifar10.1_v6_data.npy": npy(_IMAGES), "cifar10.1_v6_labels.npy": npy(_LABELS),
        "cifar102_train.npz": cifar10_2, "cifar102_test.npz": cifar10_2,
        "CIFAR-10-C.tar": tar({f"CIFAR-10-C/{k}.npy": npy(v) for k, v in cifar10_c.items()}),
        "CINIC-10.tar.gz": tar(cinic10, "w:gz"),
        **{
            f"imagenetv2-{name}.tar.gz": imagenetv2
            for name in ("matched-frequency", "threshold0.7", "top-images")
        },
    }  # fmt: skip


def _write_own(folder: Path) -> None:
    """Write the files that are the user's own."""
    modes = ("RGB", "L", "RGBA", "P")  # how images that are not RGB become RGB
    images = [encode(Image.fromarray(x).convert(modes[i % 4])) for i, x in enumerate(_IMAGES)]
    rows = {"image": [{"bytes": image} for image in images], "label": _LABELS.tolist()}
    for i, table in enumerate((pa.table(rows)[:20], pa.table(rows)[20:])):
        pq.write_table(table, folder / f"{i}.parquet")
    files = {f"set/class-{_LABELS[i]}/{i % 3}/{i:02d}.png": x for i, x in enumerate(images)}
    files |= {"images.npy": npy(_IMAGES), "labels.npy": npy(_LABELS)}
    write_files(folder, files | {"set.npz": npz(images=_IMAGES[..., 0], labels=_LABELS)})


def _write_imagenet(folder: Path) -> None:
    """Write ImageNet's images, sorted by class and not, and the kit that has their classes."""
    flat = {f"ILSVRC2012_val_{i:08d}.JPEG": encode(_TINY[i - 1]) for i in range(1, 1001)}
    by_class = {
        f"val/{_WNIDS[label]}/{name}": data
        for label, (name, data) in zip(_ORDER, flat.items(), strict=True)
    }
    numbers = np.argsort(np.arange(1000) * 211 % 1000)
    kit = imagenet_devkit(_ORDER, numbers, _WNIDS)
    for name, files in (("flat", flat), ("sorted", by_class), ("kit", kit)):
        write_files(folder / name, files)


def of_kind(name: str) -> Fingerprint:
    """Sets of a kind, from tiny files in the published formats."""
    with tempfile.TemporaryDirectory() as text, pytest.MonkeyPatch.context() as patch:
        folder, datasets = Path(text), []
        patch.chdir(folder)
        _write_own(folder)
        if name == "imagenet":
            _write_imagenet(folder)
        for i, options in enumerate(_OPTIONS[name]):
            own = folder / str(i)
            image_set(_IMAGES, _LABELS, "of", _CLASSES, folder=own / "datasets")
            datasets.append(prepare(patch, own, name, options, _published()))
        return _of_datasets(datasets)
