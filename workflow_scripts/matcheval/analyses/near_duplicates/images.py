"""Images of one size as an array, with their labels and names."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError


@dataclass(frozen=True, eq=False)
class LabelledPixels:
    """Images of one size, with their labels and names."""

    name: str
    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    max_value: int
    sha256: str


def labelled_pixels(dataset: Dataset, size: int | None = None) -> LabelledPixels:
    """Give a dataset's images as an array of one size."""
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
