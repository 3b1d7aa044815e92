"""Estimates with the confidences as control variate: PPI, PPI++, and the same for a whole set."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.few_labels.intervals import (
    Bounds,
    Found,
    check_same_length,
    checked,
    checked_correct,
    clopper_pearson,
    with_interval,
)
from matcheval.statistics.intervals import FloatArray, check_level

Interval = Literal["effective", "wald"]


def ppi(
    y: npt.ArrayLike, f: npt.ArrayLike, f_unlabelled: npt.ArrayLike, lam: float | None = None,
    level: float = 0.95,
) -> Found:  # fmt: skip
    """Estimate the accuracy of the population by prediction-powered inference, as published.

    Parameters
    ----------
    y, f : array-like, shape (n,)
        Whether labelled datapoints are predicted correctly, 0 or 1, and their confidences.
    f_unlabelled : array-like, shape (N - n,)
        Confidences of the others.
    lam : float, optional
        Weight of the confidences: 1 is PPI, 0 the labels alone; by default tuned (PPI++).
    level : float

    Returns
    -------
    Found
        With a normal interval that is not cut to [0, 1].

    Raises
    ------
    InputError
        If there is no labelled or no unlabelled datapoint, or a value is outside [0, 1].

    References
    ----------
    Angelopoulos et al. (2023), Science 382; Angelopoulos, Duchi & Zrnic (2023), arXiv 2311.01453.
    """
    check_level(level)
    right, sure = checked_correct("y", y), checked("f", f)
    others = checked("f_unlabelled", f_unlabelled)
    check_same_length(y=len(right), f=len(sure))
    n, n_others = len(right), len(others)
    if not n or not n_others:
        raise InputError(f"{n} labelled and {n_others} unlabelled datapoints; both are needed")
    if lam is None:
        spread = float(np.concatenate([sure, others]).var(ddof=1))
        together = float(((right - right.mean()) * (sure - sure.mean())).mean())
        lam = _cut(together / ((1 + n / n_others) * spread)) if spread > 0 else 0.0
    rest = right - lam * sure
    variance = float(lam**2 * others.var() / n_others + rest.var() / n)
    estimate = float(lam * others.mean() + rest.mean())
    anywhere = -np.inf, np.inf
    return with_interval(estimate, variance, n, level, "wald", lam, anywhere)


def difference_set(
    y: npt.ArrayLike, f: npt.ArrayLike, f_all: npt.ArrayLike, lam: float | None = None,
    level: float = 0.95, interval: Interval = "effective",
) -> Found:  # fmt: skip
    """Estimate the accuracy on a set of N from n random labels, with confidences as control.

    Parameters
    ----------
    y, f : array-like, shape (n,)
        Whether labelled datapoints are predicted correctly, 0 or 1, and their confidences.
    f_all : array-like, shape (N,)
        Confidences of all datapoints of the set.
    lam : float, optional
        Weight of the confidences; by default the slope of y on f, cut to [0, 1].
    level : float
    interval : str
        `effective` or `wald`.

    Returns
    -------
    Found
        Without a label the mean confidence and [0, 1]; with one label the interval of it alone.

    Raises
    ------
    InputError
        If there are more labels than datapoints, or a value is outside [0, 1].

    References
    ----------
    The classical regression estimator of survey sampling, with the finite-population factor.
    """
    check_level(level)
    right, sure, whole = checked_correct("y", y), checked("f", f), checked("f_all", f_all)
    check_same_length(y=len(right), f=len(sure))
    if len(right) > len(whole) or not len(whole):
        raise InputError(f"{len(right)} labels of {len(whole)} datapoints")
    if not len(right):
        return Found(0.0, 1.0, 0.0, float(whole.mean()), n=0)
    return regression(right, sure, whole, lam, level, interval)


def regression(
    y: FloatArray, f: FloatArray, f_all: FloatArray, lam: float | None, level: float, interval: str,
    limit: tuple[float, float] = (0, 1),
) -> Found:  # fmt: skip
    """Estimate the mean of y over a set from n >= 1 random rows, with control f."""
    n, size = len(y), len(f_all)
    if lam is None:
        spread = float(((f - f.mean()) ** 2).sum())
        together = float(((y - y.mean()) * (f - f.mean())).sum())
        lam = _cut(together / spread) if n > 1 and spread > 1e-15 * n else 0.0
    rest = y - lam * f
    estimate = float(lam * f_all.mean() + rest.mean())
    if n == size:
        return with_interval(float(y.mean()), 0.0, n, level, "point", lam)
    if n == 1:
        alone = clopper_pearson(int(y[0]), 1, level) if limit == (0, 1) else Bounds(*limit, 1)
        return Found(alone.lower, alone.upper, 1, estimate, lam=lam, n=1)
    variance = float((1 - n / size) * rest.var(ddof=1) / n)
    return with_interval(estimate, variance, n, level, interval, lam, limit)


def _cut(value: float) -> float:
    return min(max(value, 0.0), 1.0)
