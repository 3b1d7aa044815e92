"""A dataset on disk: a folder of `images.npy`, `datapoints.parquet` and `dataset.json`.

`images.npy` holds either pixels (uint8, n × height × width × channels; `stored` is "array") or the
image files back to back (uint8, one-dimensional; "files"), so that it is mapped at no cost in both
cases. `datapoints.parquet` has a row per image, with its label, its name where it comes from, and
where its file begins.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.dataset import (
    Dataset,
    EncodedImages,
    Images,
    check_content,
    chunks,
    content_digest,
    make_dataset,
)
from matcheval.errors import InputError
from matcheval.io.files import whole_file
from matcheval.io.tables import Column, TableSchema, write_table

__all__ = ["Dataset", "EncodedImages", "content_digest", "make_dataset", "read_dataset"]

IMAGES, DATAPOINTS, DESCRIPTION = "images.npy", "datapoints.parquet", "dataset.json"
FILES = (DESCRIPTION, IMAGES, DATAPOINTS)
_REMEDY = "Delete the folder and build the dataset again"

DATAPOINTS_SCHEMA = TableSchema(
    "datapoints",
    (
        Column("index", pa.int32(), "1", "position in the dataset, from 0"),
        Column("label", pa.int16(), "1", "true class, from 0"),
        Column("name", pa.string(), "", "name of the image in its source"),
        Column(
            "offset", pa.int64(), "bytes", "start of the image file in images.npy", nullable=True
        ),
    ),
)


def write_dataset(dataset: Dataset, folder: str | os.PathLike[str]) -> None:
    """Write a dataset's three files, the description last: with it, the folder is complete.

    Parameters
    ----------
    dataset : Dataset
        What to write; mapped images are copied in chunks.
    folder : path-like
        Made if missing; a dataset in it is replaced.

    Raises
    ------
    InputError
        If the folder cannot be written to, or the disk is full.
    """
    folder = Path(folder)
    remove_description(folder)
    images = dataset.images
    array = images.data if isinstance(images, EncodedImages) else images
    with whole_file(folder / IMAGES) as partial:
        write_array(partial, array.shape, chunks(array))
    write_description(dataset, folder)


def remove_description(folder: Path) -> None:
    """Mark a folder as incomplete: an old description must not stay beside new images."""
    (folder / DESCRIPTION).unlink(missing_ok=True)


def write_array(path: Path, shape: tuple[int, ...], parts: Iterable[bytes | memoryview]) -> None:
    """Write a uint8 array as .npy file, from its bytes in C order.

    Not by `numpy.save`, which does not say that a disk is full, nor through a mapping, where a
    full disk kills the process.
    """
    with path.open("wb") as file:
        write_array_header(file, shape)
        for part in parts:
            file.write(part)


def write_array_header(file: Any, shape: tuple[int, ...]) -> None:
    """Write the .npy header of a uint8 array of this shape."""
    header = {"descr": "|u1", "fortran_order": False, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(file, header)


def write_description(dataset: Dataset, folder: Path) -> None:
    """Write `datapoints.parquet` and `dataset.json` beside images that are in place."""
    images = dataset.images
    offsets = images.offsets if isinstance(images, EncodedImages) else None
    write_datapoints(folder, dataset.labels, dataset.names, offsets)
    description = {
        "name": dataset.name,
        "n": len(dataset),
        "n_classes": dataset.n_classes,
        "classes": list(dataset.classes),
        "stored": dataset.stored,
        "max_value": dataset.max_value,
        "source": dataset.source,
        "sha256": dataset.sha256,
        "provenance": dict(dataset.provenance),
    }
    with whole_file(folder / DESCRIPTION) as partial:
        text = json.dumps(description, indent=2, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")


def write_datapoints(
    folder: Path,
    labels: npt.NDArray[Any],
    names: Sequence[str],
    offsets: npt.NDArray[np.int64] | None = None,
) -> None:
    """Write `datapoints.parquet`; `offsets` are None for images that are an array."""
    columns = {
        "index": np.arange(len(labels), dtype=np.int32),
        "label": labels.astype(np.int16),
        "name": names,
        "offset": pa.nulls(len(labels), pa.int64()) if offsets is None else offsets,
    }
    write_table(DATAPOINTS_SCHEMA.table(columns), folder / DATAPOINTS)


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
    description = read_description(folder)
    array = read_array(folder / IMAGES, mmap)
    datapoints = DATAPOINTS_SCHEMA.read(folder / DATAPOINTS)
    labels = datapoints["label"].to_numpy().astype(np.int16)
    images: Images = array
    if description["stored"] == "files":
        images = EncodedImages(array, datapoints["offset"].to_numpy().astype(np.int64))
    if not len(images) == len(labels) == description["n"]:
        raise InputError(
            f"{len(images)} images, {len(labels)} labels, and {description['n']} of each by "
            f"{DESCRIPTION}",
            file=folder,
            remedy=_REMEDY,
        )
    classes, max_value = tuple(description["classes"]), description["max_value"]
    names = tuple(datapoints["name"].to_pylist())
    check_content(images, labels, names, len(classes), max_value, file=folder)
    if verify and content_digest(images, labels) != description["sha256"]:
        raise InputError(
            f"images or labels are not those that {DESCRIPTION} describes (sha256)",
            file=folder,
            remedy=_REMEDY,
        )
    return Dataset(
        description["name"], images, labels, names, classes, max_value,
        description["source"], description["sha256"], description["provenance"],
    )  # fmt: skip


def read_description(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read `dataset.json`: what a dataset is, without its images.

    Raises
    ------
    InputError
        If it is missing or not a description.
    """
    path = Path(folder) / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, remedy="Build the dataset first") from error
    except (OSError, ValueError) as error:
        raise InputError(f"not readable JSON ({error})", file=path, remedy=_REMEDY) from error
    types = {
        "name": str, "n": int, "classes": list, "stored": str, "max_value": int, "source": str,
        "sha256": str, "provenance": dict,
    }  # fmt: skip
    for key, kind in types.items():
        if not isinstance(description, dict) or not isinstance(description.get(key), kind):
            raise InputError(
                f"missing, or not of type {kind.__name__}", file=path, field=key, remedy=_REMEDY
            )
    return dict(description)


def read_array(path: Path, mmap: bool) -> npt.NDArray[Any]:
    """Read or map an .npy file; one that is missing or damaged is an `InputError`."""
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
