"""Arrays of images, in memory or mapped from files: pixels, or encoded image files."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_CHUNK_BYTES = 1 << 22  # read at a time from images that may be larger than the memory


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
        """Return the bytes of one image file, without copying them.

        Parameters
        ----------
        i : int
            Index of the image, from 0.

        Returns
        -------
        memoryview
        """
        stop = self.offsets[i + 1] if i + 1 < len(self) else len(self.data)
        return memoryview(self.data[self.offsets[i] : stop])  # type: ignore[arg-type]


Images = npt.NDArray[np.uint8] | EncodedImages


def chunks(array: npt.NDArray[np.uint8]) -> Iterator[memoryview]:
    """Iterate over the bytes of an array in C order, a few megabytes at a time.

    A mapped file is read rather than paged in, so that the memory use of this process does not
    grow by the size of the file.

    Parameters
    ----------
    array : uint8 array
        Of any shape; may be mapped from a file.

    Yields
    ------
    memoryview
    """
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.filename:
        with open(array.filename, "rb") as file:  # noqa: PTH123 - a path or a string
            file.seek(array.offset)
            while part := file.read(_CHUNK_BYTES):
                yield memoryview(part)
        return
    rows = max(1, _CHUNK_BYTES // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).data
        release(array)


def release(array: npt.NDArray[Any]) -> None:
    """Release the memory pages of a mapped file; they are read again when they are accessed.

    Otherwise, all parts of a file that a process has read count towards its memory use. Arrays
    that are not mapped are left alone.

    Parameters
    ----------
    array : array
        A mapped array, or a view of one.
    """
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.obj if isinstance(base, memoryview) else base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
