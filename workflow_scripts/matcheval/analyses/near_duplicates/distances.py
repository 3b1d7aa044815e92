"""Exact ℓ2 nearest neighbours of images, over pixels.

Distances are computed by blocked matrix products in single precision, and are exact all the same:
pixels minus 128 are integers of magnitude at most 2⁷, so a sum of 1,024 products is an integer of
magnitude at most 2²⁴, which single precision represents exactly. Longer images are cut into pieces
of 1,024 values whose products are added in double precision. No squared distance is rounded, so
equal distances compare equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

Pixels = npt.NDArray[np.uint8]

_PIECE = 1024  # values of an image per product, see above
_CENTRE = 128
_ROWS, _COLUMNS = 2048, 4096  # queries and references per block: 64 MiB of distances


@dataclass(frozen=True)
class Neighbours:
    """The nearest references of every query, nearest first."""

    index: npt.NDArray[np.int64]
    squared: npt.NDArray[np.float64]

    @property
    def distance(self) -> npt.NDArray[np.float64]:
        """ℓ2 distances in pixel values, shape (n_queries, k)."""
        return np.sqrt(self.squared)


def nearest_neighbours(
    queries: Pixels, references: Pixels, k: int, *, same: bool = False
) -> Neighbours:  # fmt: skip
    """Find the k nearest references of every query, exactly."""
    from matcheval.analyses.near_duplicates.nearest import keep_nearest

    _check(queries, references)
    most = len(references) - same
    if not 1 <= k <= most:
        raise InputError(
            f"cannot find {k} neighbours among {most} images",
            field="k",
            remedy=f"Give a number from 1 to {max(most, 1)}",
        )
    squared = np.full((len(queries), k), np.inf)
    index = np.full((len(queries), k), -1, np.int64)
    for row, column, block in _blocks(queries, references):
        rows = slice(row, row + len(block))
        if same:
            _mask_self(block, row, column)
        keep_nearest(block, column, squared[rows], index[rows])
    return Neighbours(index, squared)


def pairs_within(
    queries: Pixels, references: Pixels, distance: float
) -> list[tuple[int, int, float]]:
    """List all pairs of a query and a reference within an ℓ2 distance of each other."""
    if not len(queries) or not len(references):
        return []
    _check(queries, references)
    found: list[tuple[int, int, float]] = []
    for row, column, block in _blocks(queries, references):
        for i, j in np.argwhere(block <= distance * distance):
            found.append((row + int(i), column + int(j), float(np.sqrt(block[i, j]))))
    return sorted(found)


def _check(queries: Pixels, references: Pixels) -> None:
    for name, images in (("queries", queries), ("references", references)):
        if images.dtype != np.uint8 or images.ndim < 2 or 0 in images.shape:
            raise InputError(
                f"shape {images.shape} and dtype {images.dtype}",
                field=name,
                remedy="Give at least one image, of dtype uint8",
            )
    if queries.shape[1:] != references.shape[1:]:
        raise InputError(
            f"cannot compare images of shape {queries.shape[1:]} with images of shape "
            f"{references.shape[1:]}",
            remedy="Resize both sets to the same size first",
        )


def _blocks(
    queries: Pixels, references: Pixels
) -> Iterator[tuple[int, int, npt.NDArray[np.float64]]]:
    """Yield first row, first column and squared distances of each block; callers may modify it."""
    for row in range(0, len(queries), _ROWS):
        left = _centred(queries[row : row + _ROWS])
        left_norms = _norms(left)
        for column in range(0, len(references), _COLUMNS):
            right = _centred(references[column : column + _COLUMNS])
            block = np.zeros((len(left), len(right)))
            for start in range(0, left.shape[1], _PIECE):
                piece = slice(start, start + _PIECE)
                block += left[:, piece] @ right[:, piece].T
            block *= -2
            block += left_norms[:, None]
            block += _norms(right)[None, :]
            yield row, column, block


def _centred(images: Pixels) -> npt.NDArray[np.float32]:
    flat = np.asarray(images).reshape(len(images), -1).astype(np.float32)
    flat -= _CENTRE
    return flat


def _norms(flat: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    norms: npt.NDArray[np.float64] = np.einsum("ij,ij->i", flat, flat, dtype=np.float64)
    return norms


def _mask_self(block: npt.NDArray[np.float64], row: int, column: int) -> None:
    rows = np.arange(row, row + len(block))
    inside = (rows >= column) & (rows < column + block.shape[1])
    block[rows[inside] - row, rows[inside] - column] = np.inf
