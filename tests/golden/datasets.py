"""Fingerprints of kinds of dataset, from tiny files in published formats, and of derivations."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import image_sets
from golden.training import sets
from golden.values import Fingerprint, fingerprint, pixels
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

Files = Mapping[str, bytes]
_Case = tuple[dict[str, Any], Files]  # options, and files by path: published ones, or your own


def _cinic10() -> Files:
    files = {
        f"./{part}/{CIFAR10[label]}/n{i:04d}.png": image_sets.encode(_IMAGES[i])
        for i, label in enumerate(_LABELS)
        for part in ("test", "train")
    }
    return {"CINIC-10.tar.gz": image_sets.tar(files, "w:gz")}


def _cifar10_c() -> Files:
    arrays = {
        f"CIFAR-10-C/{name}.npy": image_sets.npy(pixels(5 * _N, 32, 32, 3))
        for name in ("fog", "snow")
    }
    return {
        "CIFAR-10-C.tar": image_sets.tar(
            arrays | {"CIFAR-10-C/labels.npy": image_sets.npy(np.tile(_LABELS, 5))}
        )
    }


def _imagenet(folder: Path) -> list[_Case]:
    flat = {f"ILSVRC2012_val_{i:08d}.JPEG": image_sets.encode(_TINY[i - 1]) for i in range(1, 1001)}
    sorted_in = {
        f"val/{_WNIDS[label]}/{name}": data
        for label, (name, data) in zip(_ORDER, flat.items(), strict=True)
    }
    numbers = np.argsort(np.arange(1000) * 211 % 1000)
    image_sets.write_files(folder / "sorted", sorted_in)
    image_sets.write_files(folder / "flat", flat)
    image_sets.write_files(folder / "kit", image_sets.imagenet_devkit(_ORDER, numbers, _WNIDS))
    return [
        ({"source": str(folder / "sorted"), "per_class": 1}, {}),
        ({"source": str(folder / "flat"), "devkit": str(folder / "kit")}, {}),
    ]


def _imagenetv2() -> Files:
    folders = {
        f"top/{label}/{i}.png": image_sets.encode(_TINY[i]) for i, label in enumerate(_ORDER)
    }
    return {
        f"imagenetv2-{name}.tar.gz": image_sets.tar(folders)
        for name in ("matched-frequency", "threshold0.7", "top-images")
    }


def _own_files(folder: Path) -> None:
    modes = ("RGB", "L", "RGBA", "P")  # how images that are not RGB become RGB
    images = [Image.fromarray(image).convert(modes[i % 4]) for i, image in enumerate(_IMAGES)]
    data = []
    for i, image in enumerate(images):
        data.append(image_sets.encode(image))
        path = f"set/class-{_LABELS[i]}/{i % 3}/{i:02d}.png"
        image_sets.write_files(folder, {path: data[-1]})
    rows = {"image": [{"bytes": each} for each in data], "label": _LABELS.tolist()}
    for i, table in enumerate((pa.table(rows)[:20], pa.table(rows)[20:])):
        pq.write_table(table, folder / f"{i}.parquet")
    arrays = image_sets.npz(images=_IMAGES[..., 0], labels=_LABELS)
    files = {
        "images.npy": image_sets.npy(_IMAGES),
        "labels.npy": image_sets.npy(_LABELS),
        "set.npz": arrays,
    }
    image_sets.write_files(folder, files)


def _cases(kind: str, folder: Path) -> list[_Case]:
    """What is built of a kind."""
    _own_files(folder)
    classes = [f"class-{i}" for i in range(10)]
    parts = ("train", "test")
    cifar10 = {"cifar-10-python.tar.gz": image_sets.cifar10_tar(_IMAGES, _LABELS)}
    v6 = {
        f"cifar10.1_v6_{k}.npy": image_sets.npy(v)
        for k, v in (("data", _IMAGES), ("labels", _LABELS))
    }
    v2 = {
        f"cifar102_{one}.npz": image_sets.npz(
            images=_IMAGES, labels=_LABELS, label_names=np.array(CIFAR10)
        )
        for one in parts
    }
    cases: dict[str, list[_Case]] = {
        "digits": [({"part": p}, {}) for p in ("train", "validation", "known", "new-writers")],
        "cifar10": [({"part": p}, cifar10) for p in parts] + [
            ({"part": "test", "per_class": 2}, cifar10)
        ],
        "cifar10_1": [({"version": "v6"}, v6)],
        "cifar10_2": [({"part": p}, v2) for p in parts],
        "cifar10_c": [({"corruption": "snow", "severity": s}, _cifar10_c()) for s in (1, 4)],
        "cinic10": [
            ({"part": "test"}, _cinic10()), ({"part": "train", "per_class": 1}, _cinic10()),
        ],
        "image_folder": [
            ({"path": str(folder / "set")}, {}),
            ({"path": str(folder / "set"), "classes": classes[::-1]}, {}),
        ],
        "arrays": [
            (
                {"images": str(folder / "images.npy"), "labels": str(folder / "labels.npy"),
                 "classes": "cifar10", "per_class": 1},
                {},
            ),
            ({"file": str(folder / "set.npz"), "classes": classes, "max_value": 250}, {}),
        ],
        "parquet": [
            ({"files": [str(folder / f"{i}.parquet") for i in (1, 0)], "classes": classes}, {})
        ],
    }  # fmt: skip
    if kind == "imagenet":
        return _imagenet(folder)
    if kind in _MADE:
        return _made(kind, folder)
    if kind == "imagenetv2":
        variants = ("matched-frequency", "threshold-0.7", "top-images")
        return [({"variant": variant}, _imagenetv2()) for variant in variants]
    return cases[kind]


# Of kinds whose sets are made of another set.
_MADE: dict[str, list[_Case]] = {
    "restyled": [
        ({"of": "of", "style": "inverted"}, {}),
        ({"of": "of", "style": "background", "seed": 3}, {}),
    ],
    "corrupted": [
        ({"of": "of", "corruption": "snow", "severity": 2, "seed": 1}, {}),
        ({"of": "of", "corruption": "none", "size": 20, "stored": True}, {}),
    ],
}


def _made(kind: str, folder: Path) -> list[_Case]:
    classes = tuple(f"class-{i}" for i in range(10))
    for i in range(len(_MADE[kind])):
        image_sets.dataset(_IMAGES, _LABELS, "of", classes, folder=folder / str(i) / "datasets")
    return _MADE[kind]


def of_kind(name: str) -> Fingerprint:
    """Sets of a kind, from tiny files in the published formats."""
    with tempfile.TemporaryDirectory() as text:
        datasets = []
        for i, (options, files) in enumerate(_cases(name, Path(text))):
            Path(text, str(i)).mkdir(exist_ok=True)
            with pytest.MonkeyPatch.context() as patch:
                datasets.append(image_sets.prepare(patch, Path(text, str(i)), name, options, files))
        return _of_datasets(datasets)
