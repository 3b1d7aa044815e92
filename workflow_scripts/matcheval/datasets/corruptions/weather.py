"""Weather: fog, frost, snow, and spatter of water and mud.

Source: ImageNet-C (Hendrycks & Dietterich 2019); streaks of snow as in `imagecorruptions`.
"""

import numpy as np
import numpy.typing as npt

from matcheval.datasets.corruptions.corruption import Corruption, Generators, Images, by_size
from matcheval.datasets.corruptions.fields import normals, plasma
from matcheval.datasets.corruptions.filters import centre_zooms, gaussian, streaks
from matcheval.datasets.corruptions.frost_textures import load_textures
from matcheval.datasets.corruptions.water import drops
from matcheval.errors import InputError

_GREY = (0.299, 0.587, 0.114)  # weights of red, green and blue
_TURQUOISE, _BROWN = np.array([175, 238, 238]) / 255, np.array([63, 42, 20]) / 255
_ICE = np.array([0.84, 0.92, 1.0])


def fog(images: Images, parameters: tuple[float, float], generators: Generators) -> Images:
    """Add clouds, and scale so that the maximum stays."""
    strength, decay = parameters
    most = images.max(axis=(1, 2, 3), keepdims=True)
    clouds = plasma(generators, max(images.shape[1:3]), decay)
    clouds = clouds[:, : images.shape[1], : images.shape[2], None].astype(images.dtype)
    clouds *= strength
    corrupted = images + clouds
    corrupted *= most / (most + images.dtype.type(strength))
    return corrupted


def frost(
    images: Images,
    parameters: tuple[float, float, int],
    generators: Generators,
    textures: list[npt.NDArray[np.uint8]],
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


def frost_procedural(
    images: Images, parameters: tuple[float, float], generators: Generators
) -> Images:
    """Add ice that is computed: a sharpened plasma's bright parts, slightly blue."""
    weight, frosted = parameters
    _, height, width, _ = images.shape
    clouds = plasma(generators, max(height, width), 1.7)[:, :height, :width, None]
    sharp = clouds + 2 * (clouds - gaussian(clouds, 1.0))
    ice = np.clip((sharp - 0.3) / 0.5, 0, 1) * (_ICE * frosted).astype(np.float32)
    return images * images.dtype.type(weight) + ice.astype(images.dtype)


def snow(
    images: Images,
    parameters: tuple[float, float, float, float, int, float, float],
    generators: Generators,
) -> Images:
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


def spatter(
    images: Images,
    parameters: tuple[float, float, float, float, float, int],
    generators: Generators,
) -> Images:
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
    water = np.stack([drops(one[..., 0]) for one in liquid])[..., None]
    return images + water.astype(images.dtype) * (strength * _TURQUOISE).astype(images.dtype)


_FROST = (
    ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
    ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
)

CORRUPTIONS = (
    Corruption(
        "fog", "weather",
        by_size(
            ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
            ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
        ),
        fog,
    ),
    Corruption(
        "frost", "weather",
        by_size(tuple((*one, 5) for one in _FROST[0]), tuple((*one, 1) for one in _FROST[1])),
        frost, load=load_textures,
    ),
    Corruption("frost_procedural", "weather", by_size(*_FROST), frost_procedural),
    Corruption(
        "snow", "weather",
        by_size(
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
        ),
        snow,
    ),
    Corruption(
        "spatter", "weather",
        by_size(
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
        ),
        spatter,
    ),
)  # fmt: skip
