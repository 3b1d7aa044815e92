"""Decoding of image files to RGB, in the same way as by the common loaders.

torchvision's `ImageFolder` and timm's `ImageDataset` call `Image.open(...).convert("RGB")`: grey
values are repeated, palettes are looked up, alpha channels are dropped, CMYK is converted by
Pillow's formula, and EXIF rotations are not applied. Published models were evaluated on images read
in this way.
"""

import io
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from matcheval.errors import InputError

# No other formats are read: Pillow's rarer decoders are less tested, and EPS runs another program.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "PPM", "TIFF")
_LOSSLESS = ("PNG", "BMP", "GIF", "PPM")


class UnreadableImageError(Exception):
    """Raised for bytes that are not an image file, or are an incomplete one."""


class ImageFacts(NamedTuple):
    """Height and width of an image file, and whether its format is lossless."""

    height: int
    width: int
    lossless: bool


def decode_rgb(encoded: bytes | memoryview) -> Image.Image:
    """Decode the bytes of an image file to RGB."""
    try:
        return Image.open(io.BytesIO(encoded), formats=FORMATS).convert("RGB")
    # For damaged bytes, decoders raise many types of exceptions (struct.error, SyntaxError, ...).
    except Exception as error:
        raise UnreadableImageError(describe_error(error)) from error


def resize_to_square(image: Image.Image, side: int) -> Image.Image:
    """Resize an image to a square, whatever its aspect ratio: bicubic, antialiased."""
    return image.resize((side, side), Image.Resampling.BICUBIC)


def describe_error(error: Exception) -> str:
    """Describe in words why an image could not be decoded, given Pillow's exception."""
    # Its own text names the object in memory that the image was read from.
    if isinstance(error, UnidentifiedImageError):
        return (
            f"it is not a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} file, or its start is damaged"
        )
    return str(error) or type(error).__name__


def inspect_image(encoded: bytes | memoryview) -> ImageFacts:
    """Check that an image file can be decoded completely, and determine its properties."""
    try:
        image = Image.open(io.BytesIO(encoded), formats=FORMATS)
        width, height = image.size
        image.draft(None, (max(1, width // 8), max(1, height // 8)))
        image.load()
    except Exception as error:  # as in `decode_rgb`
        raise UnreadableImageError(describe_error(error)) from error
    lossless = image.format in _LOSSLESS
    lossless |= image.format == "WEBP" and _is_lossless_webp(bytes(encoded))
    return ImageFacts(height, width, lossless)


def array_image(pixels: npt.NDArray[np.uint8], max_value: int) -> Image.Image:
    """Convert the pixels of one image, as `rgb_pixels` takes them, to an RGB image of Pillow."""
    return Image.fromarray(np.ascontiguousarray(rgb_pixels(pixels, max_value)))


def rgb_pixels(pixels: npt.NDArray[Any], max_value: int) -> npt.NDArray[np.uint8]:
    """Convert pixels of 1 or 3 channels, up to `max_value`, to RGB values in 0..255."""
    channels = pixels.shape[-1]
    if channels not in (1, 3):
        raise InputError(f"an image has {channels} channels, neither 1 nor 3", field="images")
    if max_value != 255:
        pixels = np.rint(pixels * (255 / max_value)).astype(np.uint8)
    return np.broadcast_to(pixels, (*pixels.shape[:-1], 3))


def _is_lossless_webp(encoded: bytes) -> bool:
    """Whether the image data of a WebP file are in a `VP8L` chunk, in either of its layouts."""
    at = 12  # after "RIFF", the size and "WEBP"
    while (kind := encoded[at : at + 4]) not in (b"VP8L", b"VP8 ", b""):
        size = int.from_bytes(encoded[at + 4 : at + 8], "little")
        at += 8 + size + size % 2
    return kind == b"VP8L"
