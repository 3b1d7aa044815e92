"""A dataset on disk: a folder of `images.npy`, `datapoints.parquet` and `dataset.json`.

`images.npy` contains either pixels (uint8, n × height × width × channels; `stored` is "array"; or
vectors, float32, n × 1 × 1 × length) or the concatenated image files (uint8, one-dimensional;
"files"), so that it can be mapped into memory in both cases; there is none if the images are made
from those of another dataset when they are read ("made"). `datapoints.parquet` has a row per image,
with its label, its name in the source, and the position of its file. `dataset.json` describes the
dataset.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets import dataset as contents
from matcheval.datasets.dataset import Dataset, EncodedImages, Images, MadeImages
from matcheval.errors import InputError
from matcheval.io.files import atomic_file, readable
from matcheval.io.self_digests import read_json, write_json
from matcheval.io.tables import Column, TableSchema, write_table

IMAGES, DATAPOINTS, DESCRIPTION = "images.npy", "datapoints.parquet", "dataset.json"

_REMEDY = "Delete the folder and build the dataset again"

DATAPOINTS_SCHEMA = TableSchema(
    "datapoints",
    Column("index", pa.int32(), "1", "position in the dataset, from 0"),
    Column("label", pa.int16(), "1", "true class, from 0"),
    Column("name", pa.string(), "", "name of the image in its source"),
    Column("offset", pa.int64(), "bytes", "start of the image file in images.npy", nullable=True),
)


def _damage_error(problem: str, file: Path, field: str | None = None) -> InputError:
    return InputError(problem, file=file, field=field, remedy=_REMEDY)


def write_dataset(dataset: Dataset, folder: str | os.PathLike[str]) -> None:
    """Write the files of a dataset, the description last: it marks the folder as complete."""
    folder = Path(folder)
    remove_description(folder)
    images = dataset.images
    if isinstance(images, MadeImages):
        (folder / IMAGES).unlink(missing_ok=True)
    else:
        array = images.data if isinstance(images, EncodedImages) else images
        with atomic_file(folder / IMAGES) as partial:
            write_array(partial, array.shape, contents.byte_chunks(array), array.dtype)
    write_description(dataset, folder)


def remove_description(folder: Path) -> None:
    """Delete `dataset.json` before images are replaced: without it, a folder is incomplete."""
    (folder / DESCRIPTION).unlink(missing_ok=True)


def write_description(dataset: Dataset, folder: Path) -> None:
    """Write `datapoints.parquet` and `dataset.json`, beside images that have been written."""
    images = dataset.images
    offsets = images.offsets if isinstance(images, EncodedImages) else None
    write_datapoints(folder, dataset.labels, dataset.names, offsets)
    description = {
        "name": dataset.name, "n": len(dataset), "n_classes": dataset.n_classes,
        "classes": list(dataset.classes), "stored": dataset.stored,
        **({"shape": list(images.shape)} if isinstance(images, MadeImages) else {}),
        "max_value": dataset.max_value, "source": dataset.source, "sha256": dataset.sha256,
        "provenance": dict(dataset.provenance),
    }  # fmt: skip
    write_json(description, folder / DESCRIPTION, indent=2)


def write_datapoints(
    folder: Path,
    labels: npt.NDArray[Any],
    names: Sequence[str],
    offsets: npt.NDArray[np.int64] | None = None,
) -> None:
    """Write `datapoints.parquet`: indices, labels, names and, of image files, their offsets."""
    columns = {
        "index": np.arange(len(labels), dtype=np.int32),
        "label": labels.astype(np.int16),
        "name": names,
        "offset": pa.nulls(len(labels), pa.int64()) if offsets is None else offsets,
    }
    write_table(DATAPOINTS_SCHEMA.table(columns), folder / DATAPOINTS)


def read_dataset(folder: str | os.PathLike[str], verify: bool = True) -> Dataset:
    """Read a dataset from its folder, and check it; if `verify`, also the digest of its images."""
    folder = Path(folder)
    description = read_description(folder)
    for name in (DATAPOINTS, *([] if description["stored"] == "made" else [IMAGES])):
        _check_exists(folder / name)
    datapoints = DATAPOINTS_SCHEMA.read(folder / DATAPOINTS)
    labels = datapoints["label"].to_numpy().astype(np.int16)
    names = tuple(datapoints["name"].to_pylist())
    images: Images
    if description["stored"] == "made":
        images = _restore_made_images(folder, description["provenance"], verify)
    else:
        images = array = map_array(folder / IMAGES)
    if description["stored"] == "files":
        images = EncodedImages(array, datapoints["offset"].to_numpy().astype(np.int64))
    if not len(images) == len(labels) == description["n"]:
        counts = f"{len(images)} images, {len(labels)} labels, {description['n']} of each"
        raise _damage_error(f"{counts} according to {DESCRIPTION}", folder)
    classes = tuple(description["classes"])
    contents.check_content(images, labels, names, len(classes), file=folder)
    if verify and contents.content_digest(images, labels) != description["sha256"]:
        raise _damage_error(f"images or labels differ from those of {DESCRIPTION} (sha256)", folder)
    fields = ("name", "max_value", "source", "sha256", "provenance")
    described = {key: description[key] for key in fields}
    return Dataset(images=images, labels=labels, names=names, classes=classes, **described)


def _restore_made_images(folder: Path, provenance: dict[str, Any], verify: bool) -> MadeImages:
    """Return images that are made when read; refuse them if their recipe has changed since."""
    from matcheval.datasets.sources import Sources
    from matcheval.datasets.transformed import Corrupted

    settings = Corrupted.model_validate({"kind": "corrupted", **provenance["options"]})
    sources = Sources(folder.parent / provenance["downloads"], folder.parent, read_dataset)
    images = settings.images(sources.dataset(settings.of, verify=verify), sources)
    if json.loads(images.recipe) != provenance["recipe"]:
        problem = f"'{settings.of}', or the corruption, is not what it was when this was prepared"
        raise InputError(problem, file=folder / DESCRIPTION, remedy="Prepare it again")
    return images


def _check_exists(path: Path) -> None:
    """Raise an error, with the command that makes it, if a file of a dataset is missing."""
    if not path.is_file():
        # Running again is not enough: no job makes a file that none has as its input.
        remedy = f"Make it: snakemake --cores all {path} all, with the other options of the run"
        raise InputError("no such file", file=path, remedy=remedy)


def read_description(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read `dataset.json`, the description of a dataset."""
    path = Path(folder) / DESCRIPTION
    _check_exists(path)
    description = read_json(path, remedy=_REMEDY)
    types = {
        "name": str, "n": int, "classes": list, "stored": str, "max_value": int, "source": str,
        "sha256": str, "provenance": dict,
    }  # fmt: skip
    for key, kind in types.items():
        if not isinstance(description, dict) or not isinstance(description.get(key), kind):
            raise _damage_error(f"missing, or not of type {kind.__name__}", path, key)
    return dict(description)


def map_array(path: Path) -> npt.NDArray[Any]:
    """Map the array of an .npy file into memory, to read it only."""
    with readable(path, "a readable array, perhaps truncated", EOFError, remedy=_REMEDY):
        return np.lib.format.open_memmap(path, mode="r")


def write_array(
    path: Path, shape: tuple[int, ...], parts: Iterable[bytes | memoryview],
    dtype: npt.DTypeLike = np.uint8,
) -> None:  # fmt: skip
    """Write an array to an .npy file, from its bytes in C order."""
    with path.open("wb") as file:
        write_array_header(file, shape, dtype)
        file.writelines(parts)


def write_array_header(file: Any, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint8) -> None:
    """Write the .npy header of an array in C order."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": descr, "fortran_order": False, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(file, header)
