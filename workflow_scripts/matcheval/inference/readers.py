"""Where a model's pixels come from: an array, a pixel cache, or images decoded on the way."""

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, EncodedImages, image_shape, release
from matcheval.errors import InputError
from matcheval.models.geometry import Geometry


class Reader(Protocol):
    """A source of the images of a dataset, in dataset order."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image."""

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Put images start..stop - 1 into `out`; called from several threads at once."""


class ArrayReader:
    """Reads the images of a dataset that is stored as an array, as they are."""

    def __init__(self, dataset: Dataset) -> None:
        self._images = dataset.pixels
        self.shape = dataset.image_shape

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Copy rows of the array."""
        np.copyto(out, self._images[start:stop])
        release(self._images)


class DecodingReader:
    """Decodes images and changes their geometry, on threads: Pillow works outside Python's lock.

    Measured on two cores, two threads decode and resize 480 photographs a second, two processes
    390 (their pixels have to be sent back), one thread 280.
    """

    def __init__(self, dataset: Dataset, geometry: Geometry, n_threads: int) -> None:
        self._dataset, self._geometry = dataset, geometry
        resized = geometry.resize != "none"
        self.shape = (*geometry.crop, 3) if resized else image_shape(dataset)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="decode")

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Decode images."""

        def fill(row: int) -> None:
            pixels = decode(self._dataset, start + row, self._geometry)
            if pixels.shape != self.shape:
                raise InputError(
                    f"image {start + row} ({self._dataset.names[start + row]}) is "
                    f"{pixels.shape[0]} × {pixels.shape[1]} pixels large, others are "
                    f"{self.shape[0]} × {self.shape[1]}",
                    file=self._dataset.name,
                    remedy="Use models with a transform that resizes",
                )
            out[row] = pixels

        for _ in self._pool.map(fill, range(stop - start)):
            pass
        images = self._dataset.images
        release(images.data if isinstance(images, EncodedImages) else images)


def decode(dataset: Dataset, index: int, geometry: Geometry) -> npt.NDArray[np.uint8]:
    """Decode one image and change its geometry.

    Returns
    -------
    uint8 array, shape (height, width, 3)

    Raises
    ------
    InputError
        Naming the image, if it cannot be decoded.
    """
    return np.asarray(geometry.apply(dataset.image(index)))
