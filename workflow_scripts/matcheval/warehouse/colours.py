"""The dominant colour of an image, by name.

Twelve names, those that search engines usually offer. A pixel has one of them by its hue H (in
degrees), saturation S and value V (in [0, 1]), with colours rounded to 64 levels per channel; the
first line that fits counts:

| name | rule |
| --- | --- |
| black | V < 0.2 |
| white | S < 0.12 and V > 0.85 |
| gray | S < 0.12, or S < 0.2 and V < 0.4 |
| brown | 10 ≤ H < 45 and V < 0.65, or H < 20 or H ≥ 345 with S < 0.6 and V < 0.5 |
| pink | (H ≥ 290 or H < 10) and S < 0.6 and V > 0.6, or 290 ≤ H < 345 |
| red | H < 15 or H ≥ 345 |
| orange | H < 42 |
| yellow | H < 68 |
| green | H < 160 |
| teal | H < 195 |
| blue | H < 255 |
| purple | the rest, H < 290 |
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

NAMES = (
    "black", "white", "gray", "brown", "pink", "red", "orange", "yellow", "green", "teal", "blue",
    "purple",
)  # fmt: skip
# Colours of chips in figures.
CHIPS = {
    "black": "#000000", "white": "#ffffff", "gray": "#808080", "brown": "#7a4a21",
    "pink": "#ff8fb8", "red": "#d62728", "orange": "#ff9a1f", "yellow": "#f5dc2a",
    "green": "#2ca02c", "teal": "#19a7a0", "blue": "#2456c8", "purple": "#7b3fa8",
}  # fmt: skip
_BITS = 6  # of each channel
_MOST = 128  # pixels per side that are looked at


def names_of_colours(rgb: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Name colours by the rules of this module."""
    from matplotlib.colors import rgb_to_hsv

    hue, s, v = np.moveaxis(rgb_to_hsv(rgb), -1, 0)
    h = 360 * hue
    reddish = (h >= 290) | (h < 10)
    rules: list[tuple[str, npt.NDArray[Any]]] = [
        ("black", v < 0.2),
        ("white", (s < 0.12) & (v > 0.85)),
        ("gray", (s < 0.12) | ((s < 0.2) & (v < 0.4))),
        ("brown", ((h >= 10) & (h < 45) & (v < 0.65))
         | (((h < 20) | (h >= 345)) & (s < 0.6) & (v < 0.5))),
        ("pink", (reddish & (s < 0.6) & (v > 0.6)) | ((h >= 290) & (h < 345))),
        ("red", (h < 15) | (h >= 345)),
        ("orange", h < 42),
        ("yellow", h < 68),
        ("green", h < 160),
        ("teal", h < 195),
        ("blue", h < 255),
        ("purple", h < 290),
    ]  # fmt: skip
    numbers = [NAMES.index(name) for name, _ in rules]
    chosen = np.select([rule for _, rule in rules], numbers)
    return chosen.astype(np.uint8)


@cache
def _table() -> npt.NDArray[np.uint8]:
    """Names of all colours of so many bits, at the centres of their cells."""
    levels = np.arange(1 << _BITS)
    cells = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    return names_of_colours(cells / levels[-1])


def dominant_colour(image: Image.Image) -> str:
    """Find the most frequent of the twelve names over the pixels of an image."""
    step = -(-max(image.size) // _MOST)
    pixels = np.asarray(image)[::step, ::step] >> (8 - _BITS)
    red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
    cells = (red << (2 * _BITS)) | (green << _BITS) | blue
    counts = np.bincount(_table()[cells].ravel(), minlength=len(NAMES))
    return NAMES[int(counts.argmax())]
