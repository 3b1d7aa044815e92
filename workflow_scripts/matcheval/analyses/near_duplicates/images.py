"""Images as arrays of one size, with what a table says of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError


@dataclass(frozen=True, eq=False)
class LabelledPixels:
    """Images of one size.

    Attributes
    ----------
    name : str
        Of their dataset.
    pixels : uint8 array, shape (n, height, width, channels)
        Perhaps mapped from a file.
    labels : int16 array, shape (n,)
    names, classes : tuple of str
        Of the images; of the classes, by label.
    max_value : int
        The pixel value that means 1.0.
    sha256 : str
        Of the dataset.
    """

    name: str
    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    max_value: int
    sha256: str


def labelled_pixels(dataset: Dataset, size: int | None = None) -> LabelledPixels:
    """Take a dataset's images as an array.

    Parameters
    ----------
    dataset : Dataset
    size : int, optional
        Bring every image to a square of so many pixels, RGB, by Pillow's bicubic filter: needed
        for image files, which have sizes of their own.

    Raises
    ------
    InputError
        If images have sizes of their own and no size is given, or one cannot be decoded.
    """
    pixels = dataset.pixels if size is None else _resized(dataset, size)
    max_value = dataset.max_value if size is None else 255
    return LabelledPixels(
        dataset.name,
        pixels,
        dataset.labels,
        dataset.names,
        dataset.classes,
        max_value,
        dataset.sha256,
    )


def _resized(dataset: Dataset, size: int) -> npt.NDArray[np.uint8]:
    from PIL.Image import Resampling

    if size < 1:
        raise InputError(f"{size} pixels", field="size", remedy="Give at least 1")
    pixels = np.empty((len(dataset), size, size, 3), np.uint8)
    for i in range(len(dataset)):
        pixels[i] = np.asarray(dataset.image(i).resize((size, size), Resampling.BICUBIC))
    return pixels
