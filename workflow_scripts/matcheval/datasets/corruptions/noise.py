"""Noise: Gaussian, shot, impulse and speckle noise.

Source: ImageNet-C (Hendrycks & Dietterich 2019).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import pdtr

from matcheval.datasets.corruptions.corruption import (
    Bytes,
    Corruption,
    Generators,
    Images,
    by_size,
)
from matcheval.jit import compiled

_WORD = 1 << 32  # number of values of a random word


def normals(generators: Generators, *shape: int) -> npt.NDArray[np.float32]:
    """Draw standard normal numbers for each image.

    Parameters
    ----------
    generators : list of Generator
    *shape : int
        Of the numbers of one image.

    Returns
    -------
    float32 array, shape (n, *shape)
        24 random bits suffice, as grey levels have 8.
    """
    drawn = np.empty((len(generators), *shape), np.float32)
    for generator, numbers in zip(generators, drawn, strict=True):
        generator.standard_normal(dtype=np.float32, out=numbers)
    return drawn


def _words(generators: Generators, *shape: int) -> npt.NDArray[np.uint32]:
    """Draw 32 random bits for each value of each image."""
    drawn = [generator.integers(_WORD, size=shape, dtype=np.uint32) for generator in generators]
    return np.stack(drawn)


def gaussian_noise(images: Images, sigma: float, generators: Generators) -> Images:
    """Add normal noise of a standard deviation to each value."""
    noise = normals(generators, *images.shape[1:])
    noise *= np.float32(sigma)
    return images + noise


def speckle_noise(images: Images, sigma: float, generators: Generators) -> Images:
    """Add normal noise whose standard deviation is proportional to the value."""
    noise = normals(generators, *images.shape[1:])
    noise *= np.float32(sigma)
    noise += 1
    return images * noise


def impulse_noise(images: Bytes, amount: float, generators: Generators) -> Bytes:
    """Set a share of the values to black or white, with equal probabilities."""
    words = _words(generators, *images.shape[1:])
    corrupted = images.copy()
    corrupted[words < np.uint32(amount * _WORD)] = 0
    corrupted[words < np.uint32(amount / 2 * _WORD)] = 255
    return corrupted


def shot_noise(images: Bytes, scale: float, generators: Generators) -> Bytes:
    """Replace values x in [0, 1] by k / scale, where k is Poisson with mean x · scale.

    Drawn by inversion of the 256 distribution functions that bytes can have, exact to 2⁻³², which
    is many times faster than a general Poisson generator. Counts above `scale` are white.
    """
    bounds, first = _poisson_tables(scale)
    counts = np.arange(bounds.shape[1] + 1)
    levels = (np.clip(counts / scale, 0, 1) * 255).astype(np.uint8)
    corrupted = np.empty(images.shape, np.uint8)
    words = _words(generators, *images.shape[1:])
    _invert(images.ravel(), words.ravel(), bounds, first, levels, corrupted.ravel())
    return corrupted


@lru_cache(maxsize=16)
def _poisson_tables(scale: float) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]:
    """Return the largest word that gives at most k, by level and k; the least k, by first byte."""
    means = np.arange(256) / 255 * scale
    counts = np.arange(int(np.ceil(scale)))
    bounds = (np.ceil(pdtr(counts, means[:, None]) * _WORD) - 1).astype(np.uint32)
    starts = np.arange(256, dtype=np.uint32) << 24
    first = np.stack([np.searchsorted(bound, starts, side="left") for bound in bounds])
    return bounds, first.astype(np.uint16)


@compiled()
def _invert(
    images: Bytes,
    words: npt.NDArray[np.uint32],
    bounds: npt.NDArray[np.uint32],
    first: npt.NDArray[np.uint16],
    levels: Bytes,
    corrupted: Bytes,
) -> None:
    last = bounds.shape[1]
    for i in range(len(images)):
        word = words[i]
        count = int(first[images[i], word >> 24])
        while count < last and word > bounds[images[i], count]:
            count += 1
        corrupted[i] = levels[count]


CORRUPTIONS = (
    Corruption(
        "gaussian_noise", "noise",
        by_size((0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38)), gaussian_noise,
    ),
    Corruption(
        "shot_noise", "noise", by_size((500, 250, 100, 75, 50), (60, 25, 12, 5, 3)), shot_noise,
        on_bytes=True,
    ),
    Corruption(
        "impulse_noise", "noise",
        by_size((0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27)), impulse_noise,
        on_bytes=True,
    ),
    Corruption(
        "speckle_noise", "noise",
        by_size((0.06, 0.10, 0.12, 0.16, 0.20), (0.15, 0.20, 0.35, 0.45, 0.60)), speckle_noise,
    ),
)  # fmt: skip
