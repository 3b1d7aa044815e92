"""Significance tests for differences between accuracies."""

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import FloatArray, check_level


def two_sample_z(
    correct: npt.ArrayLike, n: npt.ArrayLike, other_correct: npt.ArrayLike, other_n: npt.ArrayLike
) -> FloatArray:
    """Compute the z statistic of the difference between two independent accuracies.

    The statistic is the difference divided by its standard error. The two binomial proportions
    are not pooled, because pooling would assume the equality that is being tested.

    Parameters
    ----------
    correct, n : array-like of int
        Numbers of correct predictions and of datapoints on the first set; all four arguments
        broadcast against each other.
    other_correct, other_n : array-like of int
        The same for the second set.

    Returns
    -------
    float64 array
        z, positive where the first accuracy is higher. NaN where a size is unknown (n of 0) or
        the standard error is 0, which is the case if both accuracies are 0 or 1.

    References
    ----------
    Recht et al. (2019), arXiv 1902.10811, appendix B.2.1, test whether new and original accuracy
    are equal.
    """
    sizes = [np.asarray(size, np.float64) for size in (n, other_n)]
    counts = [np.asarray(count, np.float64) for count in (correct, other_correct)]
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (count / size for count, size in zip(counts, sizes, strict=True))
        variance = first * (1 - first) / sizes[0] + second * (1 - second) / sizes[1]
        z = (first - second) / np.sqrt(variance)
    # With a size of 0 the variance is NaN or negative.
    return np.where(variance > 0, z, np.nan)


def count_significant(z: npt.ArrayLike, level: float = 0.95) -> int:
    """Count the significant differences, with Bonferroni's correction for multiple tests.

    Tests are two-sided. The family-wise error rate, the probability of counting at least one
    pair of equal accuracies, is at most 1 - `level`, however the tests depend on each other. It
    covers the tests of one call only.

    Parameters
    ----------
    z : array-like, shape (n_tests,)
        Standard normal test statistics; NaN is left out and does not count as a test.
    level : float
        1 minus the family-wise error rate, in (0, 1).

    Returns
    -------
    int
        Number of tests whose |z| exceeds the corrected threshold.

    Raises
    ------
    InputError
        If the level is out of range and there is at least one test.
    """
    from scipy.special import ndtri

    values = np.asarray(z, np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return 0
    threshold = -ndtri((1 - check_level(level)) / (2 * len(values)))
    return int((np.abs(values) > threshold).sum())
