"""Blocks of rows: a fixed unit of writing and summing, whatever the size of the batches."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float32]

BLOCK = 2048  # rows that are written or summed at a time


class Blocks:
    """Regroup the rows of batches into blocks of `BLOCK` rows."""

    def __init__(self) -> None:
        self._parts: list[tuple[Rows, ...]] = []
        self._n = 0

    def add(self, *arrays: Rows) -> Iterator[tuple[Rows, ...]]:
        """Add rows and yield the blocks that are complete."""
        self._parts.append(arrays)
        self._n += len(arrays[0])
        while self._n >= BLOCK:
            yield self._take(BLOCK)

    def rest(self) -> Iterator[tuple[Rows, ...]]:
        """Yield the last, incomplete block if any rows are left."""
        if self._n:
            yield self._take(self._n)

    def _take(self, n: int) -> tuple[Rows, ...]:
        joined = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        self._parts = [tuple(array[n:] for array in joined)]
        self._n -= n
        return tuple(array[:n] for array in joined)
