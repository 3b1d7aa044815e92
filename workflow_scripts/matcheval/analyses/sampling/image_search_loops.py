"""Compiled loops of the search: the k smallest distances, and similarities.

NumPy takes longer by far, also to sort or partition every block (benchmarks/README.md).
"""

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

Floats = npt.NDArray[np.float64]


@compiled()
def keep_nearest(block: Floats, column: int, squared: Floats, index: npt.NDArray[np.int64]) -> None:
    """Merge a block of distances into each row's k smallest so far, `squared` and `index`."""
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


Pixels = npt.NDArray[np.uint8]
_SUMS = 5  # sums of x, y, x², y² and xy


@compiled()
def compare_pairs(
    queries: Pixels, references: Pixels, index: npt.NDArray[np.int64], window: int, c1: float,
    c2: float, result: Floats,
) -> None:  # fmt: skip
    """Write into `result` the structural similarity of every query to its references in `index`.

    Sums are of integers, so that they are not rounded.
    """
    _, height, width, channels = queries.shape
    places = (height - window + 1) * (width - window + 1) * channels
    columns = np.empty((width, _SUMS), np.int64)
    sums = np.empty(_SUMS, np.int64)
    for query, rank in np.ndindex(index.shape):
        total = 0.0
        for channel in range(channels):
            columns[:] = 0
            x = queries[query, :, :, channel]
            y = references[index[query, rank], :, :, channel]
            for row in range(height):
                _add_row(columns, x[row], y[row], 1)
                if row >= window:
                    _add_row(columns, x[row - window], y[row - window], -1)
                if row < window - 1:
                    continue
                sums[:] = 0
                for column in range(width):
                    for s in range(_SUMS):
                        sums[s] += columns[column, s]
                        if column >= window:
                            sums[s] -= columns[column - window, s]
                    if column >= window - 1:
                        total += _window_similarity(sums, window * window, c1, c2)
        result[query, rank] = total / places


@compiled(inline="always")
def _add_row(columns: npt.NDArray[np.int64], x: Pixels, y: Pixels, sign: int) -> None:
    """Add a row of both images to the sums of every column, or subtract it (sign −1)."""
    for column in range(len(x)):
        a, b = np.int64(x[column]), np.int64(y[column])
        columns[column, 0] += sign * a
        columns[column, 1] += sign * b
        columns[column, 2] += sign * a * a
        columns[column, 3] += sign * b * b
        columns[column, 4] += sign * a * b


@compiled(inline="always")
def _window_similarity(sums: npt.NDArray[np.int64], n: int, c1: float, c2: float) -> float:
    """Compute the structural similarity in one window of n pixels, with sample variances."""
    x, y = sums[0] / n, sums[1] / n
    var_x = (sums[2] - x * sums[0]) / (n - 1)
    var_y = (sums[3] - y * sums[1]) / (n - 1)
    covariance = (sums[4] - x * sums[1]) / (n - 1)
    above = (2 * x * y + c1) * (2 * covariance + c2)
    return above / ((x * x + y * y + c1) * (var_x + var_y + c2))
