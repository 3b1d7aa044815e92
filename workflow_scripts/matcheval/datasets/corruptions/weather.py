"""Weather: fog, frost, snow, and spatter of water and mud.

Source: ImageNet-C (Hendrycks & Dietterich 2019); streaks of snow as in `imagecorruptions`.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zipfile import Path as ZipPath

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.ndimage import distance_transform_edt, label, sobel

from matcheval.datasets.corruptions import ARCHIVE, operations
from matcheval.datasets.corruptions.operations import Bytes, Generators, Images, corruption
from matcheval.errors import InputError
from matcheval.io.files import readable

_LOW, _HIGH = 50, 150  # thresholds of an edge's gradient
_FAR = 20  # pixels: larger distances count as this one
_TAN_22, _TAN_67 = np.tan(np.deg2rad([22.5, 67.5]))
_BOX = np.ones((3, 3), np.int32)
_RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.int32)


def drops(liquid: operations.Floats32) -> operations.Floats32:
    """Return the light, up to 1, that a layer of liquid adds to an image as drops."""
    levels = (np.clip(liquid, 0, 1) * 255).astype(np.uint8)
    drawn = find_edges(levels)
    far = np.full(liquid.shape, _FAR, np.float32)
    if drawn.any():
        far = np.minimum(distance_transform_edt(~drawn).astype(np.float32), far)
    raised = equalise_histogram((correlate(far, _BOX) / np.float32(9)).astype(np.uint8))
    shaded = np.clip(correlate(raised.astype(np.int32), _RELIEF), 0, 255)
    light = np.rint(correlate(shaded, _BOX) / np.float32(9)).astype(np.float32)
    light *= levels
    light /= max(1, light.max())
    return light


def correlate(values: npt.NDArray[Any], kernel: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Correlate an array with a 3 × 3 kernel, mirroring it at its border pixels."""
    (height, width), padded = values.shape, np.pad(values, 1, "reflect")
    result = np.zeros_like(values)
    for y, weights in enumerate(kernel.astype(values.dtype)):
        left, middle, right = (padded[y : y + height, x : x + width] for x in range(3))
        result += weights[0] * left + weights[1] * middle + weights[2] * right
    return result


def find_edges(levels: Bytes) -> npt.NDArray[np.bool_]:
    """Mark the edges in a grey image by Canny's method, with 3 × 3 Sobel gradients."""
    size = _local_maxima(levels)
    parts, n_parts = label(size > _LOW, _BOX)
    kept = np.zeros(n_parts + 1, bool)
    kept[parts[size > _HIGH]] = True
    return kept[parts]


def _local_maxima(levels: Bytes) -> npt.NDArray[np.int32]:
    """Return sizes of gradients that are over `_LOW` and maxima along their direction; else 0."""
    dx, dy = (sobel(levels.astype(np.int32), axis, mode="nearest") for axis in (1, 0))
    across, down = np.abs(dx), np.abs(dy)
    size = across + down
    padded = np.pad(size, 1)
    height, width = size.shape

    def shifted(y: int, x: int) -> npt.NDArray[np.int32]:
        return padded[1 + y : 1 + y + height, 1 + x : 1 + x + width]

    is_largest = np.select(
        [down < _TAN_22 * across, down > _TAN_67 * across, (dx < 0) == (dy < 0)],
        [
            (size > shifted(0, -1)) & (size >= shifted(0, 1)),
            (size > shifted(-1, 0)) & (size >= shifted(1, 0)),
            (size > shifted(-1, -1)) & (size > shifted(1, 1)),
        ],
        (size > shifted(-1, 1)) & (size > shifted(1, -1)),
    )
    return np.where(is_largest & (size > _LOW), size, 0)


def equalise_histogram(levels: Bytes) -> Bytes:
    """Equalise the histogram of grey levels: all become equally frequent, as far as possible."""
    counts = np.bincount(levels.ravel(), minlength=256)
    first = counts[np.argmax(counts > 0)]
    if first == levels.size:
        return levels
    shares = (np.cumsum(counts) - first) / (levels.size - first)
    table = np.rint(np.maximum(shares, 0) * 255).astype(np.uint8)
    return table[levels]


# The photographs' folder in the archive.
_FOLDER = "imagecorruptions/frost/"

# The authors' program has six photographs, and draws from the first five.
_NAMES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")


_REMEDY = (
    f"Name the folder of the five photographs, or the file {ARCHIVE}, which has them, or use "
    "'frost_procedural', which needs none"
)


