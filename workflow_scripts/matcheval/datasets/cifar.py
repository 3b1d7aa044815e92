"""CIFAR-10 and its successors, built from the files in which they are published.

All have 32 × 32 RGB images and the ten classes of CIFAR-10 in the same order; where a file names
its classes, they are checked. Images keep the order of their files, except that CINIC-10 is sorted
by class, then by name.
"""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.array_files import npz_array, read_npy, read_npy_stream
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.label_spaces import CIFAR10, check_classes, labels_of_folders
from matcheval.datasets.pickles import load_plain_pickle
from matcheval.datasets.published_kinds import Cifar10, Cifar10C, Cifar101, Cifar102, Cinic10
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources
from matcheval.datasets.trees import Tree
from matcheval.errors import InputError

N_SEVERITIES = 5
_BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}


def build_cifar10(name: str, settings: Cifar10, sources: Sources) -> Dataset:
    """Build CIFAR-10's training or test set from its Python pickles."""
    path = sources.published(settings.published_files[0])
    wanted = ["batches.meta", *_BATCHES[settings.part]]
    tree = sources.tree(path, lambda p: p.rsplit("/", 1)[-1] in wanted)
    found = {p.rsplit("/", 1)[-1]: p for p in tree.paths}
    batches = {batch: _pickle(tree, found, batch, path) for batch in wanted}
    named = [_text(n) for n in batches.pop("batches.meta")[b"label_names"]]
    check_classes(named, CIFAR10, path)
    images, labels, names = [], [], []
    for batch, content in batches.items():
        # A row contains the red, then the green, then the blue values of an image.
        planes = content[b"data"].reshape(-1, 3, 32, 32)
        images.append(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)))
        labels += content[b"labels"]
        files = enumerate(content[b"filenames"])
        names += [f"{batch}/{row:04d}/{_text(file)}" for row, file in files]
    return _dataset(name, np.concatenate(images), np.array(labels), names, f"CIFAR-10, {path.name}")


def _pickle(tree: Tree, found: Mapping[str, str], batch: str, path: Path) -> dict[bytes, Any]:
    if batch not in found:
        raise InputError(f"has no '{batch}'", file=path)
    content = load_plain_pickle(io.BytesIO(tree.read(found[batch])), f"{path}: {batch}")
    keys = [b"label_names"] if batch == "batches.meta" else [b"data", b"labels", b"filenames"]
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise InputError(f"'{batch}' lacks one of the keys {keys}", file=path)
    return content


def build_cifar10_1(name: str, settings: Cifar101, sources: Sources) -> Dataset:
    """Build CIFAR-10.1 from its arrays of images and labels."""
    images, labels = (read_npy(sources.published(file)) for file in settings.published_files)
    stem = f"cifar10.1_{settings.version}"
    return _dataset(name, images, labels, _rows(stem, len(labels)), f"CIFAR-10.1, {stem}_data.npy")


def build_cifar10_2(name: str, settings: Cifar102, sources: Sources) -> Dataset:
    """Build CIFAR-10.2's training or test set from its .npz file."""
    path = sources.published(settings.published_files[0])
    stem = path.stem
    images, labels, named = (npz_array(path, key) for key in ("images", "labels", "label_names"))
    check_classes([_text(n) for n in np.asarray(named).ravel()], CIFAR10, path)
    return _dataset(name, images, labels, _rows(stem, len(labels)), f"CIFAR-10.2, {path.name}")


def build_cifar10_c(name: str, settings: Cifar10C, sources: Sources) -> Dataset:
    """Build one corruption of CIFAR-10-C at one severity, a fifth of its array, or at all."""
    corruption, severity = settings.corruption, settings.severity
    path = sources.published(settings.published_files[0])
    tree = sources.tree(path)
    arrays = []
    for file in (f"CIFAR-10-C/{corruption}.npy", "CIFAR-10-C/labels.npy"):
        if file not in tree.paths:
            raise InputError(f"has no '{file}'", file=path)
        array = read_npy_stream(io.BytesIO(tree.read(file)), f"{path}: {file}")
        n = len(array) // N_SEVERITIES
        arrays.append(array if severity == "all" else array[(severity - 1) * n : severity * n])
    names = _rows(f"{corruption}-{severity}", len(arrays[1]))
    return _dataset(
        name, arrays[0], arrays[1], names,
        f"CIFAR-10-C, {corruption} at severity {severity}, {path.name}",
    )  # fmt: skip


def build_cinic10(name: str, settings: Cinic10, sources: Sources) -> ImageStream:
    """Build one part of CINIC-10 from its PNG files."""
    path, part = sources.published(settings.published_files[0]), settings.part
    # .../test/airplane/cifar10-train-10043.png
    tree = sources.tree(path, lambda p: p.split("/")[-3:-2] == [part] and p.endswith(".png"))
    labels = labels_of_folders(sorted({p.split("/")[-2] for p in tree.paths}), CIFAR10, path)

    def files() -> Iterator[LabelledFile]:
        for file in sorted(tree.paths, key=lambda p: (labels[p.split("/")[-2]], p)):
            yield LabelledFile(file, labels[file.split("/")[-2]], tree.read(file))

    return ImageStream(name, CIFAR10, f"CINIC-10, part '{part}', {path.name}", files())


def _dataset(
    name: str, images: npt.NDArray[Any], labels: npt.NDArray[Any], names: list[str], source: str
) -> Dataset:
    if images.shape[1:] != (32, 32, 3):
        raise InputError(
            f"images have the shape {images.shape[1:]}, not 32 × 32 × 3", file=name, field="images"
        )
    return make_dataset(
        name, images, labels, classes=CIFAR10, max_value=255, source=source, names=names
    )


def _rows(stem: str, n: int) -> list[str]:
    return [f"{stem}/{row:05d}" for row in range(n)]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
