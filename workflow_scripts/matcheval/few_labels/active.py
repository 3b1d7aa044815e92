"""Labels drawn with unequal probabilities: independently, or one after the other (LURE)."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.few_labels.intervals import (
    Found,
    check_same_length,
    checked,
    checked_correct,
    with_interval,
)
from matcheval.few_labels.strata import MIXED
from matcheval.statistics.intervals import FloatArray, check_level

Estimand = Literal["set", "population"]
_ANYWHERE = (-np.inf, np.inf)  # published intervals are not cut


def inclusion_probabilities(u: npt.ArrayLike, n: float, tau: float = MIXED) -> FloatArray:
    """Return with which probability each datapoint is labelled, such that they sum to n.

    Parameters
    ----------
    u : array-like, shape (N,)
        Uncertainty of each: √(f (1 - f)) is best for calibrated confidences f.
    n : float
        Expected number of labels; from N on, all are labelled.
    tau : float
        Share of uniform probabilities, in [0, 1].

    Raises
    ------
    InputError
        If a value is negative or not finite, or too few datapoints can be drawn.

    References
    ----------
    Zrnic & Candès (2024), arXiv 2403.03208, the optimal rule; what is cut at 1 goes to the others.
    """
    spread = checked("u", u, 0, np.inf)
    checked("tau", [tau])
    checked("n", [n], 0, np.inf)
    if n >= len(spread):
        return np.ones(len(spread))
    mean = float(spread.mean())
    weight = (1 - tau) * spread / mean + tau if mean > 0 else np.ones(len(spread))
    if np.count_nonzero(weight) < n:
        raise InputError(f"{np.count_nonzero(weight)} datapoints have uncertainty; {n} are asked")
    ordered = np.sort(weight)[::-1]
    rest = np.cumsum(ordered[::-1])[::-1]  # with each weight and those below it
    # The first m are certain; of the others the largest must not be.
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = (n - np.arange(len(ordered))) / rest
    m = int((factors * ordered <= 1 + 1e-12).argmax())
    return np.minimum(1.0, factors[m] * weight)


def active(
    y: npt.ArrayLike, f: npt.ArrayLike, labelled: npt.ArrayLike, pi: npt.ArrayLike,
    level: float = 0.95, estimand: Estimand = "set", interval: str = "wald",
) -> Found:  # fmt: skip
    """Estimate an accuracy from labels that were drawn independently of each other.

    Parameters
    ----------
    y : array-like, shape (N,)
        Whether datapoints are predicted correctly; None or NaN where there is no label.
    f : array-like, shape (N,)
        Confidences.
    labelled : array-like of bool, shape (N,)
    pi : array-like, shape (N,)
        With which probability each was to be labelled.
    level : float
    estimand : str
        `set`, with the variance of the draw, or `population`, with that which is published.
    interval : str
        `wald`, not cut to [0, 1], or `effective`.

    Raises
    ------
    InputError
        If lengths differ, or a labelled datapoint has no y or the probability 0.

    References
    ----------
    Zrnic & Candès (2024), arXiv 2403.03208; Horvitz & Thompson (1952) for the set.
    """
    check_level(level)
    sure, is_labelled = checked("f", f), np.asarray(labelled).astype(bool)
    chance, size = checked("pi", pi), len(sure)
    known = np.array([np.nan if one is None else one for one in np.asarray(y, object)], np.float64)
    check_same_length(y=len(known), f=size, labelled=len(is_labelled), pi=len(chance))
    right, chances = checked_correct("y", known[is_labelled]), chance[is_labelled]
    if not size or (chances <= 0).any():
        raise InputError("no datapoints, or a labelled one with the probability 0")
    if not len(right):
        return Found(0.0, 1.0, 0.0, float(sure.mean()), n=0)
    terms = sure.copy()
    terms[is_labelled] += (right - sure[is_labelled]) / chances
    if estimand == "population":
        variance = float(terms.var() / size)
    elif estimand == "set":
        rest = (right - sure[is_labelled]) ** 2
        variance = float(((1 - chances) / chances**2 * rest).sum() / size**2)
    else:
        raise InputError(f"estimand is '{estimand}'", remedy="Give 'set' or 'population'")
    estimate, n = float(terms.mean()), float((1 / chances).sum() ** 2 / (1 / chances**2).sum())
    if is_labelled.all() and (chance == 1).all() and estimand == "set":
        return with_interval(float(right.mean()), 0.0, size, level, "point")
    return with_interval(estimate, variance, n, level, interval, limit=_ANYWHERE)


def lure_weights(q: npt.ArrayLike, N: int) -> FloatArray:  # noqa: N803
    """Return the weight of each label, in the order of the draws (Farquhar et al. 2021, R_LURE)."""
    chance = checked("q", q)
    n, m = len(chance), np.arange(1, len(chance) + 1)
    if not 0 < n <= N or (chance <= 0).any():
        raise InputError(f"{n} draws of {N} datapoints, or one with the probability 0")
    if n == N:
        return np.ones(n)
    return 1 + (N - n) / (N - m) * (1 / ((N - m + 1) * chance) - 1)


def lure(
    y: npt.ArrayLike, q: npt.ArrayLike, N: int, f: npt.ArrayLike | None = None,  # noqa: N803
    f_all_mean: float | None = None, level: float = 0.95, interval: str = "wald",
) -> Found:  # fmt: skip
    """Estimate the accuracy on a set from labels drawn one after the other, without replacement.

    Parameters
    ----------
    y, q : array-like, shape (n,)
        In the order of the draws: correctness, and the probability of this choice among those left.
    N : int
        Datapoints of the set.
    f : array-like, shape (n,), optional
        Confidences, as control; with `f_all_mean`, their mean over the set.
    level : float
    interval : str
        `wald`, not cut to [0, 1], or `effective`.

    Raises
    ------
    InputError
        If there are more labels than datapoints, none, or a probability is not in (0, 1].

    References
    ----------
    Farquhar et al. (2021), arXiv 2101.11665; Kossen et al. (2021), arXiv 2103.05331.
    """
    check_level(level)
    right, weight = checked_correct("y", y), lure_weights(q, N)
    check_same_length(y=len(right), q=len(weight))
    if (f is None) != (f_all_mean is None):
        raise InputError("f and f_all_mean go together")
    rest = right if f is None else right - checked("f", f)
    check_same_length(y=len(right), f=len(rest))
    shift = 0.0 if f_all_mean is None else float(f_all_mean)
    n, m = len(rest), np.arange(1, len(rest) + 1)
    mean = float((weight * rest).mean())
    if n == N:
        return with_interval(mean + shift, 0.0, n, level, "point")
    guesses = (rest / np.asarray(q, np.float64) + np.cumsum(rest) - rest) / N
    share = N * (N - n) / ((N - m) * (N - m + 1))
    variance = float((share**2 * (guesses - mean) ** 2).sum() / n**2)
    worth = float(weight.sum() ** 2 / (weight**2).sum())
    return with_interval(mean + shift, variance, worth, level, interval, limit=_ANYWHERE)
