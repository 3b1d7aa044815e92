"""Noise (Gaussian, shot, impulse and speckle) and blur (Gaussian, glass, defocus, motion and zoom).

Source: ImageNet-C (Hendrycks & Dietterich 2019); motion as in `imagecorruptions`. The noise of a
value depends on this value only, so that it has one of 256 distributions on 256 grey levels. Levels
are drawn by inverting these distributions, which is exact to 2⁻³² and several times faster than
drawing normal and Poisson numbers.
"""

from collections.abc import Callable
from functools import lru_cache, wraps

import numpy as np
import numpy.typing as npt
from scipy.ndimage import correlate1d
from scipy.special import ndtr, pdtr

from matcheval.datasets.corruptions import operations
from matcheval.datasets.corruptions.operations import Bytes, Generators, Images, corruption
from matcheval.jit import compiled

Probabilities = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint32]
Noise = Callable[[float], Probabilities]

_WORD = 1 << 32  # number of values of a random word
_BEFORE = np.arange(256.0)[:, None]  # grey levels of the image, a row each
_AFTER = np.arange(255.0)  # largest grey level of the noisy image, a column each


@lru_cache(maxsize=32)
def _level_tables(noise: Noise, parameter: float) -> tuple[Words, npt.NDArray[np.uint8]]:
    """Return the largest random word of each noisy level, and a level to try first, by grey level.

    Both have a row per grey level of the image. A column of the first is a noisy level; one of the
    second is the leading byte of a word.
    """
    probabilities = np.pad(noise(parameter), ((0, 0), (0, 1)), constant_values=1)
    bounds = (np.ceil(probabilities * _WORD) - 1).clip(0).astype(np.uint32)
    starts = np.arange(256, dtype=np.uint32) << 24
    first = np.stack([np.searchsorted(bound, starts) for bound in bounds])
    return bounds, first.astype(np.uint8)


@compiled()
def _draw_levels(
    images: Bytes, words: Words, bounds: Words, first: npt.NDArray[np.uint8], corrupted: Bytes
) -> None:
    """Write the noisy level of each grey level, chosen by its random word, to `corrupted`."""
    for i in range(len(images)):
        word, bound = words[i], bounds[images[i]]
        level = int(first[images[i], word >> 24])
        level += word > bound[level]  # mostly enough, and quicker than a loop
        while word > bound[level]:
            level += 1
        corrupted[i] = level


