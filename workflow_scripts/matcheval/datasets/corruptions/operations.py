"""A corruption, and what several do to images: blur, shift, zoom, interpolate; clouds; rounding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Offsets = npt.NDArray[np.int64]
# float32 or float64, shape (n, height, width, 3), values in [0, 1]
Images = npt.NDArray[np.floating[Any]]
Generators = list[np.random.Generator]  # one per image
Apply = TypeVar("Apply", bound=Callable[..., npt.NDArray[Any]])


@dataclass(frozen=True)
class Corruption:
    """A kind of corruption: how to apply it, and its parameters at each severity.

    Attributes
    ----------
    parameters : mapping
        For images of 32 and of 224 pixels, the parameters of severities 1 to 5.
    apply : callable
        ``apply(images, generators, *parameters)`` returns the corrupted images. Images are floats
        in [0, 1] of shape (n, height, width, 3), and are not changed; `parameters` are those of one
        severity; randomness comes from `generators`, one per image. It keeps the type of floats;
        values outside [0, 1] are clipped by `corrupt`. No image may depend on others.
    on_bytes : bool
        `apply` takes and returns bytes (uint8) instead of floats.
    random : bool
        Whether `apply` takes generators.
    load : callable, optional
        What `apply` takes as last argument, from the folder that the user named (or None).
    """

    parameters: Mapping[int, tuple[Any, ...]]
    apply: Callable[..., npt.NDArray[Any]]
    on_bytes: bool
    random: bool
    load: Callable[[Path | None], Any] | None


CORRUPTIONS: dict[str, Corruption] = {}


def corruption(
    small: tuple[Any, ...], large: tuple[Any, ...] | None = None, *,
    on_bytes: bool = False, random: bool = True, load: Callable[[Path | None], Any] | None = None,
) -> Callable[[Apply], Apply]:  # fmt: skip
    """Return a decorator that registers a function as the corruption of the function's name.

    `small` and `large` are the parameters for 32 and 224 pixels, the others as in `Corruption`.
    """

    def register(apply: Apply) -> Apply:
        parameters = {32: small, 224: large or small}
        CORRUPTIONS[apply.__name__] = Corruption(parameters, apply, on_bytes, random, load)
        return apply

    return register


# Added to grey levels before they are truncated: a value that is a whole level but for the rounding
# errors of float32 (below 1e-3 of a level) remains this level.
_ROUNDING = 1e-3


def to_bytes(images: Images) -> Bytes:
    """Convert floats in [0, 1] to bytes: times 255, clipped, truncated."""
    return (np.clip(images * 255, 0, 255) + images.dtype.type(_ROUNDING)).astype(np.uint8)


Border = Literal["edge", "reflect"]  # aaa|abcd|ddd, or dcb|abcd|cba; the names are numpy.pad's


def weighted_shifts(images: Images, offsets: Offsets, weights: Floats, border: Border) -> Images:
    """Return the weighted sum of copies of images, shifted by offsets (rows, columns)."""
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
    """Add the weighted parts of padded images that begin at `starts` to `result`."""
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
    """Blur images by a Gaussian, cut off at four standard deviations, with edge pixels repeated."""
    radius = int(4 * sigma + 0.5)
    steps = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    weights /= weights.sum()
    none = np.zeros_like(steps)
    for offsets in (np.stack([steps, none], axis=1), np.stack([none, steps], axis=1)):
        images = weighted_shifts(images, offsets, weights, "edge")
    return images


def streak_weights(radius: int, sigma: float) -> Floats:
    """Return the weights of 2 · radius + 1 positions of a moving camera: half a Gaussian, sum 1."""
    weights: Floats = np.exp(-0.5 * (np.arange(2 * radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    return weights


def motion_streaks(images: Images, radius: int, sigma: float, angles: Floats) -> Images:
    """Blur each image along its angle in degrees, as `imagecorruptions` does."""
    weights = streak_weights(radius, sigma)
    radians = np.deg2rad(angles)[:, None, None]
    directions = np.concatenate([np.sin(radians), np.cos(radians)], axis=-1)
    offsets = np.ceil(np.arange(len(weights))[:, None] * directions - 0.5).astype(np.int64)
    return weighted_shifts(images, offsets, weights, "edge")


def summed_zooms(images: Images, factors: Floats) -> Images:
    """Return, for each image, the sum of zooms into its centre by several factors."""
    _, height, width, _ = images.shape
    rows = np.stack([_zoomed_positions(height, factor) for factor in factors])
    columns = np.stack([_zoomed_positions(width, factor) for factor in factors])
    result = np.zeros_like(images)
    _add_zooms(images, rows, columns, result)
    return result


def _zoomed_positions(side: int, factor: float) -> Floats:
    """Return the positions on an axis that an image zoomed into its centre is sampled at."""
    part = int(np.ceil(side / factor))
    enlarged = round(part * factor)
    first, cut = (side - part) // 2, (enlarged - side) // 2
    step = (part - 1) / max(1, enlarged - 1)
    return np.float64(first) + step * np.arange(cut, cut + side, dtype=np.float64)


@compiled()
def _add_zooms(images: Images, rows: Floats, columns: Floats, result: Images) -> None:
    """Add images, interpolated linearly at the rows and columns of each zoom, to `result`."""
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


def sample(images: Images, positions: Floats, border: Literal["reflect", "symmetric"]) -> Images:
    """Interpolate images linearly at positions (n, 2, height, width); mirror them outside."""
    result = np.empty_like(images)
    _interpolate(images, positions, int(border == "symmetric"), result)
    return result


@compiled(inline="always")
def _mirrored_index(i: int, length: int, repeats_edge: int) -> int:
    """Map an index outside an axis to its mirror image, with or without the edge pixel twice."""
    if 0 <= i < length:
        return i
    period = max(1, 2 * (length - 1 + repeats_edge))
    i %= period
    return i if i < length else period - repeats_edge - i


@compiled()
def _interpolate(images: Images, positions: Floats, repeats_edge: int, result: Images) -> None:
    n, height, width, channels = images.shape
    one = images.dtype.type(1)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                row, column = positions[i, 0, y, x], positions[i, 1, y, x]
                first_row, first_column = int(np.floor(row)), int(np.floor(column))
                down = images.dtype.type(row - first_row)
                right = images.dtype.type(column - first_column)
                y0 = _mirrored_index(first_row, height, repeats_edge)
                y1 = _mirrored_index(first_row + 1, height, repeats_edge)
                x0 = _mirrored_index(first_column, width, repeats_edge)
                x1 = _mirrored_index(first_column + 1, width, repeats_edge)
                for c in range(channels):
                    upper = (one - right) * images[i, y0, x0, c] + right * images[i, y0, x1, c]
                    lower = (one - right) * images[i, y1, x0, c] + right * images[i, y1, x1, c]
                    result[i, y, x, c] = (one - down) * upper + down * lower


_WIBBLE = 100  # square root of the largest first change


def normals(generators: Generators, shape: tuple[int, ...], mean: float, spread: float) -> Floats32:
    """Draw a layer of normal random numbers for each image, shape (n, height, width, 1)."""
    layers = [rng.standard_normal((*shape[1:3], 1), np.float32) for rng in generators]
    return np.stack(layers) * np.float32(spread) + np.float32(mean)


def plasma(generators: Generators, side: int, decay: float) -> Floats32:
    """Draw a plasma fractal (clouds) in [0, 1] for each image; its side is a power of 2."""
    side = 1 << (side - 1).bit_length()
    field = np.stack([rng.random((side, side), np.float32) for rng in generators])
    field = field * 2 - 1  # until its value is computed, a point has its random number
    field[:, 0, 0] = 0
    step, wibble = side, float(_WIBBLE)
    while step >= 2:
        half, size = step // 2, np.float32(wibble**2)
        corners = field[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        _set_midpoints(field[:, half::step, half::step], pairs + np.roll(pairs, -1, axis=2), size)
        centres = field[:, half::step, half::step]
        across = centres + np.roll(centres, 1, axis=1) + corners + np.roll(corners, -1, axis=2)
        down = centres + np.roll(centres, 1, axis=2) + corners + np.roll(corners, -1, axis=1)
        _set_midpoints(field[:, ::step, half::step], across, size)
        _set_midpoints(field[:, half::step, ::step], down, size)
        step, wibble = half, wibble / decay
    field -= field.min(axis=(1, 2), keepdims=True)
    field /= field.max(axis=(1, 2), keepdims=True)
    return field


def _set_midpoints(points: Floats32, sums: Floats32, size: np.float32) -> None:
    """Replace random numbers by a quarter of their neighbours' sum plus `size` times themselves."""
    points *= size
    points += sums / 4
