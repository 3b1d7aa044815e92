"""Intervals of an accuracy from k correct of n labels, and the one that all estimators share."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics import intervals
from matcheval.statistics.intervals import FloatArray, check_level, normal_quantile


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bound, and the number of random labels that would give this interval."""

    lower: float
    upper: float
    n_eff: float = float("nan")

    @property
    def half_width(self) -> float:
        """Half the distance of the bounds."""
        return (self.upper - self.lower) / 2


@dataclass(frozen=True)
class Found(Bounds):
    """An estimate with standard error and bounds; `lam` is the weight of the confidences."""

    estimate: float = float("nan")
    se: float = float("nan")
    lam: float | None = None
    n: float = float("nan")  # of the interval where the variance is 0


def check_count(name: str, value: object, least: int = 0) -> None:
    """Check that a count is a whole number from `least`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least:  # type: ignore[operator]
        raise InputError(f"{name} is {value!r:.40}", remedy=f"Give a whole number from {least}")


def checked(name: str, values: npt.ArrayLike, least: float = 0, most: float = 1) -> FloatArray:
    """Return a one-dimensional array of finite numbers in a range."""
    found = np.asarray(values, np.float64)
    if found.ndim != 1:
        raise InputError(f"{name} has {found.ndim} dimensions, not 1")
    bad = ~(np.isfinite(found) & (found >= least) & (found <= most))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{name}: row {row} is {found[row]}, not in [{least:g}, {most:g}]")
    return found


def checked_correct(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return an array of zeros and ones."""
    found = checked(name, values)
    if (bad := (found != 0) & (found != 1)).any():
        raise InputError(f"{name}: row {int(bad.argmax())} is neither 0 nor 1")
    return found


def check_same_length(**lengths: int) -> None:
    """Check that arrays have as many rows as each other."""
    if len({*lengths.values()}) > 1:
        raise InputError(f"unequal lengths {lengths}")


def clopper_pearson(correct: int, n: int, level: float = 0.95) -> Bounds:
    """Return the exact binomial interval (Clopper & Pearson 1934); [0, 1] without a label."""
    _check(correct, n, level)
    found = intervals.clopper_pearson(correct, n, level)
    return Bounds(float(found.low), float(found.high), n) if n else Bounds(0.0, 1.0, 0)


def wilson(correct: int, n: int, level: float = 0.95) -> Bounds:
    """Return Wilson's score interval (1927), whose coverage is approximate."""
    _check(correct, n, level)
    if not n:
        return Bounds(0.0, 1.0, 0)
    return Bounds(*intervals.wilson(correct / n, n, level), n)


def hypergeometric(correct: int, n: int, N: int, level: float = 0.95) -> Bounds:  # noqa: N803
    """Return the exact interval of the accuracy on a set of N, of which n were drawn at random."""
    from scipy.stats import hypergeom

    _check(correct, n, level)
    check_count("N", N, 1)
    if n > N:
        raise InputError(f"{n} labels of {N} datapoints")
    tail, least, most = (1 - level) / 2, correct, N - n + correct
    # The tails grow and fall with the number of correct datapoints in the set.
    low = first(least, most, lambda m: hypergeom.sf(correct - 1, N, m, n) > tail)
    high = first(0, most - least, lambda m: hypergeom.cdf(correct, N, most - m, n) > tail)
    return Bounds(low / N, (most - high) / N, n)


def effective_interval(
    estimate: float, variance: float, n: float, level: float = 0.95
) -> Bounds:  # fmt: skip
    """Return the exact interval at the number of labels that the variance is worth.

    Parameters
    ----------
    estimate : float
        Accuracy; cut to [0, 1].
    variance : float
        Of the estimate.
    n : float
        Number of labels where the variance shows nothing, as it is 0 or the estimate is 0 or 1.
    level : float
        In (0, 1).

    Raises
    ------
    InputError
        If a number is not finite, or the variance or n is negative.

    References
    ----------
    Korn & Graubard (1998), Survey Methodology 24; Clopper-Pearson with n* = p(1 - p) / variance.
    """
    from scipy.special import betaincinv

    check_level(level)
    if not np.isfinite([estimate, variance, n]).all() or variance < 0 or n < 0:
        raise InputError(f"estimate {estimate}, variance {variance}, n {n}")
    p = min(max(float(estimate), 0.0), 1.0)
    worth = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(n)
    if not worth:
        return Bounds(0.0, 1.0, 0.0)
    tail, x = (1 - level) / 2, worth * p
    lower = float(betaincinv(x, worth - x + 1, tail)) if x > 0 else 0.0
    upper = float(betaincinv(x + 1, worth - x, 1 - tail)) if x < worth else 1.0
    return Bounds(lower, upper, worth)


def with_interval(
    estimate: float, variance: float, n: float, level: float, interval: str,
    lam: float | None = None, limit: tuple[float, float] = (0, 1),
) -> Found:  # fmt: skip
    """Return an estimate with its interval: `effective`, `wald`, or `point`, as all is labelled."""
    if interval == "effective":
        found = effective_interval(estimate, variance, n, level)
    elif interval == "wald":
        half = normal_quantile(level) * float(np.sqrt(variance))
        found = Bounds(max(estimate - half, limit[0]), min(estimate + half, limit[1]))
    elif interval == "point":
        found = Bounds(estimate, estimate, n)
    else:
        raise InputError(f"interval is '{interval}'", remedy="Give 'effective' or 'wald'")
    se = float(np.sqrt(variance))
    return Found(found.lower, found.upper, found.n_eff, estimate, se, lam, n)


def first(least: int, most: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest number for which what stays true holds; `most` if it does for none."""
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle + 1, most)
    return least


def _check(correct: int, n: int, level: float) -> None:
    check_level(level)
    check_count("correct", correct)
    check_count("n", n)
    if correct > n:
        raise InputError(f"{correct} correct of {n}", remedy="Give 0 <= correct <= n")
