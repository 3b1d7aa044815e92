"""The ten corruptions of C-bar: drawn on the images, noise, and moved pixels.

A severity of C-bar is a level on a scale from 0 to 10, of which each corruption makes its own
parameter. Lengths are relative to the side of the image, so that one scale serves all sizes.

Source: Mintun, Kirillov & Xie 2021 (NeurIPS, "On Interaction Between Augmentations and Corruptions
in Natural Corruption Robustness"), and facebookresearch/augmentation-corruption (MIT), commit
ba4d5a5e, imagenet_c_bar/: levels in cifar10_c_bar.csv and imagenet_c_bar.csv, algorithms in
corrupt.py. Only five of the ten corruptions are in ImageNet-C-bar; for the others, the levels of
CIFAR-10-C-bar are used at 224 pixels too.
"""

import numpy as np
import numpy.typing as npt
from scipy import fft
from scipy.ndimage import map_coordinates, spline_filter1d

from matcheval.datasets.corruptions.operations import Bytes, Generators, Images, corruption
from matcheval.errors import InputError
from matcheval.jit import compiled

_Array = npt.NDArray[np.float64]
_Point = tuple[int, int]  # row, column
_GREY = 128
_RAYS = (50, 200)  # number of rays, end excluded
_SPREAD = 0.25  # standard deviation of the length of rays, relative to its mean
_ROTATIONS = 21


def square_side(images: Images | Bytes) -> int:
    """Return the side of square images in pixels; raise an error if they are not square."""
    height, width = images.shape[1:3]
    if height != width:
        problem = f"images of {height} × {width} pixels to corrupt; C-bar is for square images"
        raise InputError(problem, remedy="Crop or resize them")
    return int(height)


@corruption((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 3.0, 4.0, 5.0, 6.0), on_bytes=True)
def checkerboard_cutout(images: Bytes, generators: Generators, level: float) -> Bytes:
    """Grey out level / 10 of a rotated checkerboard's squares of one colour, at random."""
    side = square_side(images)
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


@corruption((0.5, 1.0, 1.5, 2.0, 2.5), on_bytes=True)
def lines(images: Bytes, generators: Generators, level: float) -> Bytes:
    """Draw level / 10 · side grey lines in random directions, each twice as long as a side."""
    side = square_side(images)
    corrupted = images.copy()
    for image, generator in zip(corrupted, generators, strict=True):
        angle, spread = generator.uniform(0, 2 * np.pi), generator.uniform(0.1, 1)
        for x, y, share in generator.random((int(level / 10 * side), 3)):
            direction = angle + 2 * np.pi * spread * (share - 0.5)
            dx, dy = np.cos(direction) * side, np.sin(direction) * side
            x, y = x * side, y * side
            _draw_line(image, (int(x - dx), int(y - dy)), (int(x + dx), int(y + dy)))
    return corrupted


@corruption((0.7, 3.5, 5.6, 6.3, 7.0), (1.0, 2.0, 3.0, 5.0, 6.0))
def sparkles(images: Images, generators: Generators, level: float) -> Images:
    """Lighten each image along rays from five random points."""
    side = square_side(images)
    radius = level / 100 * side
    dark = np.ones(images.shape[:3])
    for shares, generator in zip(dark, generators, strict=True):
        centres = generator.uniform(0, side, (5, 2))
        counts = generator.integers(*_RAYS, 5)
        for centre, count in zip(centres, counts, strict=True):
            rays = np.maximum(1, radius * (1 + _SPREAD * generator.standard_normal(count)))
            shares *= 1 - _ray_brightness(side, centre, rays, 1)
    return _blend_with_white(images, 1 - dark)


@corruption((1.0, 1.5, 2.5, 4.5, 5.0), (1.0, 2.0, 4.0, 9.0, 10.0))
def inverse_sparkles(images: Images, generators: Generators, level: float) -> Images:
    """Turn each image white, except along rays from a random point near the middle."""
    side = square_side(images)
    visible = np.empty(images.shape[:3])
    for shares, generator in zip(visible, generators, strict=True):
        centre = generator.uniform(0.25, 0.75, 2) * side
        count = generator.integers(*_RAYS)
        rays = side / 4 * (1 + _SPREAD * generator.standard_normal(count))
        shares[:] = _ray_brightness(side, centre, rays, 0.13 * level)
    return _blend_with_white(images, 1 - visible)


def _blend_with_white(images: Images, white_shares: _Array) -> Images:
    return images + white_shares.astype(images.dtype)[..., None] * (1 - images)


