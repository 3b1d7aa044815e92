"""Filters of arrays of images, made of shifted and weighted copies; and samples between pixels."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from matcheval.datasets.corruptions.corruption import Images
from matcheval.jit import compiled

Offsets = npt.NDArray[np.int64]
Border = Literal["edge", "reflect"]  # aaa|abcd|ddd, or dcb|abcd|cba; the names are numpy.pad's


def weighted_shifts(
    images: Images, offsets: Offsets, weights: npt.NDArray[np.float64], border: Border
) -> Images:
    """Sum shifted copies of images."""
    n, height, width, channels = images.shape
    offsets = np.broadcast_to(offsets, (n, *offsets.shape[-2:]))
    rest = -len(weights) % 4  # the compiled loop takes four copies at a time
    offsets, weights = np.pad(offsets, ((0, 0), (0, rest), (0, 0))), np.pad(weights, (0, rest))
    top, left = np.maximum(0, -offsets.min(axis=(0, 1), initial=0))
    bottom, right = offsets.max(axis=(0, 1), initial=0)
    padded = np.pad(images, ((0, 0), (top, bottom), (left, right), (0, 0)), border)
    padded = padded.reshape(n, height + top + bottom, (width + left + right) * channels)
    result = np.zeros((n, height, width * channels), images.dtype)
    starts = (offsets + np.array([top, left])) * np.array([1, channels])
    _add_shifted(padded, starts, weights.astype(images.dtype), result)
    return result.reshape(images.shape)


@compiled()
def _add_shifted(padded: Images, starts: Offsets, weights: Images, result: Images) -> None:
    n, height, length = result.shape
    for i in range(n):
        for y in range(height):
            line = result[i, y]
            for k in range(0, len(weights), 4):  # four at a time, to read the line less often
                a = padded[i, y + starts[i, k, 0], starts[i, k, 1] :]
                b = padded[i, y + starts[i, k + 1, 0], starts[i, k + 1, 1] :]
                c = padded[i, y + starts[i, k + 2, 0], starts[i, k + 2, 1] :]
                d = padded[i, y + starts[i, k + 3, 0], starts[i, k + 3, 1] :]
                u, v, w, z = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                for x in range(length):
                    line[x] += (u * a[x] + v * b[x]) + (w * c[x] + z * d[x])


def gaussian(images: Images, sigma: float) -> Images:
    """Apply a Gaussian blur, truncated at four standard deviations, with edge pixels replicated."""
    radius = int(4 * sigma + 0.5)
    steps = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    weights /= weights.sum()
    none = np.zeros_like(steps)
    for offsets in (np.stack([steps, none], axis=1), np.stack([none, steps], axis=1)):
        images = weighted_shifts(images, offsets, weights, "edge")
    return images


def streak_weights(radius: int, sigma: float) -> npt.NDArray[np.float64]:
    """Return the weights of a motion's positions: a Gaussian on one side."""
    weights: npt.NDArray[np.float64] = np.exp(-0.5 * (np.arange(2 * radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    return weights


def streaks(images: Images, radius: int, sigma: float, angles: npt.NDArray[np.float64]) -> Images:
    """Blur along a direction, as `imagecorruptions` does in place of ImageMagick."""
    weights = streak_weights(radius, sigma)
    radians = np.deg2rad(angles)[:, None, None]
    directions = np.concatenate([np.sin(radians), np.cos(radians)], axis=-1)
    offsets = np.ceil(np.arange(len(weights))[:, None] * directions - 0.5).astype(np.int64)
    return weighted_shifts(images, offsets, weights, "edge")


def centre_zooms(images: Images, factors: npt.NDArray[np.float64]) -> Images:
    """Sum the centres of images, enlarged by several factors to the images' size."""
    _, height, width, _ = images.shape
    rows = np.stack([_zoomed_positions(height, factor) for factor in factors])
    columns = np.stack([_zoomed_positions(width, factor) for factor in factors])
    result = np.zeros_like(images)
    _add_zooms(images, rows, columns, result)
    return result


def _zoomed_positions(side: int, factor: float) -> npt.NDArray[np.float64]:
    """Return where in an image the pixels of its enlarged centre come from."""
    part = int(np.ceil(side / factor))
    enlarged = round(part * factor)
    first, cut = (side - part) // 2, (enlarged - side) // 2
    step = (part - 1) / max(1, enlarged - 1)
    return np.float64(first) + step * np.arange(cut, cut + side, dtype=np.float64)


@compiled()
def _add_zooms(
    images: Images,
    rows: npt.NDArray[np.float64],
    columns: npt.NDArray[np.float64],
    result: Images,
) -> None:
    n, height, width, channels = images.shape
    blended = np.empty((width, channels), images.dtype)
    one = images.dtype.type(1)
    for i in range(n):
        for k in range(len(rows)):
            for y in range(height):
                upper = int(rows[k, y])
                part = images.dtype.type(rows[k, y] - upper)
                lower = min(upper + 1, height - 1)
                for x in range(width):
                    for c in range(channels):
                        blended[x, c] = (one - part) * images[i, upper, x, c] + (
                            part * images[i, lower, x, c]
                        )
                for x in range(width):
                    left = int(columns[k, x])
                    part = images.dtype.type(columns[k, x] - left)
                    right = min(left + 1, width - 1)
                    for c in range(channels):
                        result[i, y, x, c] += (one - part) * blended[left, c] + (
                            part * blended[right, c]
                        )


def sample(
    images: Images, positions: npt.NDArray[np.float64], border: Literal["reflect", "symmetric"]
) -> Images:
    """Interpolate images linearly between their pixels."""
    result = np.empty_like(images)
    _interpolate(images, positions, int(border == "symmetric"), result)
    return result


@compiled(inline="always")
def _mirrored(i: int, length: int, twice: int) -> int:
    if 0 <= i < length:
        return i
    period = max(1, 2 * (length - 1 + twice))
    i %= period
    return i if i < length else period - twice - i


@compiled()
def _interpolate(
    images: Images, positions: npt.NDArray[np.float64], twice: int, result: Images
) -> None:
    n, height, width, channels = images.shape
    one = images.dtype.type(1)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                row, column = positions[i, 0, y, x], positions[i, 1, y, x]
                first_row, first_column = int(np.floor(row)), int(np.floor(column))
                down = images.dtype.type(row - first_row)
                right = images.dtype.type(column - first_column)
                y0 = _mirrored(first_row, height, twice)
                y1 = _mirrored(first_row + 1, height, twice)
                x0 = _mirrored(first_column, width, twice)
                x1 = _mirrored(first_column + 1, width, twice)
                for c in range(channels):
                    upper = (one - right) * images[i, y0, x0, c] + right * images[i, y0, x1, c]
                    lower = (one - right) * images[i, y1, x0, c] + right * images[i, y1, x1, c]
                    result[i, y, x, c] = (one - down) * upper + down * lower
