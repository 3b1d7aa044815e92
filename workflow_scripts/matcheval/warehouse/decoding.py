"""Decoding of images that were collected by people, from anywhere, within bounds.

Unlike `datasets.decoding`, which reads published sets as published models did, this applies EXIF
orientations and shows transparent images over white, as a person saw them when they were collected.
"""

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageFilter, ImageOps

from matcheval.datasets.decoding import FORMATS, Resize
from matcheval.warehouse.boxes import Box
from matcheval.warehouse.settings import DecodingSettings

# Suffixes that files of a format may have; a file with another one is wrongly named.
_SUFFIXES = {
    "JPEG": {".jpg", ".jpeg", ".jpe", ".jfif"},
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
            animated = getattr(image, "n_frames", 1) > 1 and image.format != "TIFF"
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
    return Resize(side).apply(image)
