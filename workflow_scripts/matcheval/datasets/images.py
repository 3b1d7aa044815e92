"""Arrays of images, in memory, mapped from files or made when they are read: pixels or files."""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

_CHUNK_BYTES = 1 << 22  # read at a time from images that may be larger than the memory
_MADE_BYTES = 1 << 20  # made at a time: as float64 and in several copies, tens of megabytes


@dataclass(frozen=True, eq=False)
class EncodedImages:
    """Image files (JPEG, PNG, WebP, ...), concatenated.

    Attributes
    ----------
    data : uint8 array, shape (n_bytes,)
        The bytes of all files; may be mapped from a file.
    offsets : int64 array, shape (n,)
        Position of the first byte of each file; a file ends where the next one starts, the last
        one at the end of `data`.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.offsets)

    def encoded(self, i: int) -> memoryview:
        """Return the bytes of one image file, without copying them."""
        stop = self.offsets[i + 1] if i + 1 < len(self) else len(self.data)
        return memoryview(self.data[self.offsets[i] : stop])  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class MadeImages:
    """Images that are made from other images when they are read, and not kept.

    They are read like an array of pixels: by index, slice, list of indices or as a whole, from
    several threads at once.

    Attributes
    ----------
    shape : tuple of int
        Number of images, height, width, channels.
    recipe : str
        All that the pixels depend on; stands for them in the digest of a dataset.
    make : callable
        Makes the images of an int64 array of indices: uint8, shape (n, height, width, channels).
        What it makes of an index must not depend on the others.
    """

    shape: tuple[int, int, int, int]
    recipe: str
    make: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.uint8]]
    dtype: ClassVar[np.dtype[np.uint8]] = np.dtype(np.uint8)
    ndim: ClassVar[int] = 4

    def __len__(self) -> int:
        """Return the number of images."""
        return self.shape[0]

    @property
    def per_block(self) -> int:
        """Number of images that are made at a time, so that the memory is bounded."""
        return max(1, _MADE_BYTES // int(np.prod(self.shape[1:])))

    def __getitem__(self, key: Any) -> npt.NDArray[np.uint8]:
        """Make one image, for an integer, or several, for what selects elements of an array."""
        chosen = np.arange(len(self))[key]
        rows = np.atleast_1d(chosen)
        made = np.empty((len(rows), *self.shape[1:]), np.uint8)
        for start in range(0, len(rows), self.per_block):
            block = slice(start, start + self.per_block)
            made[block] = self.make(rows[block])
        return made if chosen.ndim else made[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Make all images."""
        return self[:].astype(dtype or np.uint8, copy=False)


# Vectors, such as features of a network, are stored as float32 "images" of 1 × 1 pixel, with a
# channel per feature.
Pixels = npt.NDArray[np.uint8] | npt.NDArray[np.float32] | MadeImages
Images = Pixels | EncodedImages


def chunks(array: Pixels) -> Iterator[memoryview]:
    """Iterate over the bytes of an array in C order, a few megabytes at a time."""
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.filename:
        with open(array.filename, "rb") as file:  # noqa: PTH123 - a path or a string
            file.seek(array.offset)
            while part := file.read(_CHUNK_BYTES):
                yield memoryview(part)
        return
    rows = max(1, _CHUNK_BYTES // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).data.cast("B")
        release(array)


def release(images: npt.NDArray[Any] | EncodedImages | MadeImages) -> None:
    """Release the memory pages of a mapped file; they are read again when they are accessed."""
    base: Any = images.data if isinstance(images, EncodedImages) else images
    while isinstance(base, np.ndarray | memoryview):
        base = base.obj if isinstance(base, memoryview) else base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
