"""Kind `restyled`: the images of another dataset in inverted grey levels, or over backgrounds.

Domains of one task, made without photographs: with the same images and labels in other styles.
"""

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.made_kinds import Restyled
from matcheval.datasets.sources import Sources

_COARSE = 3  # random values per side, between which backgrounds are interpolated


def build_restyled(name: str, settings: Restyled, sources: Sources) -> Dataset:
    """Build a dataset from the images of another one, which are arrays of pixels."""
    source = read_dataset(sources.datasets / settings.of)
    pixels = np.asarray(source.pixels[np.arange(len(source))], np.uint8)
    if settings.style == "inverted":
        made = (source.max_value - pixels).astype(np.uint8)
    else:
        made = over_backgrounds(pixels, source.max_value, settings.seed)
    return make_dataset(
        name,
        made,
        source.labels,
        classes=source.classes,
        max_value=source.max_value,
        source=f"{source.name}, {settings.style}",
        names=source.names,
        provenance={"of": {source.name: source.sha256}},
    )


def over_backgrounds(
    pixels: npt.NDArray[np.uint8], max_value: int, seed: int
) -> npt.NDArray[np.uint8]:
    """Draw images over backgrounds of their own, as the difference of both."""
    n, height, width, channels = pixels.shape
    coarse = np.random.default_rng(seed).random((n, _COARSE, _COARSE, channels))
    rows, columns = (_weights(length) for length in (height, width))
    smooth = np.einsum("ya,nabc,xb->nyxc", rows, coarse, columns)
    return np.asarray(np.abs(np.rint(max_value * smooth) - pixels), np.uint8)


def _weights(length: int) -> npt.NDArray[np.float64]:
    """Weights of the coarse values at each pixel, shape (length, coarse)."""
    place = np.linspace(0, _COARSE - 1, length)
    distance = np.abs(place[:, np.newaxis] - np.arange(_COARSE))
    return np.asarray(np.maximum(0, 1 - distance))
