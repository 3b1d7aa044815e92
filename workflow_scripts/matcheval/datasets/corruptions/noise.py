"""Noise: Gaussian, shot, impulse and speckle noise.

Source: ImageNet-C (Hendrycks & Dietterich 2019). The noise of a value depends on this value only,
so that it has one of 256 distributions on 256 grey levels. Levels are drawn by inverting these
distributions, which is exact to 2⁻³² and several times faster than drawing normal and Poisson
numbers.
"""

from collections.abc import Callable
from functools import lru_cache, wraps

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, pdtr

from matcheval.datasets.corruptions.operations import Bytes, Generators, corruption
from matcheval.jit import compiled

Probabilities = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint32]
Noise = Callable[[float], Probabilities]

_WORD = 1 << 32  # number of values of a random word
_BEFORE = np.arange(256.0)[:, None]  # grey levels of the image, a row each
_AFTER = np.arange(255.0)  # largest grey level of the noisy image, a column each


@lru_cache(maxsize=32)
def _tables(noise: Noise, parameter: float) -> tuple[Words, npt.NDArray[np.uint8]]:
    """Return the largest word for a level up to k, by image's level and k; and where to search."""
    probabilities = np.pad(noise(parameter), ((0, 0), (0, 1)), constant_values=1)
    bounds = (np.ceil(probabilities * _WORD) - 1).clip(0).astype(np.uint32)
    starts = np.arange(256, dtype=np.uint32) << 24
    first = np.stack([np.searchsorted(bound, starts) for bound in bounds])
    return bounds, first.astype(np.uint8)


@compiled()
def _invert(
    images: Bytes, words: Words, bounds: Words, first: npt.NDArray[np.uint8], corrupted: Bytes
) -> None:
    for i in range(len(images)):
        word, bound = words[i], bounds[images[i]]
        level = int(first[images[i], word >> 24])
        level += word > bound[level]  # mostly enough, and quicker than a loop
        while word > bound[level]:
            level += 1
        corrupted[i] = level


def _noise(small: tuple[float, ...], large: tuple[float, ...]) -> Callable[[Noise], Noise]:
    """Register a noise as a corruption, by the probabilities that a function of it returns."""

    def register(noise: Noise) -> Noise:
        @corruption(small, large, on_bytes=True)
        @wraps(noise)
        def _(images: Bytes, generators: Generators, parameter: float) -> Bytes:
            corrupted, tables = np.empty(images.shape, np.uint8), _tables(noise, parameter)
            for image, result, generator in zip(images, corrupted, generators, strict=True):
                words = generator.bit_generator.random_raw(-(-image.size // 2))
                words = words.astype("<u8").view("<u4")
                _invert(image.ravel(), words, *tables, result.ravel())
            return corrupted

        return noise

    return register


@_noise((0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38))
def gaussian_noise(sigma: float) -> Probabilities:
    """Return the probabilities of normal noise of a standard deviation."""
    return ndtr((_AFTER + 1 - _BEFORE) / (255 * sigma))


@_noise((0.06, 0.10, 0.12, 0.16, 0.20), (0.15, 0.20, 0.35, 0.45, 0.60))
def speckle_noise(sigma: float) -> Probabilities:
    """Return the probabilities of normal noise with a standard deviation of sigma · value."""
    with np.errstate(divide="ignore"):
        return ndtr((_AFTER + 1 - _BEFORE) / (sigma * _BEFORE))


@_noise((0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27))
def impulse_noise(amount: float) -> Probabilities:
    """Return the probabilities of black or white, half each, at a share of the values."""
    return np.where(_AFTER < _BEFORE, amount / 2, 1 - amount / 2)


@_noise((500, 250, 100, 75, 50), (60, 25, 12, 5, 3))
def shot_noise(scale: float) -> Probabilities:
    """Return the probabilities of k / scale, where k is Poisson with mean value · scale."""
    largest = np.ceil((_AFTER + 1) / 255 * scale) - 1  # the largest count below the next level
    return pdtr(largest, _BEFORE / 255 * scale)
