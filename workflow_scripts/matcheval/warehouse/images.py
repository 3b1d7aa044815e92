"""Images that were collected by people, from anywhere: decoding within bounds, hashes, colours.

Unlike `datasets.decoding`, which reads published sets as published models did, this applies EXIF
orientations and shows transparent images over white, as a person saw them when they were collected.
"""

import hashlib
import io
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from PIL import Image, ImageFilter, ImageOps
from scipy.fft import dctn

from matcheval.datasets import decoding
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.datasets.sources import ImageStream, Sources
from matcheval.errors import InputError
from matcheval.io.terminal import map_in_order
from matcheval.warehouse.duplicates import REFERENCE_SCHEMA
from matcheval.warehouse.manifest import READ_SCHEMA, Box
from matcheval.warehouse.sets import ImageFile, SourceSet
from matcheval.warehouse.settings import DecodingSettings, reference_settings

A = TypeVar("A")
B = TypeVar("B")
_BATCH = 32
_ALONE = 256  # items that one process finishes before others have started

_JPEG = {".jpg", ".jpeg", ".jpe", ".jfif"}
# Suffixes that files of a format may have; a file with another one is wrongly named.
_SUFFIXES = {
    "JPEG": _JPEG,
    "MPO": _JPEG | {".mpo"},  # several JPEG pictures, as of phones; the first is read
    "PNG": {".png"},
    "WEBP": {".webp"},
    "BMP": {".bmp"},
    "GIF": {".gif"},
    "PPM": {".ppm", ".pgm", ".pbm", ".pnm"},
    "TIFF": {".tif", ".tiff"},
}
EMPTY, UNREADABLE, HUGE, SMALL = "empty", "unreadable", "huge", "too small"
PROBLEMS = (EMPTY, UNREADABLE, HUGE, SMALL)

_SOFTNESS = 3  # the standard deviation of the blur is the box's larger side over this


class RefusedImageError(Exception):
    """An image file is empty, unreadable, too large or too small."""

    def __init__(self, problem: str, detail: str = "") -> None:
        super().__init__(detail or problem)
        self.problem = problem


