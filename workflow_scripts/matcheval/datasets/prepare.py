"""Building a dataset and writing its folder, as the script `prepare_dataset.py` does."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from matcheval.datasets.build import build_dataset
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.decoding import Resize
from matcheval.datasets.folders import read_dataset, read_description, write_dataset
from matcheval.datasets.kinds import builder_version
from matcheval.datasets.sources import Sources
from matcheval.datasets.streams import ImageStream, LabelledFile, write_stream
from matcheval.errors import InputError
from matcheval.io.files import file_lock

log = logging.getLogger(__name__)


def prepare_dataset(
    name: str,
    kind: str,
    options: Mapping[str, Any],
    folder: Path,
    downloads: Path,
    *,
    n_threads: int = 1,
) -> Dataset:
    """Build a dataset and write its folder; other processes that do the same wait.

    Parameters
    ----------
    name : str
        Name of the dataset.
    kind : str
        Its kind, one of `datasets.build.KINDS`.
    options : mapping
        Options of its kind. All kinds except the digits have the options `per_class` (number of
        images to keep of each class: the first ones) and, where images are files, `unreadable`:
        `fail` (the default) or `skip`, and `resize` (to a square of so many pixels) with
        `resize_filter`.
    folder : Path
        The folder to write.
    downloads : Path
        Folder of the published files.
    n_threads : int
        CPU threads that decode images.

    Returns
    -------
    Dataset
        Its images mapped from the folder.

    Raises
    ------
    InputError
        If options are invalid, files are missing or damaged, or the disk is full.
    """
    request = json.loads(json.dumps(
        {"kind": kind, "options": dict(options), "version": builder_version(kind)}
    ))  # fmt: skip
    with file_lock(folder) as waited:
        if waited and _is_built(folder, request):
            log.info("%s: another process has just built it", name)
            return read_dataset(folder, verify=False)
        with ExitStack() as stack:
            sources = Sources(downloads, stack)
            built = build_dataset(name, kind, options, sources)
            provenance = request | {"files": sources.digests}
            if isinstance(built, ImageStream):
                return _write_stream(built, folder, provenance, options, n_threads)
            if "per_class" in options:
                built = _first_of_each_class(built, options["per_class"])
            built = replace(built, provenance=provenance | dict(built.provenance))
            write_dataset(built, folder)
            _log_unlisted(built)
    return read_dataset(folder, verify=False)


def _write_stream(
    stream: ImageStream,
    folder: Path,
    provenance: dict[str, Any],
    options: Mapping[str, Any],
    n_threads: int,
) -> Dataset:
    if "per_class" in options:
        files = _limited(stream.files, int(options["per_class"]))
        stream = replace(stream, files=files)
    side, how = options.get("resize"), options.get("resize_filter", "bicubic")
    dataset = write_stream(
        stream, folder, provenance,
        skip_unreadable=options.get("unreadable", "fail") == "skip",
        resize=Resize(int(side), how) if side is not None else None,
        n_threads=n_threads,
    )  # fmt: skip
    if "unreadable" in dataset.provenance:
        n = dataset.provenance["unreadable"]
        log.warning("%s: %d images cannot be decoded and are left out", stream.name, n)
    _log_unlisted(dataset)
    return dataset


def _log_unlisted(dataset: Dataset) -> None:
    for label, n in dataset.provenance.get("unlisted", {}).items():
        log.info("%s: %d images of '%s' are left out (label_map)", dataset.name, n, label)


def _is_built(folder: Path, request: Mapping[str, Any]) -> bool:
    try:
        provenance = read_description(folder)["provenance"]
    except InputError:
        return False
    return all(provenance.get(key) == value for key, value in request.items())


def _limited(files: Iterable[LabelledFile], per_class: int) -> Iterator[LabelledFile]:
    taken: dict[int, int] = {}
    for file in files:
        taken[file.label] = taken.get(file.label, 0) + 1
        if taken[file.label] <= per_class:
            yield file


def _first_of_each_class(dataset: Dataset, per_class: int) -> Dataset:
    """Keep the first images of each class, in their order."""
    firsts = [
        np.flatnonzero(dataset.labels == label)[:per_class] for label in range(len(dataset.classes))
    ]
    rows = np.sort(np.concatenate(firsts))
    return make_dataset(
        dataset.name, dataset.pixels[rows], dataset.labels[rows],
        classes=dataset.classes, max_value=dataset.max_value, source=dataset.source,
        names=[dataset.names[row] for row in rows], provenance=dataset.provenance,
    )  # fmt: skip
