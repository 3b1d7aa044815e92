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

_Number = TypeVar("_Number", np.int32, np.float32)


def drops(liquid: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Turn a layer of liquid into the light that it adds to an image."""
    levels = (np.clip(liquid, 0, 1) * 255).astype(np.uint8)
    far = np.empty(liquid.shape, np.float32)
    _distances(edges(levels), far)
    raised = equalised((correlated(far, _BOX) / np.float32(9)).astype(np.uint8))
    shaded = np.clip(correlated(raised.astype(np.int32), _RELIEF), 0, 255)
    light = np.rint(correlated(shaded, _BOX) / np.float32(9)).astype(np.float32)
    light *= levels
    light /= max(1, light.max())
    return light


def correlated(values: npt.NDArray[_Number], kernel: npt.NDArray[np.int32]) -> npt.NDArray[_Number]:
    """Correlate an array with a kernel of three by three, mirroring it at the border's pixels."""
    result = np.zeros_like(values)
    _correlate(np.pad(values, 1, "reflect"), kernel.astype(values.dtype), result)
    return result


@compiled()
def _correlate(
    padded: npt.NDArray[_Number], kernel: npt.NDArray[_Number], result: npt.NDArray[_Number]
) -> None:
    height, width = result.shape
    for y in range(height):
        for row in range(3):
            left, middle, right = kernel[row]
            line = padded[y + row]
            for x in range(width):
                result[y, x] += left * line[x] + middle * line[x + 1] + right * line[x + 2]


def edges(levels: Bytes) -> npt.NDArray[np.bool_]:
    """Find edges by Canny's method, with gradients of three by three pixels (Sobel)."""
    size = _largest_gradients(np.pad(levels, 1, "edge").astype(np.int32))
    parts, n_parts = label(size > _LOW, _BOX)
    kept = np.zeros(n_parts + 1, bool)
    kept[parts[size > _HIGH]] = True
    found: npt.NDArray[np.bool_] = kept[parts]
    return found


@compiled()
def _largest_gradients(padded: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the gradients where they are maxima along their direction, 0 elsewhere."""
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    size = np.zeros(padded.shape, np.int32)
    dx, dy = np.empty((height, width), np.int32), np.empty((height, width), np.int32)
    for y in range(height):
        for x in range(width):
            upper, line, lower = padded[y], padded[y + 1], padded[y + 2]
            right = upper[x + 2] + 2 * line[x + 2] + lower[x + 2]
            dx[y, x] = right - upper[x] - 2 * line[x] - lower[x]
            below = lower[x] + 2 * lower[x + 1] + lower[x + 2]
            dy[y, x] = below - upper[x] - 2 * upper[x + 1] - upper[x + 2]
            size[y + 1, x + 1] = abs(dx[y, x]) + abs(dy[y, x])
    result = np.zeros((height, width), np.int32)
    for y in range(height):
        for x in range(width):
            here = size[y + 1, x + 1]
            if here <= _LOW:
                continue
            across, down = abs(dx[y, x]), abs(dy[y, x])
            if down < _TAN_22 * across:
                largest = here > size[y + 1, x] and here >= size[y + 1, x + 2]
            elif down > _TAN_67 * across:
                largest = here > size[y, x + 1] and here >= size[y + 2, x + 1]
            else:
                side = -1 if (dx[y, x] < 0) != (dy[y, x] < 0) else 1
                largest = here > size[y, x + 1 - side] and here > size[y + 2, x + 1 + side]
            if largest:
                result[y, x] = here
    return result


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
    """Spread grey levels so that all are equally frequent, as far as possible."""
    counts = np.bincount(levels.ravel(), minlength=256)
    first = counts[np.argmax(counts > 0)]
    if first == levels.size:
        return levels
    shares = (np.cumsum(counts) - first) / (levels.size - first)
    table = np.rint(np.maximum(shares, 0) * 255).astype(np.uint8)
    spread: Bytes = table[levels]
    return spread