def read_bounded(path: Path, settings: DecodingSettings) -> bytes:
    """Read an image file, unless it is empty, unreadable or too large."""
    try:
        size = path.stat().st_size
        if size > settings.max_bytes:
            raise RefusedImageError(HUGE, f"{size:,} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise RefusedImageError(UNREADABLE, str(error.strerror)) from error
    if not content:
        raise RefusedImageError(EMPTY)
    return content


def decode_collected(
    content: bytes, suffix: str, settings: DecodingSettings
) -> tuple[Image.Image, dict[str, bool]]:
    """Decode an image as a person sees it, upright and over white; refuse large and small ones.

    Its size is checked before pixels are decoded. Also returns whether it is the first of several
    images, and whether its suffix is wrong.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # bounded below
            image = Image.open(io.BytesIO(content), formats=decoding.FORMATS)
            width, height = image.size
            if width * height > settings.max_pixels:
                raise RefusedImageError(HUGE, f"{width} × {height} pixels")
            several = getattr(image, "n_frames", 1) > 1
            flags = {
                "animated": several and image.format not in ("TIFF", "MPO"),
                "misnamed": suffix.lower() not in _SUFFIXES[str(image.format)],
            }
            upright = _rgb_over_white(ImageOps.exif_transpose(image))
    except RefusedImageError:
        raise
    except Image.DecompressionBombError as error:
        raise RefusedImageError(HUGE, str(error)) from error
    # For damaged bytes, decoders raise many types of exceptions (struct.error, SyntaxError, ...).
    except Exception as error:
        raise RefusedImageError(UNREADABLE, decoding.describe_error(error)) from error
    if min(width, height) < settings.min_side:
        raise RefusedImageError(SMALL, f"{width} × {height} pixels")
    return upright, flags


def decode_again(path: Path, settings: DecodingSettings) -> Image.Image:
    """Decode an image file that was accepted before, or raise an `InputError`."""
    try:
        return decode_collected(read_bounded(path, settings), path.suffix, settings)[0]
    except RefusedImageError as error:
        raise InputError(f"{error}, and was read before", file=path) from error


def _rgb_over_white(image: Image.Image) -> Image.Image:
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return image.convert("RGB")


def blur(image: Image.Image, boxes: Sequence[Box]) -> Image.Image:
    """Blur each box of an image; pixels inside and outside do not mix."""
    blurred = image.copy()
    for box in boxes:
        corners = (box.x0, box.y0, box.x1, box.y1)
        radius = max(box.x1 - box.x0, box.y1 - box.y0) / _SOFTNESS
        part = blurred.crop(corners).filter(ImageFilter.GaussianBlur(radius))
        blurred.paste(part, corners)
    return blurred


def fit_square(image: Image.Image, side: int, fit: str) -> Image.Image:
    """Resize an image to a square, cropped or squashed (`fit`): bicubic, antialiased."""
    if fit == "crop":
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        image = image.crop((left, top, left + short, top + short))
    return decoding.resize_to_square(image, side)


# As by the package ImageHash (`phash`), which needs a compiled package for these four lines.
_SIDE, _KEPT = 32, 8
# Grey levels: coefficients of uniform images differ from 0 by rounding errors only.
_DECIMALS = 6


def pixel_digest(image: Image.Image) -> str:
    """Compute the SHA-256 of an image's pixels and shape."""
    digest = hashlib.sha256(f"{image.height} {image.width} 3 ".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def perceptual_hash(image: Image.Image) -> int:
    """Compute a 64-bit hash that hardly changes when an image is resized or encoded again."""
    grey = image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    spectrum: npt.NDArray[np.float64] = dctn(np.asarray(grey, dtype=np.float64), type=2)
    low = np.round(spectrum[:_KEPT, :_KEPT], _DECIMALS)
    bits = np.packbits(low > np.median(low))
    return int.from_bytes(bits.tobytes(), "big")


COLOURS = (
    "black", "white", "gray", "brown", "pink", "red", "orange", "yellow", "green", "teal", "blue",
    "purple",
)  # fmt: skip
_BITS = 6  # of each channel
_MOST = 128  # pixels per side that are looked at


def classify_colours(rgb: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Return the position in `COLOURS` of each RGB colour in [0, 1].

    The first rule that hue (in degrees), saturation and value meet decides.
    """
    from matplotlib.colors import rgb_to_hsv

    hue, s, v = np.moveaxis(rgb_to_hsv(rgb), -1, 0)
    h = 360 * hue
    reddish = (h >= 290) | (h < 10)
    rules = {
        "black": v < 0.2,
        "white": (s < 0.12) & (v > 0.85),
        "gray": (s < 0.12) | ((s < 0.2) & (v < 0.4)),
        "brown": ((h >= 10) & (h < 45) & (v < 0.65))
        | (((h < 20) | (h >= 345)) & (s < 0.6) & (v < 0.5)),
        "pink": (reddish & (s < 0.6) & (v > 0.6)) | ((h >= 290) & (h < 345)),
        "red": (h < 15) | (h >= 345),
        "orange": h < 42,
        "yellow": h < 68,
        "green": h < 160,
        "teal": h < 195,
        "blue": h < 255,
        "purple": h < 290,
    }
    numbers = [COLOURS.index(name) for name in rules]
    return np.select(list(rules.values()), numbers).astype(np.uint8)


@cache
def _colour_table() -> npt.NDArray[np.uint8]:
    """Classify the colours of a grid with `_BITS` bits per channel, as a lookup table."""
    levels = np.arange(1 << _BITS)
    cells = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    return classify_colours(cells / levels[-1])


def dominant_colour(image: Image.Image) -> str:
    """Return the most frequent of the twelve `COLOURS` among the pixels of an image."""
    step = -(-max(image.size) // _MOST)
    pixels = np.asarray(image)[::step, ::step] >> (8 - _BITS)
    red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
    cells = (red << (2 * _BITS)) | (green << _BITS) | blue
    counts = np.bincount(_colour_table()[cells].ravel(), minlength=len(COLOURS))
    return COLOURS[int(counts.argmax())]


def read_set(source: SourceSet, settings: DecodingSettings, n_workers: int) -> pa.Table:
    """Decode the images of a set; return a row per image: hashes, size, colour or problem."""
    rows = parallel_map(partial(read_image, source.name, settings), source.files(), n_workers)
    return READ_SCHEMA.from_frame(pd.DataFrame(list(rows), columns=READ_SCHEMA.names, dtype=object))


def read_image(set_name: str, settings: DecodingSettings, image: ImageFile) -> dict[str, Any]:
    """Decode one image; return its row of `READ_SCHEMA`: hashes, size, colour or problem."""
    row: dict[str, Any] = dict.fromkeys(READ_SCHEMA.names) | asdict(image.metadata)
    row |= {"place": image.place, "class_given": image.class_name}
    row |= {"animated": False, "misnamed": False}
    content = b""
    try:
        content = read_bounded(image.file, settings)
        decoded, flags = decode_collected(content, image.file.suffix, settings)
    except RefusedImageError as error:
        row |= {"problem": error.problem, "detail": str(error)}
        row["image_id"] = image_id(set_name, image.place, hashlib.sha256(content).hexdigest())
        return row
    digest = pixel_digest(decoded)
    return row | flags | {
        "image_id": image_id(set_name, image.place, digest), "sha256": digest,
        "phash": perceptual_hash(decoded), "width": decoded.width, "height": decoded.height,
        "colour_measured": dominant_colour(decoded),
    }  # fmt: skip


def image_id(set_name: str, place: str, digest: str) -> str:
    """Return the name of an image: its set, and a digest of its pixels and its place there."""
    text = f"{digest} {Path(place).as_posix()}"
    return f"{set_name}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def read_reference(
    name: str, block: Mapping[str, Any], downloads: Path, n_workers: int
) -> pa.Table:
    """Hash the images of a base or training set, all of which must be readable."""
    settings = reference_settings(name, block)
    options = settings.options
    start, stop = options.get("rows", (0, None))
    with Sources(downloads, downloads.parent / "datasets", read_dataset) as sources:
        images = _reference_images(build_dataset(name, settings.kind, options, sources))
        rows = list(parallel_map(_hash_image, islice(images, start, stop), n_workers))
    unreadable = [title for title, _, digest, _ in rows if digest is None]
    if unreadable:
        first = f"the first is {unreadable[0]}"
        raise InputError(f"{len(unreadable)} images cannot be decoded, {first}", file=name)
    table = pd.DataFrame(rows, columns=REFERENCE_SCHEMA.names, dtype=object)
    return REFERENCE_SCHEMA.from_frame(table)


def _reference_images(built: Dataset | ImageStream) -> Iterable[tuple[Any, str, str]]:
    """Iterate over images: encoded bytes or (pixels, maximum), with name and class."""
    if isinstance(built, ImageStream):
        return ((file.encoded, file.name, built.classes[file.label]) for file in built.files)
    pixels = ((built.pixels[i], built.max_value) for i in range(len(built)))
    return zip(pixels, built.names, (built.classes[label] for label in built.labels), strict=True)


def _hash_image(image_name_class: tuple[Any, str, str]) -> tuple[str, str, str | None, int | None]:
    """Return an image's name, class, pixel digest and perceptual hash, None if it is unreadable."""
    image, name, class_name = image_name_class
    try:
        is_file = isinstance(image, bytes)
        rgb = decoding.decode_rgb(image) if is_file else decoding.array_image(*image)
    except decoding.UnreadableImageError:
        return name, class_name, None, None
    return name, class_name, pixel_digest(rgb), perceptual_hash(rgb)


def parallel_map(function: Callable[[A], B], items: Iterable[A], n_workers: int) -> Iterator[B]:
    """Map a function over items in order and bounded memory; long inputs use processes."""
    iterator = iter(items)
    yield from map(function, islice(iterator, None if n_workers == 1 else _ALONE))
    batches = iter(lambda: tuple(islice(iterator, _BATCH)), ())
    if first := next(batches, ()):
        # Not forked: threads of libraries such as pyarrow do not survive that.
        pool = partial(ProcessPoolExecutor, mp_context=multiprocessing.get_context("spawn"))
        apply = partial(_map_batch, function)
        yield from chain.from_iterable(
            map_in_order(apply, chain([first], batches), n_workers, pool)
        )


def _map_batch(function: Callable[[Any], B], batch: tuple[Any, ...]) -> list[B]:
    return [function(item) for item in batch]


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
