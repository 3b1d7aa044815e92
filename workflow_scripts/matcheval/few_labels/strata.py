"""Strata of similar confidence: how they are made, how many labels each gets, the estimate."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.few_labels.control import Interval
from matcheval.few_labels.intervals import (
    Found,
    check_count,
    check_same_length,
    checked,
    checked_correct,
    with_interval,
)
from matcheval.statistics.intervals import FloatArray, check_level

N_STRATA = 5
MIXED = 0.5  # share of labels that go by size, whatever the confidences say
Ints = npt.NDArray[np.int64]


def boundaries(f: npt.ArrayLike, n_strata: int = N_STRATA) -> FloatArray:
    """Return the confidences at which the strata above the lowest begin."""
    check_count("n_strata", n_strata, 1)
    ordered = np.sort(checked("f", f))
    if not len(ordered):
        raise InputError("no confidences")
    at = len(ordered) * np.arange(1, n_strata) // n_strata
    found = np.unique(ordered[at])
    return found[found > ordered[0]]


def strata_at(f: npt.ArrayLike, bounds: npt.ArrayLike) -> Ints:
    """Return the stratum of each confidence: the number of boundaries up to it."""
    return np.searchsorted(np.asarray(bounds), np.asarray(f), side="right").astype(np.int64)


def make_strata(f: npt.ArrayLike, n_strata: int = N_STRATA) -> Ints:
    """Divide datapoints into strata of about equal size by confidence; equal ones stay together."""
    return strata_at(f, boundaries(f, n_strata))


def allocate(
    sizes: npt.ArrayLike, n: int, sds: npt.ArrayLike | None = None, minimum: int = 2,
    tau: float = MIXED,
) -> Ints:  # fmt: skip
    """Divide n labels among strata.

    Parameters
    ----------
    sizes : array-like of int, shape (n_strata,)
        Datapoints of each stratum.
    n : int
        Labels.
    sds : array-like, shape (n_strata,), optional
        Standard deviation of the correctness in each; by default proportional to the sizes.
    minimum : int
        Labels that each stratum gets at least, if it has as many datapoints.
    tau : float
        1 is proportional, 0 is Neyman's allocation, 0.5 halfway.

    Returns
    -------
    int64 array, shape (n_strata,)
        Sums to n; rounded by the largest remainder.

    Raises
    ------
    InputError
        If n is less than the minima, or more than all datapoints.
    """
    size = checked("sizes", sizes, 0, np.inf)
    check_count("n", n)
    check_count("minimum", minimum)
    checked("tau", [tau])
    least = np.minimum(minimum, size)
    if not least.sum() <= n <= size.sum():
        raise InputError(
            f"{n} labels for strata of {', '.join(f'{one:g}' for one in size)} datapoints",
            remedy=f"Give {least.sum():g} to {size.sum():g} labels",
        )
    weight = size
    if sds is not None:
        spread = checked("sds", sds, 0, np.inf)
        check_same_length(sizes=len(size), sds=len(spread))
        mean = float((size * spread).sum() / size.sum()) if size.sum() else 0.0
        if mean > 0:
            weight = size * np.maximum((1 - tau) * spread / mean + tau, 1e-6)
    shares = _filled(weight, least, size, n)
    whole = np.floor(shares + 1e-9)
    remainder = np.round(shares - whole, 9)
    most = np.argsort(-remainder, kind="stable")[: n - int(whole.sum())]
    whole[most] += 1
    return whole.astype(np.int64)


def _filled(weight: FloatArray, least: FloatArray, most: FloatArray, n: float) -> FloatArray:
    """Return c * weight, within bounds, with the c for which the sum is n."""
    is_any = weight > 0
    turns = np.concatenate([(one[is_any] / weight[is_any]) for one in (least, most)])
    turns = np.unique(np.append(turns, 0.0))
    sums = np.clip(turns[:, None] * weight, least, most).sum(axis=1)
    at = min(int(np.searchsorted(sums, n, side="right")) - 1, len(turns) - 1)
    start, end = turns[at], turns[min(at + 1, len(turns) - 1)]
    inside = (start + end) / 2 * weight
    slope = weight[is_any & (inside > least) & (inside < most)].sum()
    c = start + (n - sums[at]) / slope if slope > 0 else start
    return np.clip(c * weight, least, most)


def stratified(
    y: npt.ArrayLike, stratum: npt.ArrayLike, sizes: npt.ArrayLike, level: float = 0.95,
    f: npt.ArrayLike | None = None, f_mean: npt.ArrayLike | None = None, lam: float | None = None,
    interval: Interval = "effective",
) -> Found:  # fmt: skip
    """Estimate the accuracy on a set from labels drawn at random within strata.

    Parameters
    ----------
    y : array-like, shape (n,)
        Whether labelled datapoints are predicted correctly, 0 or 1.
    stratum : array-like of int, shape (n,)
        Their strata, from 0.
    sizes : array-like of int, shape (n_strata,)
        Datapoints of each stratum.
    level : float
    f : array-like, shape (n,), optional
        Their confidences, as control within strata.
    f_mean : array-like, shape (n_strata,), optional
        Mean confidence of all datapoints of each stratum; needed with `f`.
    lam : float, optional
        Weight of the confidences; by default the common slope within strata, cut to [0, 1].
    interval : str
        `effective` or `wald`.

    Raises
    ------
    InputError
        If a stratum has no label, or one label only but more datapoints, or too many labels.

    References
    ----------
    Fogliato et al. (2024), arXiv 2406.07320.
    """
    check_level(level)
    right, size = checked_correct("y", y), checked("sizes", sizes, 0, np.inf)
    part = np.asarray(stratum, np.int64)
    check_same_length(y=len(right), stratum=len(part))
    if len(part) and not 0 <= part.min() <= part.max() < len(size):
        raise InputError(f"stratum {part.max()} of {len(size)}, from 0")
    count = np.bincount(part, minlength=len(size)).astype(np.float64)
    check_enough(count, size)
    kept = size > 0
    weight, counts = size[kept] / size.sum(), count[kept]
    fraction = 1 - counts / size[kept]

    def per_stratum(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(part, values, len(size))[kept], np.float64)

    control = np.zeros(len(right)) if f is None else checked("f", f)
    means = np.zeros(len(size)) if f_mean is None else checked("f_mean", f_mean)
    check_same_length(y=len(right), f=len(control))
    check_same_length(sizes=len(size), f_mean=len(means))
    if (f is None) != (f_mean is None):
        raise InputError("f and f_mean go together")

    def centred(values: FloatArray) -> FloatArray:
        return values - (np.bincount(part, values, len(size)) / np.maximum(count, 1))[part]

    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(counts > 1, weight**2 * fraction / (counts * (counts - 1)), 0.0)
    if f is None:
        lam = 0.0
    elif lam is None:
        below = float((factor * per_stratum(centred(control) ** 2)).sum())
        above = float((factor * per_stratum(centred(right) * centred(control))).sum())
        lam = min(max(above / below, 0.0), 1.0) if below > 1e-12 else 0.0
    rest = right - lam * control
    estimate = float((weight * (per_stratum(rest) / counts + lam * means[kept])).sum())
    if not fraction.any():
        exact = float((weight * per_stratum(right) / counts).sum())
        return with_interval(exact, 0.0, len(right), level, "point", lam)
    variance = float((factor * per_stratum(centred(rest) ** 2)).sum())
    return with_interval(estimate, variance, float((counts / weight).min()), level, interval, lam)


def check_enough(count: FloatArray, size: FloatArray, more: Sequence[str] = ()) -> None:
    """Check that every stratum has two labels, or all that it can have, and not too many."""
    for h, (labels, n) in enumerate(zip(count, size, strict=True)):
        if labels > n or labels < min(2, n):
            raise InputError(
                f"stratum {h} has {labels:g} label{'' if labels == 1 else 's'} of {n:g} datapoints",
                remedy=more[h] if more else f"Give it {min(2, n):g} to {n:g}",
            )
