"""McNemar's test of whether two dependent accuracies differ."""

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics.intervals import FloatArray


def mcnemar(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> FloatArray:
    """Test whether a pair is as often right on the first side alone as on the second alone.

    Parameters
    ----------
    only_first, only_second : array-like of int, of one shape
        Numbers of pairs of which only the first, or only the second, is right.

    Returns
    -------
    float64 array
        Two-sided exact p-values min(1, 2 P(X ≤ the smaller number)), X binomial with probability
        1/2 among the pairs of either kind; 1 where there is none.

    Raises
    ------
    InputError
        If a number is negative.

    References
    ----------
    McNemar (1947), Psychometrika 12.
    """
    from scipy.stats import binom

    first, second = np.asarray(only_first), np.asarray(only_second)
    if (first < 0).any() or (second < 0).any():
        raise InputError("a number of pairs is negative")
    tail: FloatArray = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return np.minimum(1.0, 2 * tail)
