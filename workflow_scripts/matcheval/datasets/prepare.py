"""Building a dataset and writing its folder, as the script `prepare.py` does.

Image files that together may be larger than the memory are read, checked and written one by one.
An idle core checks about 1,000 JPEG files of 500 × 375 pixels a second, so that ImageNet's
validation set (50,000 files, 6.7 GB) takes a minute, plus the time to copy the files and to read
them once more for the digest. Only a few images are in memory at a time.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from matcheval.datasets import dataset as datasets
from matcheval.datasets import decoding, folders, kinds
from matcheval.datasets.dataset import Dataset, EncodedImages, MadeImages
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources
from matcheval.errors import InputError, listed
from matcheval.io.files import atomic_file, file_lock
from matcheval.io.terminal import map_in_order
from matcheval.settings import read_settings

# Kinds that are built; not those that have predictions only.
KINDS = tuple(name for name, kind in kinds.KINDS.items() if kind.has_images)

_A = TypeVar("_A")

log = logging.getLogger(__name__)


def kind_settings(name: str, kind: str, options: Mapping[str, Any]) -> DatasetKind:
    """Validate the options of a kind of dataset that has images; `name` is for messages."""
    if kind not in KINDS:
        remedy = f"Known: {', '.join(KINDS)}"
        raise InputError(f"unknown kind '{kind}'", file=name, field="kind", remedy=remedy)
    return read_settings(kinds.KINDS[kind], {"kind": kind, **options}, file=name)


def build_dataset(
    name: str, kind: str, options: Mapping[str, Any], sources: Sources | None = None
) -> Dataset | ImageStream:
    """Build a dataset from its sources, by default those below the working directory."""
    sources = sources or Sources(Path("downloads"), Path("datasets"), folders.read_dataset)
    return kind_settings(name, kind, options).build(name, sources)


def prepare_dataset(
    name: str, kind: str, options: Mapping[str, Any], folder: Path, downloads: Path, *,
    n_threads: int = 1,
) -> Dataset:  # fmt: skip
    """Build a dataset and write its folder, while any other process that builds it waits."""
    settings = kind_settings(name, kind, options)
    request = {"kind": kind, "options": dict(options), "version": settings.builder_version}
    request = json.loads(json.dumps(request))
    with file_lock(folder) as waited:
        if waited and _is_built(folder, request):
            log.info("%s: another process has just built it", name)
            return folders.read_dataset(folder, verify=False)
        with Sources(downloads, folder.parent, folders.read_dataset) as sources:
            built = settings.build(name, sources)
            provenance = request | {"files": sources.digests}
            if isinstance(built, ImageStream):
                assert isinstance(settings, Decoded), kind
                built = _write_stream(built, settings, folder, provenance, n_threads)
            else:
                built = _take_selected(built, settings)
                built = replace(built, provenance=provenance | dict(built.provenance))
                if isinstance(built.images, MadeImages) and not settings.is_made:
                    _write_pixels(built, built.images, folder, n_threads)
                else:
                    folders.write_dataset(built, folder)
            for label, n in built.provenance.get("unlisted", {}).items():
                log.info("%s: %d images of '%s' are left out (label_map)", name, n, label)
    return folders.read_dataset(folder, verify=False)


def _is_built(folder: Path, request: Mapping[str, Any]) -> bool:
    """Whether a folder has a complete dataset of the requested kind, options and version."""
    try:
        provenance = folders.read_description(folder)["provenance"]
    except InputError:
        return False
    return all(provenance.get(key) == value for key, value in request.items())


def _write_pixels(dataset: Dataset, images: MadeImages, folder: Path, n_threads: int) -> None:
    """Make the images of a dataset, in threads, and write them as an array of pixels."""
    starts, step = range(0, len(images), images.per_block), images.per_block
    folders.remove_description(folder)
    with atomic_file(folder / folders.IMAGES) as partial:
        made = map_in_order(lambda start: images[start : start + step].data, starts, n_threads)
        folders.write_array(partial, images.shape, made)
    pixels = folders.map_array(folder / folders.IMAGES)
    stored = replace(dataset, images=pixels, sha256=datasets.content_digest(pixels, dataset.labels))
    folders.write_description(stored, folder)


def _take_selected(dataset: Dataset, settings: DatasetKind) -> Dataset:
    """Return a dataset with only the images that its settings select; by default, all."""
    if not isinstance(settings, Subset):
        return dataset
    rows = list(_select(range(len(dataset)), dataset.labels.__getitem__, settings, dataset.name))
    if len(rows) == len(dataset):
        return dataset
    return datasets.take_images(
        dataset, rows, name=dataset.name, source=dataset.source, provenance=dataset.provenance
    )


def _select(
    items: Iterable[_A], label_of: Callable[[_A], int], settings: Subset, name: str
) -> Iterator[_A]:
    """Yield the items that `rows`, `skip_per_class` and `per_class` select, in their order."""
    start, stop = settings.rows or (0, None)
    first = settings.skip_per_class or 0
    last = None if settings.per_class is None else first + settings.per_class
    seen = Counter[int]()
    for item in islice(items, start, stop):
        label = int(label_of(item))
        if first <= seen[label] and (last is None or seen[label] < last):
            yield item
        seen[label] += 1
    if stop is not None and seen.total() < stop - start:
        raise InputError(
            f"[{start}, {stop}] are {stop - start:,} images, of which there are {seen.total():,}",
            file=name, field="rows", remedy="Images are counted from 0",
        )  # fmt: skip


@dataclass
class _WrittenFiles:
    """Names, labels, offsets and properties of written image files, and the unreadable ones."""

    names: list[str] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    facts: set[decoding.ImageFacts] = field(default_factory=set)


def _write_stream(
    stream: ImageStream, settings: Decoded, folder: Path, provenance: dict[str, Any], n_threads: int
) -> Dataset:
    """Write a stream of images as a dataset's folder, and return the dataset."""
    files = _select(stream.files, lambda file: file.label, settings, stream.name)
    side = settings.resize
    provenance |= stream.notes
    folders.remove_description(folder)
    with atomic_file(folder / folders.IMAGES) as partial:
        written = _write_files(files, partial, n_threads)
        _check_readable(stream.name, written, settings.unreadable == "skip")
        sizes = {(side, side)} if side else {(f.height, f.width) for f in written.facts}
        is_array = len(sizes) == 1 and (side or all(facts.lossless for facts in written.facts))
        offsets = np.array(written.offsets, np.int64)
        if is_array:
            _replace_by_pixels(partial, offsets, sizes.pop(), settings, n_threads)
    data = folders.map_array(folder / folders.IMAGES)
    if side:
        provenance |= {"resized": f"{side} × {side}, bicubic, antialiased"}
    if n := len(written.unreadable):
        provenance |= {"unreadable": n, "skipped": written.unreadable}
        log.warning("%s: %d images cannot be decoded and are left out", stream.name, n)
    dataset = datasets.make_dataset(
        stream.name, data if is_array else EncodedImages(data, offsets), np.array(written.labels),
        classes=stream.classes, max_value=255, source=stream.source, names=written.names,
        provenance=provenance,
    )  # fmt: skip
    folders.write_description(dataset, folder)
    return dataset


