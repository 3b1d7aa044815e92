"""Random fields: normal numbers, and clouds by the diamond-square algorithm."""

import numpy as np
import numpy.typing as npt

from matcheval.datasets.corruptions.corruption import Generators

_WIBBLE = 100  # square root of the largest first change


def normals(generators: Generators, *shape: int) -> npt.NDArray[np.float32]:
    """Draw standard normal numbers for each image."""
    drawn = np.empty((len(generators), *shape), np.float32)
    for generator, numbers in zip(generators, drawn, strict=True):
        generator.standard_normal(dtype=np.float32, out=numbers)
    return drawn


def plasma(generators: Generators, side: int, decay: float) -> npt.NDArray[np.float32]:
    """Draw a plasma for each image."""
    side = 1 << (side - 1).bit_length()
    field = np.stack([one.random((side, side), np.float32) for one in generators])
    field = field * 2 - 1  # until its value is computed, a point has its random number
    field[:, 0, 0] = 0
    step, wibble = side, float(_WIBBLE)
    while step >= 2:
        half, size = step // 2, np.float32(wibble**2)
        corners = field[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        _set_middles(field[:, half::step, half::step], pairs + np.roll(pairs, -1, axis=2), size)
        centres = field[:, half::step, half::step]
        across = centres + np.roll(centres, 1, axis=1) + corners + np.roll(corners, -1, axis=2)
        down = centres + np.roll(centres, 1, axis=2) + corners + np.roll(corners, -1, axis=1)
        _set_middles(field[:, ::step, half::step], across, size)
        _set_middles(field[:, half::step, ::step], down, size)
        step, wibble = half, wibble / decay
    field -= field.min(axis=(1, 2), keepdims=True)
    field /= field.max(axis=(1, 2), keepdims=True)
    return field


def _set_middles(
    points: npt.NDArray[np.float32], sums: npt.NDArray[np.float32], size: np.float32
) -> None:
    """Turn random numbers from -1 to 1 into values, given the sums of four neighbours."""
    points *= size
    points += sums / 4
