"""The compiled loop that keeps the k smallest distances of every row."""

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

Floats = npt.NDArray[np.float64]


@compiled()
def keep_nearest(block: Floats, column: int, squared: Floats, index: npt.NDArray[np.int64]) -> None:
    """Merge a block of distances into the nearest of every row so far.

    Parameters
    ----------
    block : float64 array, shape (n_rows, n_columns)
        Distances to references `column`, `column + 1`, ...: blocks come by rising column.
    column : int
    squared, index : float64 and int64 arrays, shape (n_rows, k)
        Ascending; changed. Of equal distances the first seen stays before.
    """
    k = squared.shape[1]
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            value = block[i, j]
            if value >= squared[i, k - 1]:
                continue
            place = k - 1
            while place > 0 and squared[i, place - 1] > value:
                squared[i, place] = squared[i, place - 1]
                index[i, place] = index[i, place - 1]
                place -= 1
            squared[i, place] = value
            index[i, place] = column + j
