"""Blur: Gaussian, glass, defocus, motion and zoom blur.

Source: ImageNet-C (Hendrycks & Dietterich 2019); motion as in `imagecorruptions`.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.ndimage import correlate1d

from matcheval.datasets.corruptions import operations
from matcheval.datasets.corruptions.operations import Bytes, Generators, Images, corruption
from matcheval.jit import compiled


@corruption((0.4, 0.6, 0.7, 0.8, 1), (1, 2, 3, 4, 6), random=False)
def gaussian_blur(images: Images, sigma: float) -> Images:
    """Blur by a Gaussian of a standard deviation in pixels."""
    return operations.gaussian(images, sigma)


@corruption(
    ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
)
def glass_blur(
    images: Images, generators: Generators, sigma: float, distance: int, passes: int
) -> Images:
    """Blur, replace pixels by near ones, and blur again."""
    shape = (passes, *images.shape[1:3], 2)
    offsets = np.stack([rng.integers(-distance, distance, shape, np.int8) for rng in generators])
    blurred = operations.to_bytes(operations.gaussian(images, sigma))
    _displace(blurred, offsets, distance)
    return operations.gaussian(blurred / images.dtype.type(255), sigma)


@compiled()
def _displace(images: Bytes, offsets: npt.NDArray[np.int8], distance: int) -> None:
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
    """Correlate with a disk: its radius and the blur of its edge in pixels."""
    disk = _defocus_disk(radius, edge)
    used = np.argwhere(disk > 1e-9)
    return operations.weighted_shifts(images, used - len(disk) // 2, disk[tuple(used.T)], "reflect")


@lru_cache(maxsize=16)
def _defocus_disk(radius: float, edge: float) -> operations.Floats:
    """Return the kernel of defocus blur."""
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
    """Blur along a random direction, up to 45 degrees from the horizontal one."""
    angles = np.array([generator.uniform(-45, 45) for generator in generators])
    return operations.streaks(images, radius, sigma, angles)


@corruption(
    ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
    ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    random=False,
)
def zoom_blur(images: Images, end: float, step: float) -> Images:
    """Average an image and its centre enlarged by factors from 1 up to an end, in steps."""
    factors = np.arange(1, end, step)
    zoomed = operations.centre_zooms(images, factors)
    return (images + zoomed) / images.dtype.type(len(factors) + 1)
