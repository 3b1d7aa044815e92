"""Drops of water for the corruption `spatter`: edges, distances to them, and relief.

Source: ImageNet-C (Hendrycks & Dietterich 2019), whose program uses OpenCV's functions; distances
are exact here.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.ndimage import label

from matcheval.datasets.corruptions.corruption import Bytes
from matcheval.jit import compiled

_LOW, _HIGH = 50, 150  # thresholds of an edge's gradient
_FAR = 20  # pixels: larger distances count as this one
_TAN_22, _TAN_67 = np.tan(np.deg2rad([22.5, 67.5]))
_BOX = np.ones((3, 3), np.int32)
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.int32)

_Number = TypeVar("_Number", np.int64, np.float32)


def drops(liquid: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Turn a layer of liquid into the light that it adds to an image.

    Parameters
    ----------
    liquid : float32 array, shape (height, width)
        Thickness in [0, 1]; 0 where there is none.

    Returns
    -------
    float32 array, shape (height, width)
        With maximum 1, or 0 everywhere.
    """
    levels = (np.clip(liquid, 0, 1) * 255).astype(np.uint8)
    far = np.empty(liquid.shape, np.float32)
    _distances(edges(levels), far)
    raised = equalised((correlated(far, _BOX) / np.float32(9)).astype(np.uint8))
    shaded = np.clip(correlated(raised.astype(np.int64), _RELIEF), 0, 255)
    light = np.rint(correlated(shaded, _BOX) / np.float32(9)).astype(np.float32)
    light *= levels
    light /= max(1, light.max())
    return light


def correlated(values: npt.NDArray[_Number], kernel: npt.NDArray[np.int32]) -> npt.NDArray[_Number]:
    """Correlate an array with a kernel of three by three, mirroring it at the border's pixels.

    Parameters
    ----------
    values : array, shape (height, width)
    kernel : int32 array, shape (3, 3)

    Returns
    -------
    array, shape (height, width)
    """
    padded = np.pad(values, 1, "reflect")
    height, width = values.shape
    result = np.zeros_like(values)
    for (y, x), weight in np.ndenumerate(kernel):
        if weight:
            result += values.dtype.type(weight) * padded[y : y + height, x : x + width]
    return result


def edges(levels: Bytes) -> npt.NDArray[np.bool_]:
    """Find edges by Canny's method, with gradients of three by three pixels (Sobel).

    Parameters
    ----------
    levels : uint8 array, shape (height, width)

    Returns
    -------
    bool array, shape (height, width)
        Where the gradient (the sum of its two components' sizes) is a maximum along its direction
        and above 50, and connected with such a place where it is above 150.
    """
    padded = np.pad(levels.astype(np.int32), 1, "edge")
    rows = padded[:-2] + 2 * padded[1:-1] + padded[2:]
    columns = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    dx, dy = rows[:, 2:] - rows[:, :-2], columns[2:] - columns[:-2]
    size = np.abs(dx) + np.abs(dy)
    around = np.pad(size, 1)

    def at(row: int, column: int) -> npt.NDArray[np.int32]:
        """Return the neighbours' gradients."""
        height, width = size.shape
        return around[1 + row : 1 + row + height, 1 + column : 1 + column + width]

    flat = np.abs(dy) < _TAN_22 * np.abs(dx)
    steep = np.abs(dy) > _TAN_67 * np.abs(dx)
    rising = (dx < 0) != (dy < 0)
    largest = np.select(
        [flat, steep, rising],
        [
            (size > at(0, -1)) & (size >= at(0, 1)),
            (size > at(-1, 0)) & (size >= at(1, 0)),
            (size > at(-1, 1)) & (size > at(1, -1)),
        ],
        (size > at(-1, -1)) & (size > at(1, 1)),
    )
    candidates = largest & (size > _LOW)
    parts, n_parts = label(candidates, _BOX)
    kept = np.zeros(n_parts + 1, bool)
    kept[parts[candidates & (size > _HIGH)]] = True
    return kept[parts]


@compiled()
def _distances(found: npt.NDArray[np.bool_], result: npt.NDArray[np.float32]) -> None:
    """Write each pixel's distance to the nearest that was found, at most `_FAR`."""
    height, width = found.shape
    above = np.full((height, width), _FAR)  # distance along the column
    for y in range(height):
        for x in range(width):
            if found[y, x]:
                above[y, x] = 0
            elif y:
                above[y, x] = min(_FAR, above[y - 1, x] + 1)
    for y in range(height - 2, -1, -1):
        for x in range(width):
            above[y, x] = min(above[y, x], above[y + 1, x] + 1)
    for y in range(height):
        for x in range(width):
            best = above[y, x] ** 2
            step = 1
            while step * step < best:
                if x >= step:
                    best = min(best, step * step + above[y, x - step] ** 2)
                if x + step < width:
                    best = min(best, step * step + above[y, x + step] ** 2)
                step += 1
            result[y, x] = np.sqrt(best)


def equalised(levels: Bytes) -> Bytes:
    """Spread grey levels so that all are equally frequent, as far as possible.

    Parameters
    ----------
    levels : uint8 array

    Returns
    -------
    uint8 array
        The least level becomes 0, the largest 255; a single level remains.
    """
    counts = np.bincount(levels.ravel(), minlength=256)
    first = counts[np.argmax(counts > 0)]
    if first == levels.size:
        return levels
    shares = (np.cumsum(counts) - first) / (levels.size - first)
    table = np.rint(np.maximum(shares, 0) * 255).astype(np.uint8)
    spread: Bytes = table[levels]
    return spread
