"""Fingerprints of kinds of dataset, from tiny files in published formats, and of derivations."""

import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from scipy.io import savemat

from golden.training import sets
from golden.values import Fingerprint, fingerprint, pixels
from image_sets import cifar10_tar, encode, npy, npz, prepare, tar
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.derived import Derivation, derive, part, rest, union
from matcheval.datasets.folders import write_dataset
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
        f"./{part}/{CIFAR10[label]}/n{i:04d}.png": encode(_IMAGES[i])
        for i, label in enumerate(_LABELS)
        for part in ("test", "train")
    }
    return {"CINIC-10.tar.gz": tar(files, "w:gz")}


def _cifar10_c() -> Files:
    arrays = {f"CIFAR-10-C/{name}.npy": npy(pixels(5 * _N, 32, 32, 3)) for name in ("fog", "snow")}
    return {"CIFAR-10-C.tar": tar(arrays | {"CIFAR-10-C/labels.npy": npy(np.tile(_LABELS, 5))})}


def _validation_images() -> dict[str, bytes]:
    return {f"ILSVRC2012_val_{i:08d}.JPEG": encode(_TINY[i - 1]) for i in range(1, 1001)}


def _devkit() -> dict[str, bytes]:
    own = np.argsort(np.arange(1000) * 211 % 1000)  # label of class number 1, 2, ...
    kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("num_children", "O")]
    rows = [(i, _WNIDS[label], 0) for i, label in enumerate(own, start=1)]
    file = io.BytesIO()
    savemat(file, {"synsets": np.array(rows, dtype=kinds).reshape(-1, 1)})
    truth = "".join(f"{np.flatnonzero(own == label)[0] + 1}\n" for label in _ORDER)
    return {
        "kit/data/meta.mat": file.getvalue(),
        "kit/data/ILSVRC2012_validation_ground_truth.txt": truth.encode(),
    }


def _imagenet(folder: Path) -> list[_Case]:
    flat = _validation_images()
    sorted_in = {
        f"val/{_WNIDS[label]}/{name}": data
        for label, (name, data) in zip(_ORDER, flat.items(), strict=True)
    }
    _write(folder / "sorted", sorted_in)
    _write(folder / "flat", flat)
    _write(folder / "kit", _devkit())
    return [
        ({"source": str(folder / "sorted"), "per_class": 1}, {}),
        ({"source": str(folder / "flat"), "devkit": str(folder / "kit")}, {}),
    ]


def _imagenetv2() -> Files:
    folders = {f"top/{label}/{i}.png": encode(_TINY[i]) for i, label in enumerate(_ORDER)}
    return {
        f"imagenetv2-{name}.tar.gz": tar(folders)
        for name in ("matched-frequency", "threshold0.7", "top-images")
    }


def _own_files(folder: Path) -> None:
    modes = ("RGB", "L", "RGBA", "P")  # how images that are not RGB become RGB
    images = [Image.fromarray(image).convert(modes[i % 4]) for i, image in enumerate(_IMAGES)]
    data = []
    for i, image in enumerate(images):
        path = folder / "set" / f"class-{_LABELS[i]}" / f"{i % 3}" / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path)
        data.append(path.read_bytes())
    rows = {"image": [{"bytes": each} for each in data], "label": _LABELS.tolist()}
    for i, table in enumerate((pa.table(rows)[:20], pa.table(rows)[20:])):
        pq.write_table(table, folder / f"{i}.parquet")
    (folder / "images.npy").write_bytes(npy(_IMAGES))
    (folder / "labels.npy").write_bytes(npy(_LABELS))
    (folder / "set.npz").write_bytes(npz(images=_IMAGES[..., 0], labels=_LABELS))


def _write(folder: Path, files: Files) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _cases(kind: str, folder: Path) -> list[_Case]:
    """What is built of a kind."""
    _own_files(folder)
    classes = [f"class-{i}" for i in range(10)]
    parts = ("train", "test")
    cifar10 = {"cifar-10-python.tar.gz": cifar10_tar(_IMAGES, _LABELS)}
    v6 = {f"cifar10.1_v6_{k}.npy": npy(v) for k, v in (("data", _IMAGES), ("labels", _LABELS))}
    v2 = {
        f"cifar102_{one}.npz": npz(images=_IMAGES, labels=_LABELS, label_names=np.array(CIFAR10))
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
    of = make_dataset("of", _IMAGES, _LABELS, classes=classes, max_value=255, source="tests")
    for i in range(len(_MADE[kind])):
        write_dataset(of, folder / str(i) / "datasets" / "of")
    return _MADE[kind]


def of_kind(name: str) -> Fingerprint:
    """Sets of a kind, from tiny files in the published formats."""
    with tempfile.TemporaryDirectory() as text:
        datasets = []
        for i, (options, files) in enumerate(_cases(name, Path(text))):
            Path(text, str(i)).mkdir(exist_ok=True)
            with pytest.MonkeyPatch.context() as patch:
                datasets.append(prepare(patch, Path(text, str(i)), name, options, files))
        return _of_datasets(datasets)
