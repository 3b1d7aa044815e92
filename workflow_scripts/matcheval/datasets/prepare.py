"""Building a dataset and writing its folder, as the script `prepare_dataset.py` does."""

import importlib
import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from matcheval.datasets import kinds
from matcheval.datasets.dataset import Dataset, EncodedImages, MadeImages, make_dataset
from matcheval.datasets.decoding import (
    ImageFacts,
    Resize,
    UnreadableImageError,
    decode_rgb,
    inspect_image,
)
from matcheval.datasets.folders import (
    IMAGES,
    map_array,
    read_dataset,
    read_description,
    remove_description,
    write_dataset,
    write_description,
)
from matcheval.datasets.kinds import builder_version
from matcheval.datasets.sources import (
    ImageStream,
    LabelledFile,
    Sources,
    write_array,
    write_array_header,
)
from matcheval.errors import InputError
from matcheval.io.files import atomic_file, file_lock
from matcheval.settings import read_settings

_MAX_LISTED = 20  # unreadable images in a message

_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass
class _Spooled:
    """What is known about the images of a stream once their files are written."""

    names: list[str] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    sizes: set[tuple[int, int]] = field(default_factory=set)
    lossless: bool = True


def write_stream(
    stream: ImageStream,
    folder: Path,
    provenance: dict[str, object],
    *,
    skip_unreadable: bool = False,
    resize: Resize | None = None,
    n_threads: int = 1,
) -> Dataset:
    """Write a stream of images as a dataset's folder."""
    remove_description(folder)
    with atomic_file(folder / IMAGES) as partial:
        spooled = _spool(stream, partial, n_threads)
        _check_readable(stream.name, spooled, skip_unreadable)
        offsets = np.array(spooled.offsets, dtype=np.int64)
        is_array = resize is not None or (spooled.lossless and len(spooled.sizes) == 1)
        if is_array:
            size = (resize.side, resize.side) if resize else spooled.sizes.pop()
            _to_array(partial, offsets, size, resize, n_threads)
    data = map_array(folder / IMAGES)
    provenance |= stream.notes
    if resize:
        provenance |= {"resized": f"{resize.side} × {resize.side}, {resize.filter}, antialiased"}
    if spooled.unreadable:
        provenance |= {"unreadable": len(spooled.unreadable), "skipped": spooled.unreadable}
    dataset = make_dataset(
        stream.name, data if is_array else EncodedImages(data, offsets), np.array(spooled.labels),
        classes=stream.classes, max_value=255, source=stream.source, names=spooled.names,
        provenance=provenance,
    )  # fmt: skip
    write_description(dataset, folder)
    return dataset


def _spool(stream: ImageStream, path: Path, n_threads: int) -> _Spooled:
    """Write all readable files, concatenated, as a one-dimensional array."""
    spooled, length = _Spooled(), 0
    with path.open("w+b") as file:
        write_array_header(file, (0,))
        start = file.tell()
        for image, facts in map_in_order(_inspected, stream.files, n_threads):
            if isinstance(facts, str):
                spooled.unreadable.append(f"{image.name} ({facts})")
                continue
            spooled.names.append(image.name)
            spooled.labels.append(image.label)
            spooled.offsets.append(length)
            spooled.sizes.add((facts.height, facts.width))
            spooled.lossless &= facts.lossless
            length += file.write(image.encoded)
        file.seek(0)
        write_array_header(file, (length,))
        if file.tell() != start:  # NumPy pads headers to leave room for longer shapes
            raise AssertionError("the header of the array has grown")
    return spooled


def _inspected(image: LabelledFile) -> tuple[LabelledFile, ImageFacts | str]:
    try:
        return image, inspect_image(image.encoded)
    except UnreadableImageError as error:
        return image, str(error)


def _check_readable(name: str, spooled: _Spooled, skip: bool) -> None:
    bad = spooled.unreadable
    if bad and not skip:
        more = f" and {len(bad) - _MAX_LISTED:,} more" if len(bad) > _MAX_LISTED else ""
        raise InputError(
            f"{len(bad):,} of {len(bad) + len(spooled.names):,} images cannot be decoded: "
            f"{', '.join(bad[:_MAX_LISTED])}{more}",
            file=name,
            remedy="Repair or remove them, or leave them out with 'unreadable: skip'",
        )
    if not spooled.names:
        raise InputError("has no images", file=name)


def _to_array(
    path: Path,
    offsets: npt.NDArray[np.int64],
    size: tuple[int, int],
    resize: Resize | None,
    n_threads: int,
) -> None:
    """Replace concatenated files by their pixels; all have the same height and width then."""
    images = EncodedImages(map_array(path), offsets)

    def pixels(i: int) -> bytes:
        image = decode_rgb(images.encoded(i))
        return (resize.apply(image) if resize else image).tobytes()

    with atomic_file(path) as decoded:
        parts = map_in_order(pixels, range(len(images)), n_threads)
        write_array(decoded, (len(images), *size, 3), parts)


def map_in_order(function: Callable[[_A], _B], items: Iterable[_A], n_threads: int) -> Iterator[_B]:
    """Map in threads, in order, reading few items ahead; `Executor.map` would read all of them."""
    waiting: deque[Future[_B]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 4 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


# Kinds that are built here; not those that have predictions only.
KINDS = tuple(name for name, kind in kinds.KINDS.items() if kind.builder)


def build_dataset(
    name: str, kind: str, options: Mapping[str, Any], sources: "Sources | None" = None
) -> "Dataset | ImageStream":
    """Build a dataset from its source."""
    if kind not in KINDS:
        raise InputError(
            f"unknown kind '{kind}'", file=name, field="kind", remedy=f"Known: {', '.join(KINDS)}"
        )
    if sources is None and kind != "digits":
        raise TypeError(f"datasets of kind {kind} are built from sources")
    module, function = kinds.KINDS[kind].builder.split(".")
    build = getattr(importlib.import_module(f"matcheval.datasets.{module}"), function)
    settings = read_settings(kinds.KINDS[kind], {"kind": kind, **options}, file=name)
    built: Dataset | ImageStream = build(name, settings, sources)
    return built


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
