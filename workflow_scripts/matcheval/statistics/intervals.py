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
    """Return the half-width of a two-sided normal interval in standard errors, such as 1.96."""
    from scipy.special import ndtri

    return float(-ndtri((1 - level) / 2))


def normal_factor(level: float) -> float:
    """Return `normal_quantile`, but exactly 1.96 at 95 %, as the protocol defines its errors."""
    return 1.96 if level == LEVEL else normal_quantile(level)


def percentiles(level: float) -> tuple[float, float]:
    """Return the lower and upper percentile of a central interval: 2.5 and 97.5 at level 0.95."""
    tail = round(50 * (1 - level), 12)  # 0.95 is stored inexactly
    return tail, 100 - tail


def at_level(text: str, level: float) -> str:
    """Replace `{level}` and `{factor}` in a text by a confidence level and its normal quantile."""
    factor = f"{normal_factor(level):.4g}"
    return text.replace("{level}", level_text(level)).replace("{factor}", factor)


def check_level(level: object) -> None:
    """Raise `InputError` unless a confidence level is a number between 0 and 1."""
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
    """Return Wilson's score interval (1927) of a share `p` of `n`; its coverage is approximate."""
    z = normal_quantile(level)
    scale = 1 + z**2 / n
    centre = (p + z**2 / (2 * n)) / scale
    half = z / scale * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return centre - half if p else 0.0, centre + half if p < 1 else 1.0


def accuracy_columns(
    part: str, correct: npt.NDArray[np.bool_], confidence: float
) -> dict[str, Any]:  # fmt: skip
    """Return the columns of a part: size, count of correct, accuracy and Clopper-Pearson bounds."""
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
    """Count the z values that are significant in two-sided tests with Bonferroni's correction."""
    values = np.asarray(z, np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return 0
    threshold = normal_quantile(1 - (1 - level) / len(values))
    return int((np.abs(values) > threshold).sum())


def mcnemar(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> FloatArray:
    """Return p-values of McNemar's exact test from counts of pairs right on one side only."""
    from scipy.stats import binom

    first, second = np.asarray(only_first), np.asarray(only_second)
    if (first < 0).any() or (second < 0).any():
        raise InputError("a number of pairs is negative")
    tail: FloatArray = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return np.minimum(1.0, 2 * tail)


def fisher(correct: int, n: int, other_correct: int, other_n: int) -> float:
    """Return Fisher's exact p-value that two accuracies are equal: twice the smaller tail."""
    from scipy.special import gammaln

    total, n_both = correct + other_correct, n + other_n
    k = np.arange(max(0, total - other_n), min(n, total) + 1)

    def log_choose(size: int, count: npt.ArrayLike) -> FloatArray:
        chosen = np.asarray(count, np.float64)
        logarithm: FloatArray = gammaln(size + 1) - gammaln(chosen + 1) - gammaln(size - chosen + 1)
        return logarithm

    p = np.exp(log_choose(n, k) + log_choose(other_n, total - k) - log_choose(n_both, total))
    return min(1.0, 2 * float(min(p[k <= correct].sum(), p[k >= correct].sum())))


def holm(p: npt.ArrayLike) -> FloatArray:
    """Adjust p-values for multiple tests by Holm's method; NaN stays NaN and is not counted.

    Holm (1979), Scandinavian Journal of Statistics 6.
    """
    values = np.asarray(p, np.float64)
    corrected = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return corrected
