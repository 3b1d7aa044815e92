"""Intervals of accuracies with their levels, and tests of differences between accuracies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.text_tables import level_text

FloatArray = npt.NDArray[np.float64]
LEVEL = 0.95  # of intervals, where no other is asked for


@dataclass(frozen=True)
class Interval:
    """Lower and upper bounds: float64 arrays of equal shape."""

    low: FloatArray
    high: FloatArray


def normal_quantile(level: float) -> float:
    """Return the half-width, in standard errors, of a two-sided normal interval."""
    from scipy.special import ndtri

    return float(-ndtri((1 - level) / 2))


def normal_factor(level: float) -> float:
    """Return `normal_quantile`; at 95 % the 1.96 by which the protocol's errors are defined."""
    return 1.96 if level == LEVEL else normal_quantile(level)


def percentiles(level: float) -> tuple[float, float]:
    """Return the percentiles between which a share of the values lies; 2.5 and 97.5 at 95 %."""
    tail = round(50 * (1 - level), 12)  # 0.95 is stored inexactly
    return tail, 100 - tail


def at_level(text: str, level: float) -> str:
    """Fill `{level}` and `{factor}`, the level of intervals and its normal quantile, in a text."""
    factor = f"{normal_factor(level):.4g}"
    return text.replace("{level}", level_text(level)).replace("{factor}", factor)


def check_level(level: object) -> None:
    """Check that a level of intervals lies between 0 and 1."""
    is_number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not is_number or not 0 < level < 1:  # type: ignore[operator]
        remedy = "Give a number between 0 and 1, usually 0.95"
        raise InputError(f"confidence is {level!r:.40}", remedy=remedy)


def clopper_pearson(
    correct: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95
) -> Interval:  # fmt: skip
    """Compute exact (Clopper-Pearson) binomial intervals of accuracies; NaN where n is 0."""
    from scipy.special import betaincinv

    check_level(level)
    tail = (1 - level) / 2
    k, m = np.broadcast_arrays(np.asarray(correct), np.asarray(n))
    bad = (m < 0) | ((m > 0) & ((k < 0) | (k > m)))
    if bad.any():
        first = np.unravel_index(int(bad.argmax()), bad.shape)
        raise InputError(f"{k[first]} correct of {m[first]}", remedy="Give 0 <= correct <= n")
    # Where a bound is known to be 0 or 1, the beta distribution is undefined and its quantile NaN.
    low = np.where(k == 0, 0.0, betaincinv(k, m - k + 1, tail))
    high = np.where(k == m, 1.0, betaincinv(k + 1, m - k, 1 - tail))
    return Interval(np.where(m == 0, np.nan, low), np.where(m == 0, np.nan, high))


def wilson(p: float, n: float, level: float) -> tuple[float, float]:
    """Return Wilson's score interval (1927) of a share of n, whose coverage is approximate."""
    z = normal_quantile(level)
    scale = 1 + z**2 / n
    centre = (p + z**2 / (2 * n)) / scale
    half = z / scale * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return centre - half if p else 0.0, centre + half if p < 1 else 1.0


def accuracy_columns(
    part: str, correct: npt.NDArray[np.bool_], confidence: float
) -> dict[str, Any]:  # fmt: skip
    """Compute count, accuracy and Clopper-Pearson interval of a subset, by column name."""
    n, n_correct, end = len(correct), int(correct.sum()), f"_{part}" if part else ""
    interval = clopper_pearson(n_correct, n, confidence)
    return {
        f"n{end}": n, f"n_correct{end}": n_correct,
        f"accuracy{end}": n_correct / n if n else float("nan"),
        f"accuracy{end}_low": float(interval.low), f"accuracy{end}_high": float(interval.high),
    }  # fmt: skip


# --- Tests of differences


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