@lru_cache(maxsize=2)
def load_textures(path: Path | None) -> list[Bytes]:
    """Read the five photographs of frost from a folder or archive, which must have all of them."""
    if path is None:
        raise InputError("the corruption 'frost' needs photographs", remedy=_REMEDY)
    with readable(path, "a readable archive", BadZipFile, remedy=_REMEDY):
        folder = ZipPath(path, _FOLDER) if path.is_file() else path
    missing = [name for name in _NAMES if not (folder / name).is_file()]
    if missing:
        raise InputError(f"no {', '.join(missing)} for 'frost'", file=path, remedy=_REMEDY)
    return [_read_photograph(folder / name) for name in _NAMES]


def _read_photograph(path: Path | ZipPath) -> Bytes:
    with readable(str(path), "a readable image", BadZipFile), path.open("rb") as file:
        return np.array(Image.open(file, formats=("JPEG", "PNG")).convert("RGB"))


_GREY = (0.299, 0.587, 0.114)  # weights of red, green and blue
_TURQUOISE, _BROWN = np.array([175, 238, 238]) / 255, np.array([63, 42, 20]) / 255
_ICE = np.array([0.84, 0.92, 1.0])


@corruption(
    ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
)
def fog(images: Images, generators: Generators, strength: float, decay: float) -> Images:
    """Add clouds to each image, and scale it so that its maximum does not rise."""
    most = images.max(axis=(1, 2, 3), keepdims=True)
    clouds = operations.plasma(generators, max(images.shape[1:3]), decay)
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
    tuple((*weights, 5) for weights in _FROST[0]),
    tuple((*weights, 1) for weights in _FROST[1]),
    load=load_textures,
)
def frost(
    images: Images, generators: Generators, weight: float, frosted: float, step: int,
    textures: list[Bytes],
) -> Images:  # fmt: skip
    """Scale each image by a weight, and add a random part of a photograph of frost."""
    _, height, width, _ = images.shape
    least = min(min(texture.shape[:2]) for texture in textures)
    if max(height, width) >= least:
        size = f"images of {height} x {width} pixels"
        problem = f"{size} are too large for 'frost', whose least photograph has a side of {least}"
        raise InputError(problem, remedy="Use 'frost_procedural', or smaller images")
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
def frost_procedural(
    images: Images, generators: Generators, weight: float, frosted: float
) -> Images:
    """Scale each image, and add computed ice: bright parts of sharpened clouds, slightly blue."""
    _, height, width, _ = images.shape
    clouds = operations.plasma(generators, max(height, width), 1.7)[:, :height, :width, None]
    sharp = clouds + 2 * (clouds - operations.gaussian(clouds, 1.0))
    ice = np.clip((sharp - 0.3) / 0.5, 0, 1) * (_ICE * frosted).astype(np.float32)
    return images * images.dtype.type(weight) + ice.astype(images.dtype)


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
def snow(
    images: Images, generators: Generators, mean: float, spread: float, zoom: float,
    threshold: float, radius: int, sigma: float, weight: float,
) -> Images:  # fmt: skip
    """Whiten each image, and add streaks of snow."""
    flakes = operations.normals(generators, images.shape, mean, spread)
    flakes = operations.summed_zooms(flakes, np.array([zoom]))
    flakes[flakes < threshold] = 0
    angles = np.array([generator.uniform(-135, -45) for generator in generators])
    flakes = operations.motion_streaks(np.clip(flakes, 0, 1), radius, sigma, angles)
    flakes = flakes.astype(images.dtype)
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
def spatter(
    images: Images, generators: Generators, mean: float, spread: float, sigma: float,
    threshold: float, strength: float, mud: int,
) -> Images:  # fmt: skip
    """Spatter each image with drops of water or, if `mud` is not 0, with mud."""
    liquid = operations.gaussian(operations.normals(generators, images.shape, mean, spread), sigma)
    if mud:
        cover = operations.gaussian((liquid > threshold).astype(np.float32), strength)
        cover[cover < 0.8] = 0
        cover = cover.astype(images.dtype)
        return images * (1 - cover) + cover * _BROWN.astype(images.dtype)
    liquid[liquid < threshold] = 0
    water = np.stack([drops(layer[..., 0]) for layer in liquid])[..., None].astype(images.dtype)
    return images + water * (strength * _TURQUOISE).astype(images.dtype)