def _as_corruption(small: tuple[float, ...], large: tuple[float, ...]) -> Callable[[Noise], Noise]:
    """Return a decorator that registers noise, given by its probabilities, as a corruption."""

    def register(noise: Noise) -> Noise:
        @corruption(small, large, on_bytes=True)
        @wraps(noise)
        def _(images: Bytes, generators: Generators, parameter: float) -> Bytes:
            corrupted, tables = np.empty(images.shape, np.uint8), _level_tables(noise, parameter)
            for image, result, generator in zip(images, corrupted, generators, strict=True):
                words = generator.bit_generator.random_raw(-(-image.size // 2))
                words = words.astype("<u8").view("<u4")
                _draw_levels(image.ravel(), words, *tables, result.ravel())
            return corrupted

        return noise

    return register


@_as_corruption((0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38))
def gaussian_noise(sigma: float) -> Probabilities:
    """Return P(noisy level ≤ k) by grey level and k, for normal noise of deviation sigma."""
    return ndtr((_AFTER + 1 - _BEFORE) / (255 * sigma))


@_as_corruption((0.06, 0.10, 0.12, 0.16, 0.20), (0.15, 0.20, 0.35, 0.45, 0.60))
def speckle_noise(sigma: float) -> Probabilities:
    """Return P(noisy level ≤ k) by grey level and k, for noise of deviation sigma · value."""
    with np.errstate(divide="ignore"):
        return ndtr((_AFTER + 1 - _BEFORE) / (sigma * _BEFORE))


@_as_corruption((0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27))
def impulse_noise(amount: float) -> Probabilities:
    """Return P(noisy level ≤ k) by grey level and k, if a share turns black or white, half each."""
    return np.where(_AFTER < _BEFORE, amount / 2, 1 - amount / 2)


@_as_corruption((500, 250, 100, 75, 50), (60, 25, 12, 5, 3))
def shot_noise(scale: float) -> Probabilities:
    """Return P(noisy level ≤ k) by grey level and k, for Poisson counts of mean value · scale."""
    largest = np.ceil((_AFTER + 1) / 255 * scale) - 1  # the largest count below the next level
    return pdtr(largest, _BEFORE / 255 * scale)


# --- blur


@corruption((0.4, 0.6, 0.7, 0.8, 1), (1, 2, 3, 4, 6), random=False)
def gaussian_blur(images: Images, sigma: float) -> Images:
    """Blur images by a Gaussian of a standard deviation in pixels."""
    return operations.gaussian(images, sigma)


@corruption(
    ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
)
def glass_blur(
    images: Images, generators: Generators, sigma: float, distance: int, passes: int
) -> Images:
    """Blur images, replace each pixel by a random near one, in passes, and blur again."""
    shape = (passes, *images.shape[1:3], 2)
    offsets = np.stack([rng.integers(-distance, distance, shape, np.int8) for rng in generators])
    blurred = operations.to_bytes(operations.gaussian(images, sigma))
    _displace(blurred, offsets, distance)
    return operations.gaussian(blurred / images.dtype.type(255), sigma)


@compiled()
def _displace(images: Bytes, offsets: npt.NDArray[np.int8], distance: int) -> None:
    """Replace each pixel, in place, by the one at its random offset, in several passes."""
    n, height, width, channels = images.shape
    for i in range(n):
        for step in range(offsets.shape[1]):
            for y in range(height - distance, distance, -1):
                for x in range(width - distance, distance, -1):
                    row = y + offsets[i, step, y - 1, x - 1, 0]
                    column = x + offsets[i, step, y - 1, x - 1, 1]
                    for c in range(channels):
                        images[i, y, x, c] = images[i, row, column, c]


@corruption(
    ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    random=False,
)
def defocus_blur(images: Images, radius: float, edge: float) -> Images:
    """Blur images by a disk of a radius in pixels, whose edge is blurred by a Gaussian."""
    disk = _defocus_disk(radius, edge)
    used = np.argwhere(disk > 1e-9)
    return operations.weighted_shifts(images, used - len(disk) // 2, disk[tuple(used.T)], "reflect")


@lru_cache(maxsize=16)
def _defocus_disk(radius: float, edge: float) -> operations.Floats:
    """Return the kernel of `defocus_blur`: a disk in a square array, blurred by a Gaussian."""
    half, reach = (8, 1) if radius <= 8 else (int(radius), 2)
    steps = np.arange(-half, half + 1)
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).astype(np.float64)
    disk /= disk.sum()
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / edge) ** 2)
    for axis in (0, 1):
        disk = correlate1d(disk, weights / weights.sum(), axis=axis, mode="mirror")
    return disk


@corruption(
    ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
    ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
)
def motion_blur(images: Images, generators: Generators, radius: int, sigma: float) -> Images:
    """Blur each image along a random direction, up to 45 degrees from the horizontal."""
    angles = np.array([generator.uniform(-45, 45) for generator in generators])
    return operations.motion_streaks(images, radius, sigma, angles)


@corruption(
    ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
    ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    random=False,
)
def zoom_blur(images: Images, end: float, step: float) -> Images:
    """Average each image and enlargements of its centre, by factors from 1 up to `end`."""
    factors = np.arange(1, end, step)
    zoomed = operations.summed_zooms(images, factors)
    return (images + zoomed) / images.dtype.type(len(factors) + 1)
