"""Whether two accuracies differ by more than chance."""

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import FloatArray, check_level


def two_sample_z(
    correct: npt.ArrayLike, n: npt.ArrayLike, other_correct: npt.ArrayLike, other_n: npt.ArrayLike
) -> FloatArray:
    """Difference of two independent accuracies over its standard error.

    Recht et al. (2019), arXiv 1902.10811, appendix B.2.1, ask whether new and original accuracy
    could be equal. The standard error is of the two binomial proportions, each by itself: pooling
    them would take for granted what is asked.

    Parameters
    ----------
    correct, n : array-like of int
        Correct predictions and datapoints of one set, of shapes that broadcast.
    other_correct, other_n : array-like of int
        Of the other set.

    Returns
    -------
    float64 array
        z, above 0 where the first accuracy is the higher one. NaN where nothing is known (n of 0)
        or the standard error is 0, as between accuracies of 0 or 1.
    """
    sizes = [np.asarray(size, np.float64) for size in (n, other_n)]
    counts = [np.asarray(count, np.float64) for count in (correct, other_correct)]
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (count / size for count, size in zip(counts, sizes, strict=True))
        variance = first * (1 - first) / sizes[0] + second * (1 - second) / sizes[1]
        z = (first - second) / np.sqrt(variance)
    known = (sizes[0] > 0) & (sizes[1] > 0) & (variance > 0)
    return np.where(known, z, np.nan)


def count_significant(z: npt.ArrayLike, level: float = 0.95) -> int:
    """How many of the differences are significant, all tests taken together.

    Two-sided, by Bonferroni's correction: with a probability of `level` or more none of those
    counted is a difference of equal accuracies, however the tests depend on each other. It is of
    the tests of one call: of several tables, each has its own probability of an error.

    Parameters
    ----------
    z : array-like, shape (n_tests,)
        NaN is no test.
    level : float
        1 minus the probability of an error in any of the tests.
    """
    from scipy.special import ndtri

    values = np.asarray(z, np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return 0
    threshold = -ndtri((1 - check_level(level)) / (2 * len(values)))
    return int((np.abs(values) > threshold).sum())
