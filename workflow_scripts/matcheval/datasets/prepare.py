"""Building a dataset and writing its folder, as the script `prepare_dataset.py` does."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from matcheval.datasets.array_files import write_array
from matcheval.datasets.build import build_dataset
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.decoding import Resize
from matcheval.datasets.folders import (
    IMAGES,
    map_array,
    read_dataset,
    read_description,
    remove_description,
    write_dataset,
    write_description,
)
from matcheval.datasets.images import MadeImages
from matcheval.datasets.kinds import builder_version
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources
from matcheval.datasets.streams import map_in_order, write_stream
from matcheval.errors import InputError
from matcheval.io.files import atomic_file, file_lock

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
    """Build a dataset and write its folder; other processes that do the same wait."""
    request = json.loads(json.dumps(
        {"kind": kind, "options": dict(options), "version": builder_version(kind)}
    ))  # fmt: skip
    with file_lock(folder) as waited:
        if waited and _is_built(folder, request):
            log.info("%s: another process has just built it", name)
            return read_dataset(folder, verify=False)
        with ExitStack() as stack:
            sources = Sources(downloads, stack, folder.parent)
            built = build_dataset(name, kind, options, sources)
            provenance = request | {"files": sources.digests}
            if isinstance(built, ImageStream):
                return _write_stream(built, folder, provenance, options, n_threads)
            built = _chosen(built, options)
            built = replace(built, provenance=provenance | dict(built.provenance))
            _log_unlisted(built)
            if options.get("stored"):
                _write_pixels(built, folder, n_threads)
            else:
                write_dataset(built, folder)
    return read_dataset(folder, verify=False)


def _write_pixels(dataset: Dataset, folder: Path, n_threads: int) -> None:
    """Make the images of a dataset, in threads, and write them as an array of pixels."""
    images = dataset.pixels
    assert isinstance(images, MadeImages), dataset.name
    starts, step = range(0, len(images), images.per_block), images.per_block
    remove_description(folder)
    with atomic_file(folder / IMAGES) as partial:
        made = map_in_order(lambda start: images[start : start + step].data, starts, n_threads)
        write_array(partial, images.shape, made)
    stored = make_dataset(
        dataset.name, map_array(folder / IMAGES), dataset.labels,
        classes=dataset.classes, max_value=dataset.max_value, source=dataset.source,
        names=dataset.names, provenance=dataset.provenance,
    )  # fmt: skip
    write_description(stored, folder)


def _write_stream(
    stream: ImageStream,
    folder: Path,
    provenance: dict[str, Any],
    options: Mapping[str, Any],
    n_threads: int,
) -> Dataset:
    files = stream.files
    if "rows" in options:
        files = _between(files, *options["rows"], name=stream.name)
    if {"skip_per_class", "per_class"} & set(options):
        files = _limited(files, options.get("skip_per_class", 0), options.get("per_class"))
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


def _limited(
    files: Iterable[LabelledFile], skipped: int, per_class: int | None
) -> Iterator[LabelledFile]:
    seen: dict[int, int] = {}
    for file in files:
        seen[file.label] = seen.get(file.label, 0) + 1
        if seen[file.label] > skipped and (
            per_class is None or seen[file.label] <= skipped + per_class
        ):
            yield file


def _between(
    files: Iterable[LabelledFile], start: int, stop: int, *, name: str
) -> Iterator[LabelledFile]:
    taken = 0
    for file in islice(files, start, stop):
        taken += 1
        yield file
    if taken < stop - start:
        raise _too_few(name, start, stop, taken)


def _too_few(name: str, start: int, stop: int, taken: int) -> InputError:
    return InputError(
        f"[{start}, {stop}] are {stop - start:,} images, of which there are {taken:,}",
        file=name,
        field="rows",
        remedy="Images are counted from 0",
    )


def _chosen(dataset: Dataset, options: Mapping[str, Any]) -> Dataset:
    """Keep the images that `rows`, `skip_per_class` and `per_class` name, in their order."""
    if not {"rows", "skip_per_class", "per_class"} & set(options):
        return dataset
    start, stop = options.get("rows", (0, len(dataset)))
    rows = np.arange(len(dataset))[start:stop]
    if len(rows) < stop - start:
        raise _too_few(dataset.name, start, stop, len(rows))
    if {"skip_per_class", "per_class"} & set(options):
        labels, first = dataset.labels[rows], options.get("skip_per_class", 0)
        last = first + options["per_class"] if "per_class" in options else None
        kept = [rows[labels == label][first:last] for label in range(dataset.n_classes)]
        rows = np.sort(np.concatenate(kept))
    return make_dataset(
        dataset.name, dataset.pixels[rows], dataset.labels[rows],
        classes=dataset.classes, max_value=dataset.max_value, source=dataset.source,
        names=[dataset.names[row] for row in rows], provenance=dataset.provenance,
    )  # fmt: skip
