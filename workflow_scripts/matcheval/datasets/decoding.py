"""Encoded images to pixels, in one place: every image becomes RGB as the common loaders make it.

`Image.open(...).convert("RGB")` is what torchvision's `ImageFolder` and timm's `ImageDataset` do:
grey values are repeated, palettes looked up, alpha dropped, CMYK converted by Pillow's formula, and
an EXIF rotation is not applied. Models were evaluated on images read like this.
"""

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from matcheval.errors import InputError

# Nothing else is opened: Pillow's rarer formats run less tested code, and EPS another program.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "PPM", "TIFF")
_LOSSLESS = ("PNG", "BMP", "GIF", "PPM")


class UnreadableImageError(Exception):
    """Bytes that are no image, or not all of one."""


@dataclass(frozen=True)
class ImageFacts:
    """What an encoded image is: its size in pixels, and whether its encoding lost nothing."""

    height: int
    width: int
    lossless: bool


def decode_rgb(encoded: bytes | memoryview) -> Image.Image:
    """Decode an image file.

    Parameters
    ----------
    encoded : bytes-like
        A whole image file of one of `FORMATS`.

    Returns
    -------
    PIL.Image.Image
        Mode RGB.

    Raises
    ------
    UnreadableImageError
        If it is none, or truncated.
    """
    try:
        return Image.open(io.BytesIO(encoded), formats=FORMATS).convert("RGB")
    # Decoders of damaged bytes raise whatever they stumble over (struct.error, SyntaxError, ...);
    # the bytes are at fault, and callers name them.
    except Exception as error:
        raise UnreadableImageError(str(error) or type(error).__name__) from error


def inspect_image(encoded: bytes | memoryview) -> ImageFacts:
    """Make sure that an image can be decoded to its end, and say what it is.

    A JPEG is decoded at an eighth of its size, which reads all of its data in half the time.

    Raises
    ------
    UnreadableImageError
        As `decode_rgb`.
    """
    try:
        image = Image.open(io.BytesIO(encoded), formats=FORMATS)
        width, height = image.size
        image.draft(None, (max(1, width // 8), max(1, height // 8)))
        image.load()
    except Exception as error:  # as above
        raise UnreadableImageError(str(error) or type(error).__name__) from error
    return ImageFacts(height, width, _is_lossless(image.format, encoded))


def array_image(pixels: npt.NDArray[np.uint8], max_value: int) -> Image.Image:
    """Make an RGB image of an array.

    Parameters
    ----------
    pixels : uint8 array, shape (height, width, 1 or 3)
        Values in 0..max_value, which are stretched to 0..255.
    max_value : int
        The pixel value that means 1.0.

    Raises
    ------
    InputError
        If there are neither 1 nor 3 channels.
    """
    channels = pixels.shape[2]
    if channels not in (1, 3):
        raise InputError(f"an image of {channels} channels has no colours", field="images")
    if max_value != 255:
        pixels = np.rint(pixels * (255 / max_value)).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3))))


def _is_lossless(name: str | None, encoded: bytes | memoryview) -> bool:
    return name in _LOSSLESS or (name == "WEBP" and _is_lossless_webp(bytes(encoded)))


def _is_lossless_webp(encoded: bytes) -> bool:
    """Whether a WebP file's image data is a `VP8L` chunk, directly or in the extended format."""
    at = 12  # behind "RIFF", the size and "WEBP"
    while at + 8 <= len(encoded):
        kind = encoded[at : at + 4]
        if kind in (b"VP8L", b"VP8 "):
            return kind == b"VP8L"
        size = int.from_bytes(encoded[at + 4 : at + 8], "little")
        at += 8 + size + size % 2
    return False
