"""Where a model's pixels come from: an array, a pixel cache, or images decoded on the way."""

import mmap
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from matcheval.datasets.folders import Dataset
from matcheval.errors import InputError
from matcheval.inference.geometry import Geometry


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
        self._images = dataset.images
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
        self.shape = (*geometry.crop, 3)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="decode")

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Decode images."""

        def fill(row: int) -> None:
            out[row] = decode(self._dataset, start + row, self._geometry)

        for _ in self._pool.map(fill, range(stop - start)):
            pass
        release(self._dataset.images)


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
    try:
        return np.asarray(geometry.apply(dataset.image(index)))
    # Pillow's decoders raise all three, and SyntaxError for a broken PNG.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(
            f"image {index} ('{dataset.names[index]}') cannot be decoded ({error})",
            file=dataset.name,
            remedy="Replace the image at its source, and prepare the dataset again",
        ) from error


def release(array: object) -> None:
    """Let go of the pages of a mapped file that were read; they are read again where needed.

    Without it, a process seems to hold as much of a file as it has ever read of it.
    """
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "_mmap", None) or getattr(array, "base", None) or getattr(
            array, "data_array", None
        )
    if array is not None and hasattr(array, "madvise"):
        array.madvise(mmap.MADV_DONTNEED)
