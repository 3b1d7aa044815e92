"""A dataset on disk: a folder of `images.npy`, `labels.npy` and `dataset.json`."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.files import whole_file

IMAGES, LABELS, DESCRIPTION = "images.npy", "labels.npy", "dataset.json"
_REMEDY = "Delete the folder and build the dataset again"
_CHUNK_BYTES = 1 << 24  # what is hashed at a time of a file that may exceed the memory


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images in a fixed order; the position of an image is its index.

    Attributes
    ----------
    name : str
        What files and messages call it.
    images : uint8 array, shape (n, height, width, channels)
        Pixels, perhaps mapped from the file.
    labels : int16 array, shape (n,)
        Classes from 0.
    classes : tuple of str
        Names of the classes, by label.
    max_value : int
        The pixel value that means 1.0.
    source : str
        Where the images come from, for a reader.
    sha256 : str
        `content_digest` of images and labels.
    """

    name: str
    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    classes: tuple[str, ...]
    max_value: int
    source: str
    sha256: str

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes, whether or not all of them occur."""
        return len(self.classes)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image."""
        height, width, channels = self.images.shape[1:]
        return height, width, channels


def make_dataset(
    name: str,
    images: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    *,
    classes: tuple[str, ...],
    max_value: int,
    source: str,
) -> Dataset:
    """Check arrays, compute their digest and make a `Dataset` of them.

    Parameters
    ----------
    name, classes, max_value, source
        As the attributes of `Dataset`.
    images : uint8 array, shape (n, height, width, channels)
        Pixels in 0..max_value.
    labels : integer array, shape (n,)
        Classes in 0..len(classes) - 1.

    Raises
    ------
    InputError
        If shapes, dtypes or values are not as said above, or there are no images.
    """
    labels = np.asarray(labels)
    _check(images, labels, len(classes), max_value, file=name)
    if images.max() > max_value:
        raise InputError(
            f"pixels reach {images.max()}, above max_value {max_value}", file=name, field="images"
        )
    labels = labels.astype(np.int16)
    digest = content_digest(images, labels)
    return Dataset(name, images, labels, tuple(classes), max_value, source, digest)


def content_digest(images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int16]) -> str:
    """SHA-256 of images and labels: their shapes as text, then their bytes in C order.

    Parameters
    ----------
    images : uint8 array, shape (n, height, width, channels)
        Read in chunks, so that a mapped file need not fit in memory.
    labels : int16 array, shape (n,)

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256(f"images {images.shape} labels {labels.shape}".encode())
    rows = max(1, _CHUNK_BYTES // max(1, int(np.prod(images.shape[1:]))))
    for start in range(0, len(images), rows):
        digest.update(np.ascontiguousarray(images[start : start + rows]).data)
    digest.update(np.ascontiguousarray(labels, dtype="<i2").data)
    return digest.hexdigest()


def write_dataset(dataset: Dataset, folder: str | os.PathLike[str]) -> None:
    """Write a dataset's three files, the description last: with it, the folder is complete.

    Parameters
    ----------
    dataset : Dataset
        What to write.
    folder : path-like
        Made if missing; a dataset in it is replaced.
    """
    folder = Path(folder)
    # An interrupted replacement must not leave the old description beside new arrays.
    (folder / DESCRIPTION).unlink(missing_ok=True)
    for name, array in ((IMAGES, dataset.images), (LABELS, dataset.labels)):
        with whole_file(folder / name) as partial:
            np.save(partial, array, allow_pickle=False)
    description = {
        "name": dataset.name,
        "n": len(dataset),
        "n_classes": dataset.n_classes,
        "classes": list(dataset.classes),
        "max_value": dataset.max_value,
        "source": dataset.source,
        "sha256": dataset.sha256,
    }
    with whole_file(folder / DESCRIPTION) as partial:
        text = json.dumps(description, indent=2, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")


def read_dataset(folder: str | os.PathLike[str], mmap: bool = True, verify: bool = True) -> Dataset:
    """Read and check a dataset.

    Parameters
    ----------
    folder : path-like
        What `write_dataset` wrote.
    mmap : bool
        Map the images from their file instead of loading them.
    verify : bool
        Compare the contents with the recorded digest, which reads every image once (of the
        order of a second per gigabyte).

    Raises
    ------
    InputError
        Naming the file and the remedy: a file missing or unreadable, unequal counts, a label
        out of range, contents that are not those that were written.
    """
    folder = Path(folder)
    description = _read_description(folder / DESCRIPTION)
    images = _read_array(folder / IMAGES, mmap)
    labels = _read_array(folder / LABELS, mmap=False)
    if not len(images) == len(labels) == description["n"]:
        raise InputError(
            f"{len(images)} images, {len(labels)} labels, and {description['n']} of each by "
            f"{DESCRIPTION}",
            file=folder,
            remedy=_REMEDY,
        )
    classes = tuple(description["classes"])
    _check(images, labels, len(classes), description["max_value"], file=folder)
    if verify and content_digest(images, labels) != description["sha256"]:
        raise InputError(
            f"images or labels are not those that {DESCRIPTION} describes (sha256)",
            file=folder,
            remedy=_REMEDY,
        )
    texts = (description[key] for key in ("source", "sha256"))
    return Dataset(description["name"], images, labels, classes, description["max_value"], *texts)


def _read_description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, remedy="Build the dataset first") from error
    except (OSError, ValueError) as error:
        raise InputError(f"not readable JSON ({error})", file=path, remedy=_REMEDY) from error
    types = {"name": str, "n": int, "classes": list, "max_value": int, "source": str, "sha256": str}
    for key, kind in types.items():
        if not isinstance(description, dict) or not isinstance(description.get(key), kind):
            raise InputError(
                f"missing, or not of type {kind.__name__}", file=path, field=key, remedy=_REMEDY
            )
    return dict(description)


def _read_array(path: Path, mmap: bool) -> npt.NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, remedy=_REMEDY) from error
    except (OSError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"not a readable array, truncated perhaps ({reason})", file=path, remedy=_REMEDY
        ) from error
    if not isinstance(array, np.ndarray):
        raise InputError("an archive, not an array", file=path, remedy=_REMEDY)
    return array


def _check(
    images: npt.NDArray[Any], labels: npt.NDArray[Any], n_classes: int, max_value: int, file: object
) -> None:
    """Refuse arrays that are no labelled images; `file` is named in the message."""
    if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
        raise InputError(
            f"has shape {images.shape} and dtype {images.dtype}",
            file=file,
            field="images",
            remedy="Images are uint8, n × height × width × channels, none of them 0",
        )
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
        raise InputError(
            f"has shape {labels.shape} and dtype {labels.dtype} for {len(images)} images",
            file=file,
            field="labels",
            remedy="Labels are whole numbers, one per image",
        )
    if not 1 <= max_value <= 255:
        raise InputError(f"is {max_value}, not in 1..255", file=file, field="max_value")
    bad = (labels < 0) | (labels >= n_classes)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"row {row}: {labels[row]} is not one of {n_classes} classes", file=file, field="labels"
        )
