"""Reading images by all cores: what each of the user's is, and hashes of base and training sets."""

import hashlib
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import pandas as pd
import pyarrow as pa

from matcheval.datasets.dataset import EncodedImages
from matcheval.datasets.decoding import UnreadableImageError, array_image, decode_rgb
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.datasets.sources import ImageStream, Sources
from matcheval.errors import InputError
from matcheval.warehouse.duplicates import REFERENCE_SCHEMA
from matcheval.warehouse.images import (
    RefusedImageError,
    decode_collected,
    dominant_colour,
    perceptual_hash,
    pixel_digest,
    read_bounded,
)
from matcheval.warehouse.manifest import READ_SCHEMA
from matcheval.warehouse.sets import ImageFile, SourceSet
from matcheval.warehouse.settings import DecodingSettings, reference_settings

A = TypeVar("A")
B = TypeVar("B")
_BATCH = 32
_ALONE = 256


class Workers:
    """Processes that items are handed to, started when there are many; they end with the block."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Apply a function to items, in order and in bounded memory."""
        iterator = iter(items)
        # Starting processes takes longer than these.
        alone = None if self._n_workers == 1 else (0 if self._pool else _ALONE)
        yield from map(function, islice(iterator, alone))
        waiting: deque[Future[list[B]]] = deque()
        while batch := tuple(islice(iterator, _BATCH)):
            if self._pool is None:
                # Not forked: threads of libraries such as pyarrow do not survive that.
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self._n_workers, mp_context=context)
            waiting.append(self._pool.submit(_apply, function, batch))
            if len(waiting) > 2 * self._n_workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _apply(function: Callable[[Any], B], batch: tuple[Any, ...]) -> list[B]:
    return [function(item) for item in batch]


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_set(source: SourceSet, settings: DecodingSettings, workers: Workers) -> pa.Table:
    """Read all images of a set: what each is, or why it is not taken; no pixels are kept."""
    rows = workers.map(partial(read_image, source.name, settings), source.files())
    return READ_SCHEMA.from_frame(pd.DataFrame(list(rows), columns=READ_SCHEMA.names, dtype=object))


def read_image(set_name: str, settings: DecodingSettings, image: ImageFile) -> dict[str, Any]:
    """Read one image."""
    row: dict[str, Any] = dict.fromkeys(READ_SCHEMA.names) | asdict(image.facts)
    row |= {"place": image.place, "class_given": image.class_name}
    row |= {"animated": False, "misnamed": False}
    content = b""
    try:
        content = read_bounded(image.file, settings)
        decoded = decode_collected(content, image.file.suffix, settings)
    except RefusedImageError as error:
        row |= {"problem": error.problem, "detail": str(error)}
        row["image_id"] = image_id(set_name, image.place, hashlib.sha256(content).hexdigest())
        return row
    shown = decoded.image
    digest = pixel_digest(shown)
    return row | {
        "image_id": image_id(set_name, image.place, digest), "sha256": digest,
        "phash": perceptual_hash(shown), "width": shown.width, "height": shown.height,
        "colour_measured": dominant_colour(shown), "animated": decoded.animated,
        "misnamed": decoded.misnamed,
    }  # fmt: skip


def image_id(set_name: str, place: str, digest: str) -> str:
    """Return the name of an image, which does not depend on where its warehouse lies."""
    text = f"{digest} {Path(place).as_posix()}"
    return f"{set_name}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def read_reference(
    name: str, block: Mapping[str, Any], downloads: Path, workers: Workers
) -> pa.Table:
    """Hash the images of a base or training set."""
    settings = reference_settings(name, block)
    options = settings.options
    start, stop = options.get("rows", (0, None))
    with Sources(downloads, downloads.parent / "datasets", read_dataset) as sources:
        images = _images(build_dataset(name, settings.kind, options, sources))
        rows = list(workers.map(_hash_image, islice(images, start, stop)))
    unreadable = [title for title, _, digest, _ in rows if digest is None]
    if unreadable:
        first = f"the first is {unreadable[0]}"
        raise InputError(f"{len(unreadable)} images cannot be decoded, {first}", file=name)
    table = pd.DataFrame(rows, columns=REFERENCE_SCHEMA.names, dtype=object)
    return REFERENCE_SCHEMA.from_frame(table)


def _images(built: Any) -> Iterator[tuple[Any, str, str]]:
    """Images as files or as pixels with their range, with names and classes."""
    if isinstance(built, ImageStream):
        for file in built.files:
            yield file.encoded, file.name, built.classes[file.label]
        return
    for position, (title, label) in enumerate(zip(built.names, built.labels, strict=True)):
        if isinstance(built.images, EncodedImages):
            image: Any = bytes(built.images.encoded(position))
        else:
            image = built.images[position], built.max_value
        yield image, title, built.classes[label]


def _hash_image(named: tuple[Any, str, str]) -> tuple[str, str, str | None, int | None]:
    """Hash an image; its name and class remain with it, and None stands for what is unreadable."""
    image, name, class_name = named
    try:
        shown = decode_rgb(image) if isinstance(image, bytes) else array_image(*image)
    except UnreadableImageError:
        return name, class_name, None, None
    return name, class_name, pixel_digest(shown), perceptual_hash(shown)