def _ray_brightness(side: int, centre: _Array, lengths: _Array, power: float) -> _Array:
    """Return each pixel's brightness, in [0, 1], by rays of some lengths from a centre."""
    row, column = (np.arange(side) - middle for middle in centre)
    squared = (row**2)[:, None] + column**2
    place = (np.arctan2(column, row[:, None]) + np.pi) * (len(lengths) / (2 * np.pi))
    before = place.astype(int)
    between = place - before
    ring = np.append(lengths, lengths[:2])
    length = ring[before] + between * np.diff(ring)[before]
    fading = (length**2 / (squared + 1e-4)) ** power
    return np.clip((1 - (between - 0.5) ** 2) * fading, 0, 1)


def _draw_line(image: Bytes, start: _Point, end: _Point) -> None:
    """Blend a grey line of one pixel's width into an image, in place."""
    height, width = end[0] - start[0], end[1] - start[1]
    rows, columns = (
        np.arange(max(0, min(a, b)), min(len(image) - 1, max(a, b)) + 1)
        for a, b in zip(start, end, strict=True)
    )
    cross = ((rows - start[0]) * width)[:, None] - (columns - start[1]) * height
    length = max(1, np.hypot(height, width))
    y, x = np.nonzero(np.abs(cross) < length)
    share = 1 - np.abs(cross[y, x, None]) / length
    pixels = (rows[y], columns[x])
    image[pixels] = (1 - share) * image[pixels] + share * _GREY + 1e-9


@corruption((0.7, 1.4, 2.1, 3.5, 4.2), (0.8, 1.6, 2.4, 4.0, 5.6))
def blue_noise_sample(images: Images, generators: Generators, level: float) -> Images:
    """Blacken pixels where blue noise of standard deviation 1 is at most 0.3 · level − 2.5."""
    side = square_side(images)
    noise = _draw_noise(generators, side, _radial_frequencies(side))
    return np.where((noise > 0.3 * level - 2.5)[..., None], images, 0)


@corruption((2.5, 4.0, 5.5, 6.5, 7.0), (1.0, 2.0, 3.0, 4.0, 5.0))
def brownish_noise(images: Images, generators: Generators, level: float) -> Images:
    """Add low-frequency noise to each channel, with a standard deviation of 6.4 · level / 255."""
    side = square_side(images)
    amplitudes = 1 / (_radial_frequencies(side) ** 2 + 1)
    noise = np.stack([_draw_noise(generators, side, amplitudes) for _ in range(3)], axis=-1)
    noise *= 6.4 * level / 255
    return images + noise.astype(images.dtype)


def _radial_frequencies(side: int) -> _Array:
    """Return radial frequencies in cycles per image, shape (side, side), with 0 in the centre."""
    axis = np.arange(side) - side / 2
    return np.hypot(axis[:, None], axis)


def _draw_noise(generators: Generators, side: int, amplitudes: _Array) -> _Array:
    """Draw noise of an amplitude spectrum and standard deviation 1, shape (n, side, side)."""
    phases = np.stack([_random_phases(generator, side) for generator in generators])
    spectrum = fft.fftshift(amplitudes * phases, axes=(1, 2))
    noise: _Array = np.real(fft.ifft2(spectrum, overwrite_x=True))
    noise /= noise.std(axis=(1, 2), keepdims=True)
    return noise


