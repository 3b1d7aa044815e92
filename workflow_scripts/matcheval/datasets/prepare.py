"""Building a dataset and writing its folder, as the script `prepare.py` does.

Image files that together may be larger than the memory are read, checked and written one by one.
An idle core checks about 1,000 JPEG files of 500 × 375 pixels a second, so that ImageNet's
validation set (50,000 files, 6.7 GB) takes a minute, plus the time to copy the files and to read
them once more for the digest. Only a few images are in memory at a time.
"""

import json
import logging
from collections import Counter, deque
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
from matcheval.datasets.dataset import (
    Dataset,
    EncodedImages,
    MadeImages,
    content_digest,
    make_dataset,
    take_images,
)
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
    write_array,
    write_array_header,
    write_dataset,
    write_description,
)
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources
from matcheval.errors import InputError
from matcheval.io.files import atomic_file, file_lock
from matcheval.settings import read_settings

# Kinds that are built; not those that have predictions only.
KINDS = tuple(name for name, kind in kinds.KINDS.items() if kind.has_images)
_MAX_LISTED = 20  # unreadable images in a message

_A = TypeVar("_A")
_B = TypeVar("_B")

log = logging.getLogger(__name__)


def kind_settings(name: str, kind: str, options: Mapping[str, Any]) -> DatasetKind:
    """Read the options of a kind of dataset that is built; `name` is for messages."""
    if kind not in KINDS:
        remedy = f"Known: {', '.join(KINDS)}"
        raise InputError(f"unknown kind '{kind}'", file=name, field="kind", remedy=remedy)
    settings: DatasetKind = read_settings(kinds.KINDS[kind], {"kind": kind, **options}, file=name)
    return settings


def build_dataset(
    name: str, kind: str, options: Mapping[str, Any], sources: Sources | None = None
) -> Dataset | ImageStream:
    """Build a dataset from its sources, by default those below the working directory."""
    below = Sources(Path("downloads"), ExitStack(), Path("datasets"), read_dataset)
    return kind_settings(name, kind, options).build(name, sources or below)


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
    settings = kind_settings(name, kind, options)
    request = {"kind": kind, "options": dict(options), "version": settings.builder_version}
    request = json.loads(json.dumps(request))
    with file_lock(folder) as waited:
        if waited and _is_built(folder, request):
            log.info("%s: another process has just built it", name)
            return read_dataset(folder, verify=False)
        with ExitStack() as stack:
            sources = Sources(downloads, stack, folder.parent, read_dataset)
            built = settings.build(name, sources)
            provenance = request | {"files": sources.digests}
            if isinstance(built, ImageStream):
                assert isinstance(settings, Decoded), kind
                dataset = _write_stream(built, settings, folder, provenance, n_threads)
            else:
                dataset = _chosen(built, settings)
                dataset = replace(dataset, provenance=provenance | dict(dataset.provenance))
                if isinstance(dataset.images, MadeImages) and not settings.is_made:
                    _write_pixels(dataset, dataset.images, folder, n_threads)
                else:
                    write_dataset(dataset, folder)
            for label, n in dataset.provenance.get("unlisted", {}).items():
                log.info("%s: %d images of '%s' are left out (label_map)", name, n, label)
    return read_dataset(folder, verify=False)


def _is_built(folder: Path, request: Mapping[str, Any]) -> bool:
    try:
        provenance = read_description(folder)["provenance"]
    except InputError:
        return False
    return all(provenance.get(key) == value for key, value in request.items())


def _write_pixels(dataset: Dataset, images: MadeImages, folder: Path, n_threads: int) -> None:
    """Make the images of a dataset, in threads, and write them as an array of pixels."""
    starts, step = range(0, len(images), images.per_block), images.per_block
    remove_description(folder)
    with atomic_file(folder / IMAGES) as partial:
        made = map_in_order(lambda start: images[start : start + step].data, starts, n_threads)
        write_array(partial, images.shape, made)
    pixels = map_array(folder / IMAGES)
    stored = replace(dataset, images=pixels, sha256=content_digest(pixels, dataset.labels))
    write_description(stored, folder)


def _chosen(dataset: Dataset, settings: DatasetKind) -> Dataset:
    if not isinstance(settings, Subset):
        return dataset
    rows = list(_selected(range(len(dataset)), dataset.labels.__getitem__, settings, dataset.name))
    if len(rows) == len(dataset):
        return dataset
    return take_images(
        dataset, rows, name=dataset.name, source=dataset.source, provenance=dataset.provenance
    )


def _selected(
    items: Iterable[_A], label_of: Callable[[_A], int], settings: Subset, name: str
) -> Iterator[_A]:
    """Keep the images that `rows`, `skip_per_class` and `per_class` name, in their order."""
    start, stop = settings.rows or (0, None)
    skipped = settings.skip_per_class or 0
    taken, seen = 0, Counter[int]()
    for item in islice(items, start, stop):
        taken += 1
        label = int(label_of(item))
        seen[label] += 1
        place = seen[label] - skipped
        if place > 0 and (settings.per_class is None or place <= settings.per_class):
            yield item
    if stop is not None and taken < stop - start:
        raise InputError(
            f"[{start}, {stop}] are {stop - start:,} images, of which there are {taken:,}",
            file=name,
            field="rows",
            remedy="Images are counted from 0",
        )


@dataclass
class _Spooled:
    """What is known about the images of a stream once their files are written."""

    names: list[str] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    sizes: set[tuple[int, int]] = field(default_factory=set)
    lossless: bool = True


def _write_stream(
    stream: ImageStream, settings: Decoded, folder: Path, provenance: dict[str, Any], n_threads: int
) -> Dataset:
    """Write a stream of images as a dataset's folder."""
    files = _selected(stream.files, lambda file: file.label, settings, stream.name)
    side, how = settings.resize, settings.resize_filter
    resize = None if side is None else Resize(side, how)
    remove_description(folder)
    with atomic_file(folder / IMAGES) as partial:
        spooled = _spool(files, partial, n_threads)
        _check_readable(stream.name, spooled, settings.unreadable == "skip")
        offsets = np.array(spooled.offsets, dtype=np.int64)
        is_array = resize is not None or (spooled.lossless and len(spooled.sizes) == 1)
        if is_array:
            size = (resize.side, resize.side) if resize else spooled.sizes.pop()
            _to_array(partial, offsets, size, resize, n_threads)
    data = map_array(folder / IMAGES)
    provenance |= stream.notes
    if resize:
        provenance |= {"resized": f"{side} × {side}, {how}, antialiased"}
    if spooled.unreadable:
        n = len(spooled.unreadable)
        provenance |= {"unreadable": n, "skipped": spooled.unreadable}
        log.warning("%s: %d images cannot be decoded and are left out", stream.name, n)
    dataset = make_dataset(
        stream.name, data if is_array else EncodedImages(data, offsets), np.array(spooled.labels),
        classes=stream.classes, max_value=255, source=stream.source, names=spooled.names,
        provenance=provenance,
    )  # fmt: skip
    write_description(dataset, folder)
    return dataset


def _spool(files: Iterable[LabelledFile], path: Path, n_threads: int) -> _Spooled:
    """Write all readable files, concatenated, as a one-dimensional array."""
    spooled, length = _Spooled(), 0
    with path.open("w+b") as file:
        write_array_header(file, (0,))
        start = file.tell()
        for image, facts in map_in_order(_inspected, files, n_threads):
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
