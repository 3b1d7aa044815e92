"""Corruptions of C-bar that move pixels: twirls, ripples, enlarged channels, rotations.

Source: classes `PinchAndTwirl`, `Ripple`, `TransverseChromaticAbberation` (so spelt there) and
`CircularMotionBlur` of the program named in `bar_common`.
"""

import numpy as np
import numpy.typing as npt
from scipy.ndimage import map_coordinates, spline_filter1d

from matcheval.datasets.corruptions.bar_common import levels, side_of
from matcheval.datasets.corruptions.corruption import (
    Bytes,
    Corruption,
    Generators,
    Images,
)
from matcheval.jit import compiled

_Array = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]
_ROTATIONS = 21


def pinch_and_twirl(images: Images, level: float, generators: Generators) -> Images:
    """Pinch the discs of a grid at their centres, and turn each to a random side by 9° · level."""
    side = side_of(images)
    per_axis = 5 if side >= 224 else 3
    radius = side // per_axis / 2
    place = np.minimum(np.arange(side) // (side // per_axis), per_axis - 1)
    centre = (2 * place + 1) * radius
    offset = np.arange(side) - centre
    distance = np.hypot(offset[:, None], offset) / radius
    moved = (distance > 0) & (distance <= 1)
    distance[~moved] = 1  # the edge, where nothing moves
    nearer = np.where(moved, np.sin(np.pi / 2 * distance) ** -(0.04 * level + 0.1), 1)
    corrupted = np.empty_like(images)
    for image, result, generator in zip(images, corrupted, generators, strict=True):
        turns = generator.choice([1, -1], (per_axis, per_axis)).T  # the original goes by columns
        angle = turns[place[:, None], place] * np.pi / 20 * level * (1 - distance) ** 2
        cosine, sine = nearer * np.cos(angle), nearer * np.sin(angle)
        rows = offset[:, None] * cosine - offset * sine + centre[:, None]
        columns = offset[:, None] * sine + offset * cosine + centre
        _sample(image, rows, columns, result)
    return corrupted


def ripple(images: Images, level: float, generators: Generators) -> Images:
    """Move rows up and down, and columns to the left and right, by sine waves along the same axis.

    The amplitude is level / 400 of the side, the wavelengths 0.1 to 0.3 of it.
    """
    side = side_of(images)
    position = np.arange(side)
    corrupted = np.empty_like(images)
    for image, result, generator in zip(images, corrupted, generators, strict=True):
        lengths = generator.uniform(0.1, 0.3, (2, 1)) * side
        phases = generator.uniform(0, 2 * np.pi, (2, 1))
        waves = np.sin(2 * np.pi * position / lengths + phases)
        rows, columns = position + level / 400 * side * waves
        rows, columns = np.meshgrid(rows, columns, indexing="ij")
        _sample(image, rows, columns, result)
    return corrupted


def transverse_chromatic_abberation(images: Bytes, level: float, generators: Generators) -> Bytes:
    """Enlarge a random channel by level / 20, another by half of that, and blur all three."""
    side = side_of(images)
    order = np.stack([generator.permutation(3) for generator in generators])
    every, corrupted = np.arange(len(images)), np.empty_like(images)
    for i, scale in enumerate((1, 1 + level / 40, 1 + level / 20)):
        channel = np.argmax(order == i, axis=1)
        index, weights = _enlargement(side, scale)
        plane = images[every, :, :, channel].astype(np.float64)
        plane = sum(w[:, None] * plane[:, at] for at, w in zip(index, weights, strict=True))
        plane = sum(w * plane[:, :, at] for at, w in zip(index, weights, strict=True))
        # Halves, which are frequent at scale 1, go up, whatever the last bits of the sums are.
        corrupted[every, :, :, channel] = plane + 0.5 + 1e-9
    return corrupted


def circular_motion_blur(images: Images, level: float, generators: Generators) -> Images:
    """Average 21 rotations around the middle, by up to 1.5° · level; nothing about it is random."""
    side_of(images)
    turns = np.linspace(-1, 1, _ROTATIONS)
    weights = np.exp(-2 * turns**2)
    angles = np.deg2rad(1.5 * level) * turns
    splines = images.astype(np.float64)
    for axis in (1, 2):
        splines = spline_filter1d(splines, axis=axis, mode="mirror")
    rotated = np.empty_like(images)
    _average_rotations(splines, np.cos(angles), np.sin(angles), weights / weights.sum(), rotated)
    return rotated


def _sample(image: Images, rows: _Array, columns: _Array, result: Images) -> None:
    """Interpolate an image linearly; outside it is black, to which it fades over one pixel."""
    for channel in range(image.shape[-1]):
        map_coordinates(
            image[..., channel], (rows, columns), result[..., channel], order=1,
            mode="grid-constant",
        )  # fmt: skip


def _enlargement(side: int, scale: float) -> tuple[_Indices, _Array]:
    """Return four indices and weights, shape (4, side), of the middle of an enlarged axis."""
    size = round(side * scale)
    position = (np.arange(side) + (size - side) // 2) * ((side - 1) / (size - 1))
    first = np.floor(position).astype(np.int64)
    index = np.abs(first + np.arange(-1, 3)[:, None])
    weights = np.stack(_b_spline(position - first))
    return side - 1 - np.abs(side - 1 - index), weights  # mirrored at the outer pixels


@compiled()
def _b_spline(x: _Array) -> tuple[_Array, _Array, _Array, _Array]:
    """Return the cubic B-spline at −1 − x, −x, 1 − x and 2 − x, for x in [0, 1)."""
    y = 1 - x
    return y**3 / 6, 2 / 3 - x**2 * (2 - x) / 2, 2 / 3 - y**2 * (2 - y) / 2, x**3 / 6


@compiled()
def _average_rotations(
    splines: _Array, cosines: _Array, sines: _Array, weights: _Array, result: Images
) -> None:
    """Average rotations of images, which are given as coefficients of cubic B-splines."""
    side = result.shape[1]
    last, middle = side - 1, (side - 1) / 2
    rows, columns = np.empty((2, 16 * len(weights)), np.int64)
    factors = np.empty(16 * len(weights))
    for row in range(side):
        for column in range(side):
            n = 0
            for turn in range(len(weights)):
                y = cosines[turn] * (row - middle) + sines[turn] * (column - middle) + middle
                x = cosines[turn] * (column - middle) - sines[turn] * (row - middle) + middle
                if not (0 <= y <= last and 0 <= x <= last):
                    continue
                top, left = int(y), int(x)
                by_row, by_column = _b_spline(y - top), _b_spline(x - left)
                for i in range(4):
                    for j in range(4):
                        rows[n] = last - abs(last - abs(top - 1 + i))
                        columns[n] = last - abs(last - abs(left - 1 + j))
                        factors[n] = weights[turn] * by_row[i] * by_column[j]
                        n += 1
            for image in range(len(result)):
                red = green = blue = 0.0
                for k in range(n):
                    values = splines[image, rows[k], columns[k]]
                    red += factors[k] * values[0]
                    green += factors[k] * values[1]
                    blue += factors[k] * values[2]
                result[image, row, column, 0] = red
                result[image, row, column, 1] = green
                result[image, row, column, 2] = blue


CORRUPTIONS = (
    Corruption("pinch_and_twirl", "c-bar", levels((5.5, 6.0, 6.5, 8.5, 10.0)), pinch_and_twirl),
    Corruption("ripple", "c-bar", levels((5.5, 6.0, 6.5, 7.5, 8.0)), ripple),
    Corruption(
        "transverse_chromatic_abberation", "c-bar", levels((1.0, 2.0, 5.0, 9.0, 10.0)),
        transverse_chromatic_abberation, on_bytes=True,
    ),
    Corruption(
        "circular_motion_blur", "c-bar", levels((2.8, 3.6, 4.4, 5.2, 6.0)),
        circular_motion_blur, random=False,
    ),
)  # fmt: skip
