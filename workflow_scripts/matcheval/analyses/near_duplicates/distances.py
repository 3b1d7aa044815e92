"""Exact ℓ2 nearest neighbours of images, over pixels.

Distances come from a blocked matrix product in single precision that is nevertheless exact: pixels
minus 128 are whole numbers of at most 2⁷, so that a sum of 1,024 products is a whole number of at
most 2²⁴, and single precision holds all of those. Longer images are cut into pieces of 1,024 values
whose products are added in double precision. No distance is rounded, so ties are ties.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

Pixels = npt.NDArray[np.uint8]

_PIECE = 1024  # values, see above
_CENTRE = 128
_ROWS, _COLUMNS = 2048, 4096  # of a block: 64 MiB of distances


@dataclass(frozen=True)
class Neighbours:
    """The nearest references of every query, nearest first.

    Attributes
    ----------
    index : int64 array, shape (n_queries, k)
        Rows of the references; among equally distant ones the lowest come first.
    squared : float64 array, shape (n_queries, k)
        Squared ℓ2 distances, exact whole numbers.
    """

    index: npt.NDArray[np.int64]
    squared: npt.NDArray[np.float64]

    @property
    def distance(self) -> npt.NDArray[np.float64]:
        """ℓ2 distances, in pixel values."""
        return np.sqrt(self.squared)


def nearest_neighbours(
    queries: Pixels, references: Pixels, k: int, *, same: bool = False
) -> Neighbours:  # fmt: skip
    """Find the k nearest references of every query, exactly.

    Parameters
    ----------
    queries, references : uint8 arrays, shape (n, ...)
        Images of one shape; perhaps mapped from files.
    k : int
        At least 1 and at most the number of references to choose from.
    same : bool
        Queries are the references: an image is not its own neighbour.

    Raises
    ------
    InputError
        If shapes differ or are not as said, or k is out of range.

    Notes
    -----
    Work is O(n_queries · n_references · n_values); memory about 100 MiB beside the images and k
    numbers per query.
    """
    from matcheval.analyses.near_duplicates.nearest import keep_nearest

    _check(queries, references)
    most = len(references) - same
    if not 1 <= k <= most:
        raise InputError(
            f"{k} neighbours of {most} images", field="k", remedy=f"Give 1 to {max(most, 1)}"
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
    """List all (query, reference, ℓ2 distance) that are at most `distance` pixel values apart.

    Parameters
    ----------
    queries, references : uint8 arrays, shape (n, ...)
        Images of one shape; either may be empty.
    distance : float
        At least 0.

    Returns
    -------
    list
        By query, then reference. Where queries are the references, each is its own neighbour.
    """
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
                f"has shape {images.shape} and dtype {images.dtype}",
                field=name,
                remedy="Give uint8 images",
            )
    if queries.shape[1:] != references.shape[1:]:
        raise InputError(
            f"images of shape {queries.shape[1:]} are not compared with {references.shape[1:]}",
            remedy="Bring both sets to one size first",
        )


def _blocks(
    queries: Pixels, references: Pixels
) -> Iterator[tuple[int, int, npt.NDArray[np.float64]]]:
    """Yield squared distances by blocks: first row, first column, and the block, to be changed."""
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
