"""Differences of accuracies: of two sets, and of two models on one set."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.few_labels.control import regression
from matcheval.few_labels.intervals import (
    Bounds,
    Found,
    check_count,
    check_same_length,
    checked,
    checked_correct,
    clopper_pearson,
    with_interval,
)
from matcheval.statistics.intervals import FloatArray, check_level
from matcheval.statistics.significance import mcnemar

_FEW_EVENTS = 10  # labels unlike most others, below which a normal interval is too narrow


@dataclass(frozen=True)
class Disagreement(Found):
    """The difference of two models' accuracies, with McNemar's exact p-value and its counts."""

    mcnemar_p: float = 1.0
    only_first: int = 0
    only_second: int = 0


def mover_difference(
    a: tuple[float, float, float], b: tuple[float, float, float]
) -> Bounds:  # fmt: skip
    """Return the interval of a - b from each one's estimate, lower and upper bound.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, method 10, with any intervals.
    """
    for name, one in (("a", a), ("b", b)):
        found = np.asarray(one, np.float64)
        if found.shape != (3,) or not np.isfinite(found).all() or found[1] > found[2]:
            raise InputError(f"{name} is {one}", remedy="Give estimate, lower and upper bound")
    (p, low, high), (q, other_low, other_high) = a, b
    below = float(np.hypot(p - low, other_high - q))
    above = float(np.hypot(high - p, q - other_low))
    return Bounds(p - q - below, p - q + above)


def paired_difference(
    y_a: npt.ArrayLike, y_b: npt.ArrayLike, f_a: npt.ArrayLike, f_b: npt.ArrayLike,
    f_a_all: npt.ArrayLike, f_b_all: npt.ArrayLike, lam: float | None = None, level: float = 0.95,
) -> Found:  # fmt: skip
    """Estimate the difference of two models from the same random labels of one set.

    Parameters
    ----------
    y_a, y_b, f_a, f_b : array-like, shape (n,)
        Correctness of each model on the labelled datapoints, and its confidences.
    f_a_all, f_b_all : array-like, shape (N,)
        Confidences on the whole set.
    lam : float, optional
        Weight of the difference of confidences; by default the slope, cut to [0, 1].
    level : float

    Raises
    ------
    InputError
        If lengths differ, there is no label, or there are more than datapoints.
    """
    check_level(level)
    right = [checked_correct(name, y) for name, y in (("y_a", y_a), ("y_b", y_b))]
    sure = [checked(name, f) for name, f in (("f_a", f_a), ("f_b", f_b))]
    whole = [checked(name, f) for name, f in (("f_a_all", f_a_all), ("f_b_all", f_b_all))]
    check_same_length(y_a=len(right[0]), y_b=len(right[1]), f_a=len(sure[0]), f_b=len(sure[1]))
    check_same_length(f_a_all=len(whole[0]), f_b_all=len(whole[1]))
    if not 0 < len(right[0]) <= len(whole[0]):
        raise InputError(f"{len(right[0])} labels of {len(whole[0])} datapoints")
    rows, control, every = right[0] - right[1], sure[0] - sure[1], whole[0] - whole[1]
    return regression(rows, control, every, lam, level, "wald", (-1, 1))


def widened(found: Found, rows: FloatArray, of: int, level: float, share: float = 1.0) -> Found:
    """Widen a normal interval to hold one from exact counts, if few labels differ from the rest.

    Parameters
    ----------
    found : Found
        The difference, of `share` of a set.
    rows : float64 array, shape (n,)
        Its labels: -1, 0 or 1.
    of : int
        Datapoints that these were drawn from.
    level, share : float
    """
    n, counts = len(rows), [int((rows == value).sum()) for value in (1, -1, 0)]
    if not 1 < n < of or n - max(counts) >= _FEW_EVENTS:
        return found
    first, second = (clopper_pearson(k, n, level) for k in counts[:2])
    ends = mover_difference(
        (counts[0] / n, first.lower, first.upper), (counts[1] / n, second.lower, second.upper)
    )
    return replace(
        found, lower=max(-share, min(found.lower, share * ends.lower)),
        upper=min(share, max(found.upper, share * ends.upper)),
    )  # fmt: skip


def disagreement_difference(
    d: npt.ArrayLike, n_disagree: int, N: int, level: float = 0.95  # noqa: N803
) -> Disagreement:  # fmt: skip
    """Estimate the difference of two models from random labels of rows where predictions differ.

    Parameters
    ----------
    d : array-like, shape (n,)
        Correctness of the first minus that of the second: -1, 0 or 1.
    n_disagree, N : int
        Datapoints on which the models predict different classes, and all of the set.
    level : float

    Returns
    -------
    Disagreement
        Exactly 0 where the models never differ; with one label or none, all that is possible.

    Raises
    ------
    InputError
        If there are more labels than disagreements, or more of these than datapoints.
    """
    check_level(level)
    check_count("n_disagree", n_disagree)
    check_count("N", N, 1)
    rows = checked("d", d, -1, 1)
    n = len(rows)
    if (rows != np.round(rows)).any() or not n <= n_disagree <= N:
        raise InputError(
            f"{n} labels of {n_disagree} disagreements on {N} datapoints",
            remedy="Give -1, 0 or 1 for each label",
        )
    only = int((rows == 1).sum()), int((rows == -1).sum())
    share, p = n_disagree / N, float(mcnemar(*only))
    limit = (-share, share)
    mean = float(rows.mean()) if n else 0.0
    if n == n_disagree:
        found = with_interval(share * mean, 0.0, n, level, "point")
    elif n < 2:
        found = Found(*limit, estimate=share * mean, n=n)
    else:
        variance = float(share**2 * (1 - n / n_disagree) * rows.var(ddof=1) / n)
        found = with_interval(share * mean, variance, n, level, "wald", limit=limit)
    return Disagreement(**vars(found), mcnemar_p=p, only_first=only[0], only_second=only[1])
