"""Correction of p-values of several tests."""

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import FloatArray


def holm(p: npt.ArrayLike) -> FloatArray:
    """Correct p-values such that the chance of any false rejection is at most the level.

    Parameters
    ----------
    p : array-like, shape (n,)
        NaN is left out and does not count as a test.

    Returns
    -------
    float64 array, shape (n,)
        The running maximum, from the smallest, of the k-th smallest value times n - k + 1; at most
        1. NaN where `p` is.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6.
    """
    values = np.asarray(p, np.float64)
    corrected = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return corrected
