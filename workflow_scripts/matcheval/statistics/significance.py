"""Significance tests for differences between accuracies."""

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics.intervals import FloatArray, normal_quantile


def difference_error(
    correct: npt.ArrayLike, n: npt.ArrayLike, other_correct: npt.ArrayLike, other_n: npt.ArrayLike
) -> FloatArray:
    """Compute the standard error of the difference between two independent accuracies."""
    variance: FloatArray = np.zeros(())
    with np.errstate(divide="ignore", invalid="ignore"):
        for count, size in ((correct, n), (other_correct, other_n)):
            sizes = np.asarray(size, np.float64)
            accuracy = np.asarray(count, np.float64) / sizes
            variance = variance + np.where(sizes > 0, accuracy * (1 - accuracy) / sizes, np.nan)
    return np.sqrt(variance)


def paired_error(right: npt.ArrayLike, other_right: npt.ArrayLike) -> FloatArray:
    """Compute the standard error of the difference between two accuracies on the same images.

    The difference over this error is the z statistic of McNemar's test, but for its error, which
    is not taken under the hypothesis of no difference; NaN for fewer than two images.
    """
    difference = np.asarray(right, np.int8) - np.asarray(other_right, np.int8)
    n = difference.shape[1]
    if n < 2:
        return np.full(len(difference), np.nan)
    return difference.std(axis=1, ddof=1, dtype=np.float64) / np.sqrt(n)


def count_significant(z: npt.ArrayLike, level: float = 0.95) -> int:
    """Count the significant differences by two-sided tests, with Bonferroni's correction."""
    values = np.asarray(z, np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return 0
    threshold = normal_quantile(1 - (1 - level) / len(values))
    return int((np.abs(values) > threshold).sum())


def mcnemar(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> FloatArray:
    """Test whether a pair is as often right on the first side alone as on the second alone."""
    from scipy.stats import binom

    first, second = np.asarray(only_first), np.asarray(only_second)
    if (first < 0).any() or (second < 0).any():
        raise InputError("a number of pairs is negative")
    tail: FloatArray = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return np.minimum(1.0, 2 * tail)


def fisher(correct: int, n: int, other_correct: int, other_n: int) -> float:
    """Test exactly whether two independent accuracies differ: two-sided, twice the smaller tail."""
    from scipy.special import gammaln

    total, both = correct + other_correct, n + other_n
    k = np.arange(max(0, total - other_n), min(n, total) + 1)

    def log_choose(of: int, some: npt.ArrayLike) -> FloatArray:
        chosen = np.asarray(some, np.float64)
        logarithm: FloatArray = gammaln(of + 1) - gammaln(chosen + 1) - gammaln(of - chosen + 1)
        return logarithm

    p = np.exp(log_choose(n, k) + log_choose(other_n, total - k) - log_choose(both, total))
    return min(1.0, 2 * float(min(p[k <= correct].sum(), p[k >= correct].sum())))


def holm(p: npt.ArrayLike) -> FloatArray:
    """Correct p-values such that the chance of any false rejection is at most the level.

    Holm (1979), Scandinavian Journal of Statistics 6.
    """
    values = np.asarray(p, np.float64)
    corrected = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return corrected
