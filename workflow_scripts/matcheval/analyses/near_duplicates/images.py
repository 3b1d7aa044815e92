"""Images of one size as an array, with their labels and names."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError


@dataclass(frozen=True, eq=False)
class LabelledPixels:
    """Images of one size, with their labels and names.

    Attributes
    ----------
    name : str
        Name of the dataset.
    pixels : uint8 array, shape (n, height, width, channels)
        The images; possibly memory-mapped.
    labels : int16 array, shape (n,)
        Classes of the images, from 0.
    names : tuple of str
        Names of the images.
    classes : tuple of str
        Names of the classes, by label.
    max_value : int
        The pixel value that stands for 1.0.
    sha256 : str
        Digest of the dataset.
    """

    name: str
    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    max_value: int
    sha256: str


def labelled_pixels(dataset: Dataset, size: int | None = None) -> LabelledPixels:
    """Give a dataset's images as an array of one size.

    Parameters
    ----------
    dataset : Dataset
        Arrays of pixels, or image files.
    size : int, optional
        Resize every image to an RGB square of this side in pixels, at least 1, with Pillow's
        bicubic filter: needed for image files, whose sizes differ.

    Returns
    -------
    LabelledPixels
        The images in the order of the dataset.

    Raises
    ------
    InputError
        If the dataset consists of image files and no size is given, the size is out of range, or
        an image cannot be decoded.
    """
    if size is None and dataset.stored == "files":
        raise InputError(
            "its images are files, which may differ in size",
            file=dataset.name,
            remedy="Give a size that all are brought to before they are compared: compare_size",
        )
    pixels = np.asarray(dataset.pixels) if size is None else _resized(dataset, size)
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
