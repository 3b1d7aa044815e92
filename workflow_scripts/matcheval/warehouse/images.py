"""Images that were collected by people, from anywhere: decoding within bounds, hashes, colours.

Unlike `datasets.decoding`, which reads published sets as published models did, this applies EXIF
orientations and shows transparent images over white, as a person saw them when they were collected.
"""

import hashlib
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageOps
from scipy.fft import dctn

from matcheval.datasets.decoding import FORMATS, squared
from matcheval.errors import InputError
from matcheval.warehouse.manifest import Box
from matcheval.warehouse.settings import DecodingSettings

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

_SOFTNESS = 3  # the standard deviation of the blur is the box's larger side over this

EMPTY, UNREADABLE, HUGE, SMALL = "empty", "unreadable", "huge", "too small"
PROBLEMS = (EMPTY, UNREADABLE, HUGE, SMALL)


class RefusedImageError(Exception):
    """A file is not taken."""

    def __init__(self, problem: str, detail: str = "") -> None:
        super().__init__(detail or problem)
        self.problem = problem


@dataclass(frozen=True)
class DecodedImage:
    """An image as a person sees it."""

    image: Image.Image
    animated: bool
    misnamed: bool


def read_bounded(path: Path, settings: DecodingSettings) -> bytes:
    """Read a file unless it is empty or too large."""
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


def decode_collected(content: bytes, suffix: str, settings: DecodingSettings) -> DecodedImage:
    """Decode an image file; its size is known before its pixels are."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # bounded below
            image = Image.open(io.BytesIO(content), formats=FORMATS)
            width, height = image.size
            if width * height > settings.max_pixels:
                raise RefusedImageError(HUGE, f"{width} × {height} pixels")
            animated = getattr(image, "n_frames", 1) > 1 and image.format not in ("TIFF", "MPO")
            misnamed = suffix.lower() not in _SUFFIXES[str(image.format)]
            shown = _over_white(ImageOps.exif_transpose(image))
    except RefusedImageError:
        raise
    except Image.DecompressionBombError as error:
        raise RefusedImageError(HUGE, str(error)) from error
    # For damaged bytes, decoders raise many types of exceptions (struct.error, SyntaxError, ...).
    except Exception as error:
        raise RefusedImageError(UNREADABLE, str(error) or type(error).__name__) from error
    if min(width, height) < settings.min_side:
        raise RefusedImageError(SMALL, f"{width} × {height} pixels")
    return DecodedImage(shown, animated, misnamed)


def decode_again(path: Path, settings: DecodingSettings) -> Image.Image:
    """Decode a file that was taken before."""
    try:
        return decode_collected(read_bounded(path, settings), path.suffix, settings).image
    except RefusedImageError as error:
        raise InputError(f"{error}, and was read before", file=path) from error


def _over_white(image: Image.Image) -> Image.Image:
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return image.convert("RGB")


def blur(image: Image.Image, boxes: Sequence[Box]) -> Image.Image:
    """Blur boxes; nothing of what is in a box reaches the rest of the image, nor the other way."""
    blurred = image.copy()
    for box in boxes:
        corners = (box.x0, box.y0, box.x1, box.y1)
        radius = max(box.x1 - box.x0, box.y1 - box.y0) / _SOFTNESS
        part = blurred.crop(corners).filter(ImageFilter.GaussianBlur(radius))
        blurred.paste(part, corners)
    return blurred


def fit_square(image: Image.Image, side: int, fit: str) -> Image.Image:
    """Bring an image to a square: bicubic, antialiased."""
    if fit == "crop":
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        image = image.crop((left, top, left + short, top + short))
    return squared(image, side)


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


# The names, with the colours of chips in figures.
CHIPS = {
    "black": "#000000", "white": "#ffffff", "gray": "#808080", "brown": "#7a4a21",
    "pink": "#ff8fb8", "red": "#d62728", "orange": "#ff9a1f", "yellow": "#f5dc2a",
    "green": "#2ca02c", "teal": "#19a7a0", "blue": "#2456c8", "purple": "#7b3fa8",
}  # fmt: skip
NAMES = tuple(CHIPS)
_BITS = 6  # of each channel
_MOST = 128  # pixels per side that are looked at


def names_of_colours(rgb: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Name colours, RGB in [0, 1]: by the first rule of hue (degrees), saturation and value."""
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
    return np.select(list(rules.values()), [NAMES.index(name) for name in rules]).astype(np.uint8)


@cache
def _table() -> npt.NDArray[np.uint8]:
    """Names of all colours of so many bits, at the centres of their cells."""
    levels = np.arange(1 << _BITS)
    cells = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    return names_of_colours(cells / levels[-1])


def dominant_colour(image: Image.Image) -> str:
    """Find the most frequent of the twelve names over the pixels of an image."""
    step = -(-max(image.size) // _MOST)
    pixels = np.asarray(image)[::step, ::step] >> (8 - _BITS)
    red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
    cells = (red << (2 * _BITS)) | (green << _BITS) | blue
    counts = np.bincount(_table()[cells].ravel(), minlength=len(NAMES))
    return NAMES[int(counts.argmax())]
