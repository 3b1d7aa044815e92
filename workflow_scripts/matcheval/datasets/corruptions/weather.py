"""Weather: fog, frost, snow, and spatter of water and mud.

Source: ImageNet-C (Hendrycks & Dietterich 2019); streaks of snow as in `imagecorruptions`.
"""

from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile
from zipfile import Path as ZipPath

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.ndimage import label

from matcheval.datasets.corruptions.corruption import (
    Bytes,
    Floats32,
    Generators,
    Images,
    Parameters,
    centre_zooms,
    corruption,
    gaussian,
    normals,
    plasma,
    streaks,
)
from matcheval.datasets.corruptions.names import ARCHIVE
from matcheval.errors import InputError
from matcheval.io.files import readable
from matcheval.jit import compiled

_LOW, _HIGH = 50, 150  # thresholds of an edge's gradient
_FAR = 20  # pixels: larger distances count as this one
_TAN_22, _TAN_67 = np.tan(np.deg2rad([22.5, 67.5]))
_BOX = np.ones((3, 3), np.int32)
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.int32)

_Number = TypeVar("_Number", np.int32, np.float32)


def drops(liquid: Floats32) -> Floats32:
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
def _distances(found: npt.NDArray[np.bool_], result: Floats32) -> None:
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


# The photographs' folder in the archive.
_FOLDER = "imagecorruptions/frost/"

# The authors' program has six photographs, and draws from the first five.
_NAMES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")


_REMEDY = (
    f"Name the folder of the five photographs, or the file {ARCHIVE}, which has them, or use "
    "'frost_procedural', which needs none"
)


@lru_cache(maxsize=2)
def load_textures(place: Path | None) -> list[Bytes]:
    """Read the photographs."""
    if place is None:
        raise InputError("the corruption 'frost' needs photographs", remedy=_REMEDY)
    with readable(place, "a readable archive", BadZipFile, remedy=_REMEDY):
        folder = ZipPath(place, _FOLDER) if place.is_file() else place
    missing = [name for name in _NAMES if not (folder / name).is_file()]
    if missing:
        raise InputError(f"no {', '.join(missing)} for 'frost'", file=place, remedy=_REMEDY)
    return [_read(folder / name) for name in _NAMES]


def _read(path: Path | ZipPath) -> Bytes:
    with readable(str(path), "a readable image", BadZipFile), path.open("rb") as file:
        return np.array(Image.open(file).convert("RGB"))


_GREY = (0.299, 0.587, 0.114)  # weights of red, green and blue
_TURQUOISE, _BROWN = np.array([175, 238, 238]) / 255, np.array([63, 42, 20]) / 255
_ICE = np.array([0.84, 0.92, 1.0])


@corruption(
    ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
)
def fog(images: Images, parameters: Parameters, generators: Generators) -> Images:
    """Add clouds, and scale so that the maximum stays."""
    strength, decay = parameters
    most = images.max(axis=(1, 2, 3), keepdims=True)
    clouds = plasma(generators, max(images.shape[1:3]), decay)
    clouds = clouds[:, : images.shape[1], : images.shape[2], None].astype(images.dtype)
    clouds *= strength
    corrupted = images + clouds
    corrupted *= most / (most + images.dtype.type(strength))
    return corrupted


_FROST = (
    ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
    ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
)


@corruption(
    tuple((*one, 5) for one in _FROST[0]),
    tuple((*one, 1) for one in _FROST[1]),
    load=load_textures,
)
def frost(
    images: Images, parameters: Parameters, generators: Generators, textures: list[Bytes]
) -> Images:
    """Add part of a photograph of frost."""
    weight, frosted, step = parameters
    _, height, width, _ = images.shape
    least = min(min(texture.shape[:2]) for texture in textures)
    if max(height, width) >= least:
        raise InputError(
            f"images of {height} x {width} pixels are too large for the corruption 'frost', whose "
            f"least photograph has a side of {least}",
            remedy="Use 'frost_procedural', or smaller images",
        )
    step = min(step, (least - 1) // max(height, width))  # less for large images, so that it fits
    corrupted = images * images.dtype.type(weight)
    for image, generator in zip(corrupted, generators, strict=True):
        texture = textures[generator.integers(len(textures))]
        # Linear interpolation at a fifth of the size, at pixels' centres, takes every fifth pixel.
        texture = texture[step // 2 :: step, step // 2 :: step]
        top = generator.integers(texture.shape[0] - height)
        left = generator.integers(texture.shape[1] - width)
        crop = texture[top : top + height, left : left + width]
        image += crop * images.dtype.type(frosted / 255)
    return corrupted


@corruption(*_FROST)
def frost_procedural(images: Images, parameters: Parameters, generators: Generators) -> Images:
    """Add ice that is computed: a sharpened plasma's bright parts, slightly blue."""
    weight, frosted = parameters
    _, height, width, _ = images.shape
    clouds = plasma(generators, max(height, width), 1.7)[:, :height, :width, None]
    sharp = clouds + 2 * (clouds - gaussian(clouds, 1.0))
    ice = np.clip((sharp - 0.3) / 0.5, 0, 1) * (_ICE * frosted).astype(np.float32)
    frozen: Images = images * images.dtype.type(weight) + ice.astype(images.dtype)
    return frozen


@corruption(
    (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95), (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9), (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ),
    (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8), (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7), (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
)  # fmt: skip
def snow(images: Images, parameters: Parameters, generators: Generators) -> Images:
    """Whiten an image and add streaks of snow."""
    mean, spread, zoom, threshold, radius, sigma, weight = parameters
    flakes = normals(generators, *images.shape[1:3], 1) * np.float32(spread) + np.float32(mean)
    flakes = centre_zooms(flakes, np.array([zoom]))
    flakes[flakes < threshold] = 0
    angles = np.array([generator.uniform(-135, -45) for generator in generators])
    flakes = streaks(np.clip(flakes, 0, 1), radius, sigma, angles).astype(images.dtype)
    flakes = flakes + np.rot90(flakes, 2, axes=(1, 2))
    kind = images.dtype.type
    red, green, blue = (kind(g) * images[..., c] for c, g in enumerate(_GREY))
    white = (red + green + blue) * kind(1.5) + kind(0.5)
    whitened = np.maximum(images, white[..., None]) * kind(1 - weight)
    return images * kind(weight) + whitened + flakes


@corruption(
    (
        (0.62, 0.1, 0.7, 0.7, 0.5, 0), (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0), (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    ),
    (
        (0.65, 0.3, 4, 0.69, 0.6, 0), (0.65, 0.3, 3, 0.68, 0.6, 0),
        (0.65, 0.3, 2, 0.68, 0.5, 0), (0.65, 0.3, 1, 0.65, 1.5, 1),
        (0.67, 0.4, 1, 0.65, 1.5, 1),
    ),
)  # fmt: skip
def spatter(images: Images, parameters: Parameters, generators: Generators) -> Images:
    """Spatter an image with water, or mud."""
    mean, spread, sigma, threshold, strength, mud = parameters
    liquid = normals(generators, *images.shape[1:3], 1) * np.float32(spread) + np.float32(mean)
    liquid = gaussian(liquid, sigma)
    if mud:
        cover = gaussian((liquid > threshold).astype(np.float32), strength)
        cover[cover < 0.8] = 0
        cover = cover.astype(images.dtype)
        return images * (1 - cover) + cover * _BROWN.astype(images.dtype)
    liquid[liquid < threshold] = 0
    water = np.stack([drops(one[..., 0]) for one in liquid])[..., None].astype(images.dtype)
    wet: Images = images + water * (strength * _TURQUOISE).astype(images.dtype)
    return wet
