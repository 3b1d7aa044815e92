"""Corruptions of C-bar that draw on the images: grey squares, grey lines, sparkles.

Source: classes `CheckerBoardCutOut`, `Lines`, `Sparkles` and `InverseSparkles` of the program
named in `bar_common`.
"""

import numpy as np
import numpy.typing as npt

from matcheval.datasets.corruptions.bar_common import levels, side_of
from matcheval.datasets.corruptions.corruption import (
    Bytes,
    Corruption,
    Generators,
    Images,
)

_Array = npt.NDArray[np.float64]
_Point = tuple[int, int]  # row, column
_GREY = 128
_RAYS = (50, 200)  # number of rays, end excluded
_SPREAD = 0.25  # standard deviation of the length of rays, relative to its mean


def checkerboard_cutout(images: Bytes, level: float, generators: Generators) -> Bytes:
    """Make squares of one colour of a turned checkerboard grey, each with probability level / 10.

    The side of the squares is 0.1 to 0.25 of the image's.
    """
    side = side_of(images)
    row, column = np.indices((side, side))
    corrupted = images.copy()
    for image, generator in zip(corrupted, generators, strict=True):
        angle = generator.uniform(0, 2 * np.pi)
        square = max(generator.uniform(0.1, 0.25) * side, 1)
        chosen = generator.random((int(4 * side // square),) * 2) < level / 10
        x = (np.cos(angle) * row + np.sin(angle) * column) / square
        y = (-np.sin(angle) * row + np.cos(angle) * column) / square
        one_colour = (np.floor(x) + np.floor(y)) % 2 == 0
        # As in the original: rounded towards zero, and negative indices count from the end.
        image[one_colour & chosen[x.astype(int), y.astype(int)]] = _GREY
    return corrupted


def lines(images: Bytes, level: float, generators: Generators) -> Bytes:
    """Draw grey lines of a random direction and spread of directions, twice as long as the image.

    Their number is level / 10 of the side in pixels.
    """
    side = side_of(images)
    corrupted = images.copy()
    for image, generator in zip(corrupted, generators, strict=True):
        angle, spread = generator.uniform(0, 2 * np.pi), generator.uniform(0.1, 1)
        for x, y, turn in generator.random((int(level / 10 * side), 3)):
            turned = angle + 2 * np.pi * spread * (turn - 0.5)
            dx, dy = np.cos(turned) * side, np.sin(turned) * side
            x, y = x * side, y * side
            _draw_line(image, (int(x - dx), int(y - dy)), (int(x + dx), int(y + dy)))
    return corrupted


def sparkles(images: Images, level: float, generators: Generators) -> Images:
    """Lighten the image along rays from five random points."""
    side = side_of(images)
    radius = level / 100 * side
    dark = np.ones(images.shape[:3])
    for shares, generator in zip(dark, generators, strict=True):
        centres = generator.uniform(0, side, (5, 2))
        counts = generator.integers(*_RAYS, 5)
        for centre, count in zip(centres, counts, strict=True):
            rays = np.maximum(1, radius * (1 + _SPREAD * generator.standard_normal(count)))
            shares *= 1 - _light(side, centre, rays, 1)
    return _whiten(images, 1 - dark)


def inverse_sparkles(images: Images, level: float, generators: Generators) -> Images:
    """Make the image white but for rays from a random point near the middle."""
    side = side_of(images)
    visible = np.empty(images.shape[:3])
    for shares, generator in zip(visible, generators, strict=True):
        centre = generator.uniform(0.25, 0.75, 2) * side
        count = generator.integers(*_RAYS)
        rays = side / 4 * (1 + _SPREAD * generator.standard_normal(count))
        shares[:] = _light(side, centre, rays, 0.13 * level)
    return _whiten(images, 1 - visible)


def _whiten(images: Images, white: _Array) -> Images:
    lighter: Images = images + white.astype(images.dtype)[..., None] * (1 - images)
    return lighter


def _light(side: int, centre: _Array, rays: _Array, power: float) -> _Array:
    """Return the brightness, in [0, 1], of rays of given lengths from a centre (row, column)."""
    row, column = (np.arange(side) - middle for middle in centre)
    squared = (row**2)[:, None] + column**2
    place = (np.arctan2(column, row[:, None]) + np.pi) * (len(rays) / (2 * np.pi))
    before = place.astype(int)
    between = place - before
    ring = np.append(rays, rays[:2])
    length = ring[before] + between * np.diff(ring)[before]
    fading = (length**2 / (squared + 1e-4)) ** power
    light: _Array = np.clip((1 - (between - 0.5) ** 2) * fading, 0, 1)
    return light


def _draw_line(image: Bytes, start: _Point, end: _Point) -> None:
    """Blend a grey line of one pixel's width into an image."""
    height, width = end[0] - start[0], end[1] - start[1]
    rows, columns = (
        np.arange(max(0, min(a, b)), min(len(image) - 1, max(a, b)) + 1)
        for a, b in zip(start, end, strict=True)
    )
    cross = ((rows - start[0]) * width)[:, None] - (columns - start[1]) * height
    length = max(1, np.hypot(height, width))
    y, x = np.nonzero(np.abs(cross) < length)
    share = 1 - np.abs(cross[y, x, None]) / length
    at = (rows[y], columns[x])
    image[at] = (1 - share) * image[at] + share * _GREY + 1e-9


CORRUPTIONS = (
    Corruption(
        "checkerboard_cutout", "c-bar",
        levels((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 3.0, 4.0, 5.0, 6.0)), checkerboard_cutout,
        on_bytes=True,
    ),
    Corruption("lines", "c-bar", levels((0.5, 1.0, 1.5, 2.0, 2.5)), lines, on_bytes=True),
    Corruption(
        "sparkles", "c-bar", levels((0.7, 3.5, 5.6, 6.3, 7.0), (1.0, 2.0, 3.0, 5.0, 6.0)), sparkles
    ),
    Corruption(
        "inverse_sparkles", "c-bar", levels((1.0, 1.5, 2.5, 4.5, 5.0), (1.0, 2.0, 4.0, 9.0, 10.0)),
        inverse_sparkles,
    ),
)  # fmt: skip