def _write_files(files: Iterable[LabelledFile], path: Path, n_threads: int) -> _WrittenFiles:
    """Write all readable files, concatenated, as a one-dimensional array; list the others."""
    written = _WrittenFiles()
    with path.open("w+b") as file:
        folders.write_array_header(file, (0,))
        start = file.tell()
        for image, facts in map_in_order(_inspect, files, n_threads):
            if isinstance(facts, str):
                written.unreadable.append(f"{image.name} ({facts})")
                continue
            written.names.append(image.name)
            written.labels.append(image.label)
            written.offsets.append(file.tell() - start)
            written.facts.add(facts)
            file.write(image.encoded)
        length = file.tell() - start
        file.seek(0)
        folders.write_array_header(file, (length,))
        if file.tell() != start:  # NumPy pads headers to leave room for longer shapes
            raise AssertionError("the header of the array has grown")
    return written


def _inspect(image: LabelledFile) -> tuple[LabelledFile, decoding.ImageFacts | str]:
    """Return the image with its properties, or with the reason why it cannot be decoded."""
    try:
        return image, decoding.inspect_image(image.encoded)
    except decoding.UnreadableImageError as error:
        return image, str(error)


def _check_readable(name: str, written: _WrittenFiles, skip: bool) -> None:
    """Raise an error if images are unreadable and not to be skipped, or if there are none."""
    bad = written.unreadable
    if bad and not skip:
        raise InputError(
            f"{len(bad):,} of {len(bad) + len(written.names):,} images cannot be decoded: "
            f"{listed(bad, 20)}",
            file=name, remedy="Repair or remove them, or leave them out with 'unreadable: skip'",
        )  # fmt: skip
    if not written.names:
        raise InputError("has no images", file=name)


def _replace_by_pixels(
    path: Path, offsets: npt.NDArray[np.int64], size: tuple[int, int], settings: Decoded,
    n_threads: int,
) -> None:  # fmt: skip
    """Replace a file of concatenated images by one array of their pixels, all of one size."""
    images = EncodedImages(folders.map_array(path), offsets)

    def pixels(i: int) -> bytes:
        image = decoding.decode_rgb(images.encoded(i))
        if settings.resize:
            image = decoding.resize_to_square(image, settings.resize)
        return image.tobytes()

    with atomic_file(path) as decoded:
        parts = map_in_order(pixels, range(len(images)), n_threads)
        folders.write_array(decoded, (len(images), *size, 3), parts)
