"""McNemar's test of whether two dependent accuracies differ."""

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics.intervals import FloatArray


def mcnemar(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> FloatArray:
    """Test whether a pair is as often right on the first side alone as on the second alone."""
    from scipy.stats import binom

    first, second = np.asarray(only_first), np.asarray(only_second)
    if (first < 0).any() or (second < 0).any():
        raise InputError("a number of pairs is negative")
    tail: FloatArray = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return np.minimum(1.0, 2 * tail)
