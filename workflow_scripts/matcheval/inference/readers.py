"""Sources of a model's pixels: an array, or images decoded or made during the pass."""

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, MadeImages, image_shape, release
from matcheval.datasets.decoding import array_image
from matcheval.errors import InputError
from matcheval.models.geometry import Geometry


class Reader(Protocol):
    """A source of the images of a dataset, in dataset order."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image."""

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Write images start..stop - 1 into `out`; called from several threads at once."""


class ArrayReader:
    """Read the images of a dataset that is stored as an array, unchanged."""

    def __init__(self, dataset: Dataset) -> None:
        self._images = dataset.pixels
        self.shape = dataset.image_shape

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Copy images from the array."""
        np.copyto(out, self._images[start:stop])
        release(self._images)


class DecodingReader:
    """Decode, resize and crop images on threads; Pillow releases Python's global lock."""

    def __init__(self, dataset: Dataset, geometry: Geometry, n_threads: int) -> None:
        self._dataset, self._geometry = dataset, geometry
        resized = geometry.resize != "none"
        self.shape = (*geometry.crop, 3) if resized else image_shape(dataset)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="decode")

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Decode, resize and crop images."""

        def fill(row: int) -> None:
            pixels = decode(self._dataset, start + row, self._geometry)
            if pixels.shape != self.shape:
                raise InputError(
                    f"image {start + row} ({self._dataset.names[start + row]}) is "
                    f"{pixels.shape[0]} × {pixels.shape[1]} pixels large, but the first image "
                    f"is {self.shape[0]} × {self.shape[1]}",
                    file=self._dataset.name,
                    remedy="Use models whose transform resizes the images",
                )
            out[row] = pixels

        for _ in self._pool.map(fill, range(stop - start)):
            pass
        release(self._dataset.images)


class MakingReader:
    """Make images on threads, several at a time, and resize and crop them."""

    def __init__(self, dataset: Dataset, geometry: Geometry, n_threads: int) -> None:
        assert isinstance(dataset.images, MadeImages), dataset.name
        self._images, self._max_value = dataset.images, dataset.max_value
        self._geometry, self._n_threads = geometry, n_threads
        self.shape = (*geometry.crop, 3) if geometry.resize != "none" else dataset.image_shape
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="make")

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Make, resize and crop images."""
        step = min(self._images.per_block, -(-len(out) // self._n_threads))

        def fill(first: int) -> None:
            last = min(first + step, len(out))
            made = self._images[start + first : start + last]
            if self._geometry.resize == "none":
                out[first:last] = made
                return
            for row, pixels in enumerate(made, first):
                out[row] = np.asarray(self._geometry.apply(array_image(pixels, self._max_value)))

        for _ in self._pool.map(fill, range(0, len(out), step)):
            pass


def decode(dataset: Dataset, index: int, geometry: Geometry) -> npt.NDArray[np.uint8]:
    """Decode, resize and crop one image."""
    return np.asarray(geometry.apply(dataset.image(index)))
