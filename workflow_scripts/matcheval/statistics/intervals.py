"""Exact confidence intervals of accuracies."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Lower and upper bounds, of equal shapes."""

    low: FloatArray
    high: FloatArray


def check_level(level: float) -> float:
    """Return a confidence level if it is in (0, 1).

    Raises
    ------
    InputError
        Otherwise, NaN included.
    """
    if not 0 < level < 1:
        raise InputError(
            f"confidence is {level}", remedy="Give a number between 0 and 1; 0.95 is usual"
        )
    return float(level)


def clopper_pearson(
    correct: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95
) -> Interval:  # fmt: skip
    """Exact binomial confidence intervals of accuracies.

    Parameters
    ----------
    correct, n : array-like of int
        Correct predictions and datapoints, of shapes that broadcast; 0 <= correct <= n, n > 0.
    level : float
        Coverage in (0, 1): at least so much, whatever the true accuracy.

    Returns
    -------
    Interval
        Bounds as fractions in [0, 1]; 0 exactly if nothing is correct, 1 exactly if all is.

    Raises
    ------
    InputError
        If a count or the level is out of range; the message has the value.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4); used in Recht et al. (2019), arXiv 1902.10811,
    Table 1.
    """
    from scipy.special import betaincinv

    tail = (1 - check_level(level)) / 2
    k, m = np.broadcast_arrays(np.asarray(correct), np.asarray(n))
    for name, values in (("correct", k), ("n", m)):
        if values.dtype.kind not in "iu":
            raise InputError(f"has dtype {values.dtype}", field=name, remedy="Give whole numbers")
    bad = (m <= 0) | (k < 0) | (k > m)
    if bad.any():
        first = np.unravel_index(int(bad.argmax()), bad.shape)
        raise InputError(f"{k[first]} correct of {m[first]}", remedy="Give 0 <= correct <= n > 0")
    # Where a bound is known, its quantile is of no distribution: ask for another, and discard it.
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), m - k + 1, tail))
    high = np.where(k == m, 1.0, betaincinv(k + 1, np.maximum(m - k, 1), 1 - tail))
    return Interval(low.astype(np.float64), high.astype(np.float64))
