"""The compiled loop that finds the k smallest distances of every row.

NumPy has to sort or partition every block, with ties resolved by a key that contains the position;
that takes longer by far (benchmarks/README.md).
"""

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

Floats = npt.NDArray[np.float64]


@compiled()
def keep_nearest(block: Floats, column: int, squared: Floats, index: npt.NDArray[np.int64]) -> None:
    """Merge a block of distances into the k smallest of every row so far."""
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