def _random_phases(generator: np.random.Generator, side: int) -> npt.NDArray[np.complex128]:
    """Draw random phases, shape (side, side), as complex numbers of magnitude 1."""
    half = generator.uniform(0, 2 * np.pi, (side, side // 2))
    columns = [half, half[::-1, ::-1]]
    if side % 2:
        middle = generator.uniform(0, 2 * np.pi, (side // 2, 1))
        columns.insert(1, np.concatenate([middle, np.zeros((1, 1)), middle[::-1]]))
    phases = np.concatenate(columns, axis=1)
    return np.cos(phases) + 1j * np.sin(phases)


@corruption((5.5, 6.0, 6.5, 8.5, 10.0))
def pinch_and_twirl(images: Images, generators: Generators, level: float) -> Images:
    """Pinch the discs of a grid towards their centres, and twirl each by ±9° · level."""
    side = square_side(images)
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
        sides = generator.choice([1, -1], (per_axis, per_axis)).T  # the original goes by columns
        angle = sides[place[:, None], place] * np.pi / 20 * level * (1 - distance) ** 2
        cosine, sine = nearer * np.cos(angle), nearer * np.sin(angle)
        rows = offset[:, None] * cosine - offset * sine + centre[:, None]
        columns = offset[:, None] * sine + offset * cosine + centre
        _interpolate(image, rows, columns, result)
    return corrupted


@corruption((5.5, 6.0, 6.5, 7.5, 8.0))
def ripple(images: Images, generators: Generators, level: float) -> Images:
    """Move pixels along each axis by a sine wave with an amplitude of level / 400 of the side."""
    side = square_side(images)
    position = np.arange(side)
    corrupted = np.empty_like(images)
    for image, result, generator in zip(images, corrupted, generators, strict=True):
        lengths = generator.uniform(0.1, 0.3, (2, 1)) * side
        phases = generator.uniform(0, 2 * np.pi, (2, 1))
        waves = np.sin(2 * np.pi * position / lengths + phases)
        rows, columns = position + level / 400 * side * waves
        rows, columns = np.meshgrid(rows, columns, indexing="ij")
        _interpolate(image, rows, columns, result)
    return corrupted


@corruption((1.0, 2.0, 5.0, 9.0, 10.0), on_bytes=True)
def transverse_chromatic_abberation(images: Bytes, generators: Generators, level: float) -> Bytes:
    """Enlarge a random channel by level / 20, another by level / 40, and blur all three."""
    side = square_side(images)
    order = np.stack([generator.permutation(3) for generator in generators])
    every, corrupted = np.arange(len(images)), np.empty_like(images)
    for i, scale in enumerate((1, 1 + level / 40, 1 + level / 20)):
        channel = np.argmax(order == i, axis=1)
        index, weights = _enlarged_axis(side, scale)
        plane = images[every, :, :, channel].astype(np.float64)
        plane = sum(w[:, None] * plane[:, at] for at, w in zip(index, weights, strict=True))
        plane = sum(w * plane[:, :, at] for at, w in zip(index, weights, strict=True))
        # Halves, which are frequent at scale 1, go up, whatever the last bits of the sums are.
        corrupted[every, :, :, channel] = plane + 0.5 + 1e-9
    return corrupted


@corruption((2.8, 3.6, 4.4, 5.2, 6.0), random=False)
def circular_motion_blur(images: Images, level: float) -> Images:
    """Average 21 rotations around the middle, by up to ±1.5° · level; none of it is random."""
    square_side(images)
    steps = np.linspace(-1, 1, _ROTATIONS)
    weights = np.exp(-2 * steps**2)
    angles = np.deg2rad(1.5 * level) * steps
    splines = images.astype(np.float64)
    for axis in (1, 2):
        splines = spline_filter1d(splines, axis=axis, mode="mirror")
    rotated = np.empty_like(images)
    _average_rotations(splines, np.cos(angles), np.sin(angles), weights / weights.sum(), rotated)
    return rotated


def _interpolate(image: Images, rows: _Array, columns: _Array, result: Images) -> None:
    """Write an image to `result`, interpolated linearly at positions; outside it, black."""
    for channel in range(image.shape[-1]):
        map_coordinates(
            image[..., channel], (rows, columns), result[..., channel], order=1,
            mode="grid-constant",
        )  # fmt: skip


def _enlarged_axis(side: int, scale: float) -> tuple[npt.NDArray[np.int64], _Array]:
    """Return source indices and weights, shape (4, side), for the middle of an enlarged axis."""
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
    """Write the mean of rotated images, given by their cubic B-spline coefficients, to `result`."""
    side = result.shape[1]
    last, middle = side - 1, (side - 1) / 2
    rows, columns = np.empty((2, 16 * len(weights)), np.int64)
    factors = np.empty(16 * len(weights))
    for row in range(side):
        for column in range(side):
            n = 0
            for k in range(len(weights)):
                y = cosines[k] * (row - middle) + sines[k] * (column - middle) + middle
                x = cosines[k] * (column - middle) - sines[k] * (row - middle) + middle
                if not (0 <= y <= last and 0 <= x <= last):
                    continue
                top, left = int(y), int(x)
                by_row, by_column = _b_spline(y - top), _b_spline(x - left)
                for i in range(4):
                    for j in range(4):
                        rows[n] = last - abs(last - abs(top - 1 + i))
                        columns[n] = last - abs(last - abs(left - 1 + j))
                        factors[n] = weights[k] * by_row[i] * by_column[j]
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
