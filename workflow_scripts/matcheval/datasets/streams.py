"""Image files that together may be larger than the memory: read, checked and written one by one.

An idle core checks about 1,000 JPEG files of 500 × 375 pixels a second, so that ImageNet's
validation set (50,000 files, 6.7 GB) takes a minute, plus the time to copy the files and to read
them once more for the digest. Only a few images are in memory at a time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from matcheval.datasets.array_files import write_array, write_array_header
from matcheval.datasets.dataset import Dataset, make_dataset
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
    remove_description,
    write_description,
)
from matcheval.datasets.images import EncodedImages
from matcheval.datasets.sources import ImageStream, LabelledFile
from matcheval.errors import InputError
from matcheval.io.files import atomic_file

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
