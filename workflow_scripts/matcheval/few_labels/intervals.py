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
    """An interval, and the number of random labels that would give it."""

    lower: float
    upper: float
    n_eff: float = float("nan")

    @property
    def half_width(self) -> float:
        """Half the distance of the bounds."""
        return (self.upper - self.lower) / 2

    def __str__(self) -> str:
        """Return both bounds."""
        return f"{self.lower:.3f} to {self.upper:.3f}"


@dataclass(frozen=True)
class Estimate(Bounds):
    """An estimate with its interval; `lam` is the weight of the confidences."""

    estimate: float = float("nan")
    se: float = float("nan")
    lam: float | None = None
    n: float = float("nan")  # of the interval where the variance is 0


def checked(name: str, values: npt.ArrayLike, least: float = 0, most: float = 1) -> FloatArray:
    """Return a one-dimensional array of finite numbers in a range."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 1:
        raise InputError(f"{name} has {numbers.ndim} dimensions, not 1")
    bad = ~(np.isfinite(numbers) & (numbers >= least) & (numbers <= most))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{name}: row {row} is {numbers[row]}, not in [{least:g}, {most:g}]")
    return numbers


def clopper_pearson(correct: int, n: int, level: float = 0.95) -> Bounds:
    """Return the exact binomial interval (Clopper & Pearson 1934); [0, 1] without a label."""
    if not n:
        return Bounds(0.0, 1.0, 0)
    interval = intervals.clopper_pearson(correct, n, level)
    return Bounds(float(interval.low), float(interval.high), n)


def hypergeometric(correct: int, n: int, N: int, level: float = 0.95) -> Bounds:  # noqa: N803
    """Return the exact interval of the accuracy on a set of N, of which n were drawn at random."""
    from scipy.stats import hypergeom

    check_level(level)
    if not 0 <= correct <= n <= N:
        raise InputError(f"{correct} correct of {n} labels of {N} datapoints")
    tail, least, most = (1 - level) / 2, correct, N - n + correct
    # The tails grow and fall with the number of correct datapoints in the set.
    low = first(least, most, lambda m: hypergeom.sf(correct - 1, N, m, n) > tail)
    high = first(0, most - least, lambda m: hypergeom.cdf(correct, N, most - m, n) > tail)
    return Bounds(low / N, (most - high) / N, n)


def effective_interval(
    estimate: float, variance: float, n: float, level: float = 0.95
) -> Bounds:  # fmt: skip
    """Return the exact interval at the number of labels that the variance is worth.

    Clopper-Pearson with n* = p(1 - p) / variance (Korn & Graubard 1998, Survey Methodology 24); n
    counts where the variance shows nothing, as it is 0 or the estimate is 0 or 1.
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
) -> Estimate:  # fmt: skip
    """Return an estimate with its interval: `effective`, `wald`, or `point`, as all is labelled."""
    se = float(np.sqrt(variance))
    if interval == "effective":
        bounds = effective_interval(estimate, variance, n, level)
    elif interval == "wald":
        half = normal_quantile(level) * se
        bounds = Bounds(max(estimate - half, limit[0]), min(estimate + half, limit[1]))
    else:
        bounds = Bounds(estimate, estimate, n)
    return Estimate(bounds.lower, bounds.upper, bounds.n_eff, estimate, se, lam, n)


def first(least: int, most: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest number from which on a condition holds; `most` if it does for none."""
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle + 1, most)
    return least
