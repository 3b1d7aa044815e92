"""Levels of intervals, and exact confidence intervals for accuracies."""

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
