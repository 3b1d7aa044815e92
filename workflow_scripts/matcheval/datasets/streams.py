"""Datasets of image files that may exceed the memory: read, checked and written one by one.

An idle core checks about 1,000 JPEG files of 500 × 375 pixels a second, so that ImageNet's
validation set (50,000 files, 6.7 GB) takes a minute, and what the disk needs to copy and to read
it once more for the digest. The memory holds a few images at a time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, EncodedImages, make_dataset
from matcheval.datasets.decoding import (
    ImageFacts,
    UnreadableImageError,
    decode_rgb,
    inspect_image,
)
from matcheval.datasets.folders import (
    IMAGES,
    read_array,
    remove_description,
    write_array,
    write_array_header,
    write_description,
)
from matcheval.errors import InputError
from matcheval.io.files import whole_file

_NAMED = 20  # unreadable images in a message

_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass(frozen=True)
class LabelledFile:
    """An image file in memory: its name in its source, its class, its bytes."""

    name: str
    label: int
    encoded: bytes


@dataclass(frozen=True, eq=False)
class ImageStream:
    """A dataset to be: its images come one by one.

    Attributes
    ----------
    name, source : str
    classes : tuple of str
        As those of `Dataset`.
    files : iterable of LabelledFile
        In the dataset's order.
    """

    name: str
    classes: tuple[str, ...]
    source: str
    files: Iterable[LabelledFile]


@dataclass
class _Spooled:
    """What was written of a stream."""

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
    n_threads: int = 1,
) -> Dataset:
    """Write a stream of images as a dataset's folder.

    The images are kept as the files that they are, except where all have one size and a lossless
    encoding: then as an array of RGB pixels.

    Parameters
    ----------
    stream : ImageStream
        The images.
    folder : Path
        Made if missing; a dataset in it is replaced.
    provenance : dict
        Goes into the description, with the images that were left out.
    skip_unreadable : bool
        Leave out images that cannot be decoded, and count them.
    n_threads : int
        CPU threads that decode.

    Raises
    ------
    InputError
        Naming the images that cannot be decoded; or if there are none at all.
    """
    remove_description(folder)
    with whole_file(folder / IMAGES) as partial:
        spooled = _spool(stream, partial, n_threads)
        _check_readable(stream.name, spooled, skip_unreadable)
        offsets = np.array(spooled.offsets, dtype=np.int64)
        is_array = spooled.lossless and len(spooled.sizes) == 1
        if is_array:
            _to_array(partial, offsets, spooled.sizes.pop(), n_threads)
    data = read_array(folder / IMAGES, mmap=True)
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
    """Write all readable files back to back, as a one-dimensional array."""
    spooled, length = _Spooled(), 0
    with path.open("w+b") as file:
        write_array_header(file, (0,))
        start = file.tell()
        for image, facts in _in_order(_inspected, stream.files, n_threads):
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
        if file.tell() != start:  # NumPy pads headers, so that lengths can grow
            raise AssertionError("the header grew")
    return spooled


def _inspected(image: LabelledFile) -> tuple[LabelledFile, ImageFacts | str]:
    try:
        return image, inspect_image(image.encoded)
    except UnreadableImageError as error:
        return image, str(error)


def _check_readable(name: str, spooled: _Spooled, skip: bool) -> None:
    bad = spooled.unreadable
    if bad and not skip:
        more = f" and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
        raise InputError(
            f"{len(bad):,} of {len(bad) + len(spooled.names):,} images cannot be decoded: "
            f"{', '.join(bad[:_NAMED])}{more}",
            file=name,
            remedy="Mend or remove them, or leave them out with 'unreadable: skip'",
        )
    if not spooled.names:
        raise InputError("no images", file=name)


def _to_array(
    path: Path, offsets: npt.NDArray[np.int64], size: tuple[int, int], n_threads: int
) -> None:
    """Replace files of one size by their pixels."""
    images = EncodedImages(read_array(path, mmap=True), offsets)

    def pixels(i: int) -> bytes:
        return decode_rgb(images.encoded(i)).tobytes()

    with whole_file(path) as decoded:
        parts = _in_order(pixels, range(len(images)), n_threads)
        write_array(decoded, (len(images), *size, 3), parts)


def _in_order(function: Callable[[_A], _B], items: Iterable[_A], n_threads: int) -> Iterator[_B]:
    """Map with threads, in order, and never far ahead: `Executor.map` takes all items at once."""
    waiting: deque[Future[_B]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 4 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
