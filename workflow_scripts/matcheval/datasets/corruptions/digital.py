"""Digital changes: contrast, brightness, saturation, compression, pixels, elastic deformation.

Source: ImageNet-C (Hendrycks & Dietterich 2019).
"""

from functools import lru_cache
from io import BytesIO

import numpy as np
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from scipy.ndimage import gaussian_filter1d

from matcheval.datasets.corruptions import operations
from matcheval.datasets.corruptions.operations import Bytes, Generators, Images, corruption


@corruption((0.75, 0.5, 0.4, 0.3, 0.15), (0.4, 0.3, 0.2, 0.1, 0.05), random=False)
def contrast(images: Images, factor: float) -> Images:
    """Multiply each pixel's difference from the mean of its channel by a factor."""
    # Rows first: sums over whole rows are faster than over the pixels of one channel.
    means = images.mean(axis=1, dtype=np.float64).mean(axis=1)
    offsets = (means * (1 - factor)).astype(images.dtype)
    return images * images.dtype.type(factor) + offsets[:, None, None]


@corruption((0.05, 0.1, 0.15, 0.2, 0.3), (0.1, 0.2, 0.3, 0.4, 0.5), random=False)
def brightness(images: Images, added: float) -> Images:
    """Add to the value of each pixel in HSV (hue, saturation, value), up to 1."""
    value = np.maximum.reduce(np.split(images, 3, axis=-1))
    ratio = np.minimum(value + added, 1) / np.where(value > 0, value, 1)
    return np.where(value > 0, images * ratio, added)


@corruption(
    ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    random=False,
)
def saturate(images: Images, factor: float, added: float) -> Images:
    """Multiply the saturation of each pixel in HSV by a factor, and add to it."""
    channels = np.split(images, 3, axis=-1)
    value, least = np.maximum.reduce(channels), np.minimum.reduce(channels)
    span = value - least
    saturation = np.where(span > 0, span / np.where(value > 0, value, 1), 1)
    ratio = np.clip(saturation * factor + added, 0, 1) / saturation
    unsaturated = 1 - images.dtype.type(added)
    grey = value * np.array([1, unsaturated, unsaturated], images.dtype)
    return np.where(span > 0, value - (value - images) * ratio, grey)


@corruption((80, 65, 58, 50, 40), (25, 18, 15, 10, 7), on_bytes=True, random=False)
def jpeg_compression(images: Bytes, quality: int) -> Bytes:
    """Save images as JPEG of a quality, with chroma at half the resolution, and decode them."""
    corrupted = np.empty_like(images)
    for i, image in enumerate(images):
        file = BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality)
        file.seek(0)
        corrupted[i] = np.asarray(JpegImageFile(file))  # without Image.open's search for the format
    return corrupted


@corruption((0.95, 0.9, 0.85, 0.75, 0.65), (0.6, 0.5, 0.4, 0.3, 0.25), on_bytes=True, random=False)
def pixelate(images: Bytes, scale: float) -> Bytes:
    """Shrink images to a share of their size by averaging, and enlarge them by repeating pixels."""
    _, height, width, _ = images.shape
    small = shrunk_side(width, scale), shrunk_side(height, scale)
    tiny = 1e-6
    places = (small[0] / width, 0, tiny, 0, small[1] / height, tiny)
    corrupted = np.empty_like(images)
    for i, image in enumerate(images):
        blocks = Image.fromarray(image).resize(small, Image.Resampling.BOX)
        large = blocks.transform((width, height), Image.Transform.AFFINE, places)
        corrupted[i] = np.asarray(large)
    return corrupted


def shrunk_side(side: int, scale: float) -> int:
    """Return the side, in pixels, of an image that `pixelate` has shrunk: at least 1."""
    return max(1, int(side * scale))


def _scaled(side: int, *severities: tuple[float, float, float]) -> tuple[tuple[float, ...], ...]:
    """Convert the parameters of severities from fractions of a side to pixels."""
    return tuple(tuple(side * fraction for fraction in fractions) for fractions in severities)


@corruption(
    _scaled(
        32, (0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05),
        (0.1, 0.03, 0.03),
    ),
    _scaled(  # 244, not 224, in the authors' program
        244, (2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02),
        (0.12, 0.01, 0.02),
    ),
)  # fmt: skip
def elastic_transform(
    images: Images, generators: Generators, size: float, sigma: float, largest_shift: float
) -> Images:
    """Distort each image by a random affine map, then by a smooth random field of shifts."""
    _, height, width, _ = images.shape
    maps = np.stack([_random_affine(height, width, largest_shift, rng) for rng in generators])
    y, x = np.arange(height, dtype=np.float64)[:, None], np.arange(width, dtype=np.float64)
    by_y, by_x, constant = np.moveaxis(maps, -1, 0)[..., None, None]
    moved = operations.sample(images, by_y * y + by_x * x + constant, "reflect")
    if not size:
        return moved
    down, across = _smoothing_matrix(height, sigma), _smoothing_matrix(width, sigma).T
    fields = np.stack([generator.uniform(-1, 1, (2, height, width)) for generator in generators])
    shifts = down @ fields @ across
    shifts *= size
    shifts[:, 0] += y
    shifts[:, 1] += x
    return operations.sample(moved, shifts, "symmetric")


def _random_affine(
    height: int, width: int, largest_shift: float, generator: np.random.Generator
) -> operations.Floats:
    """Draw an affine map, shape (2, 3), from positions (y, x, 1) after it to those before it."""
    third = min(height, width) // 3
    centre = np.array([height // 2, width // 2])
    points = centre + third * np.array([[1, 1], [-1, 1], [-1, -1]])
    moved = points + generator.uniform(-largest_shift, largest_shift, (3, 2))
    return np.linalg.solve(np.c_[moved, np.ones(3)], points).T


@lru_cache(maxsize=16)
def _smoothing_matrix(side: int, sigma: float) -> operations.Floats:
    """Return the matrix, shape (side, side), that smooths an axis by a Gaussian filter."""
    return gaussian_filter1d(np.eye(side), sigma, axis=0, mode="reflect", truncate=3)
