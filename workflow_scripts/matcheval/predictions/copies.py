"""Images that are there several times: rows whose scores of all classes are equal to the last bit.

Confidences alone are no evidence of it: thousands of them are 1, or equal when they are rounded.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.predictions.records import Predictions

_LEAST_SHARE = 0.01  # of the rows: fewer copies change no interval
_LEAST_SCORES, _LOOKED_AT = 3, 16  # that are not rounded
_SATURATED = 0.999

Numbers = npt.NDArray[np.int64]


def copied_rows(scores: npt.NDArray[Any], *, are_probabilities: bool) -> Numbers | None:
    """Return, for each row, the first row of the same scores; None if no scores are evidence.

    Parameters
    ----------
    scores : float array, shape (n, n_classes)
        Of all classes, in the precision of the file.
    are_probabilities : bool

    Returns
    -------
    int array, shape (n,), or None
        `~row` (negative) in place of `row` where scores may be equal by chance, as those that are
        rounded or saturated; everywhere if fewer than 1 % of the rows are copies.
    """
    n = len(scores)
    if scores.dtype.kind != "f" or scores.dtype.itemsize < 4 or scores.shape[1] < _LEAST_SCORES:
        return None
    some = scores[:, :: max(1, scores.shape[1] // _LOOKED_AT)]
    digits = 6 if are_probabilities else 4
    if len(np.unique(some)) < n / 10:  # shares of a few votes, as of nearest neighbours
        return None
    tells = (some != np.round(some, digits)).sum(axis=1) >= _LEAST_SCORES
    if are_probabilities:
        tells &= scores.max(axis=1, initial=0) < _SATURATED
    _, which, counts = np.unique(scores[:, 0], return_inverse=True, return_counts=True)
    first, seen = np.arange(n), dict[int, int]()
    for row in np.flatnonzero(counts[which] > 1).tolist():
        first[row] = seen.setdefault(hash(scores[row].tobytes()), row)
    n_copies = (tells & (first != np.arange(n))).sum()
    return np.where(tells & (n_copies >= max(2, _LEAST_SHARE * n)), first, ~first)


def told_copies(copies: Numbers) -> list[str]:
    """Say how many rows are copies by their scores."""
    n = int(((copies >= 0) & (copies != np.arange(len(copies)))).sum())
    return [
        f"{n:,} of {len(copies):,} rows have the scores of an earlier one, to the last bit: are "
        "images there several times? Where no groups are given, rows that are equal for all models "
        "count as one group in intervals"
    ] if n else []  # fmt: skip


def common_copies(models: Sequence[Predictions]) -> Numbers | None:
    """Return, for each datapoint, the first one that it is a copy of: all models say the same.

    The scores of one model at least have to be evidence, and those of all equal; of a model
    without scores, prediction and confidence. None if there are no copies.
    """
    n, sizes = len(models[0]), {len(one) for one in models}
    told = (one.copies is not None and (one.copies >= 0).any() for one in models)
    if len(sizes) > 1 or not any(told):  # unequal sizes are refused by the caller
        return None
    shown, numbers, first = np.zeros(n, np.bool_), np.zeros(n, np.int64), np.arange(n)
    for one in models:
        ours: npt.NDArray[Any] = 2.0 * one.prediction + one.probability
        if one.copies is not None:
            ours, shown = one.copies, shown | (one.copies >= 0)
        which = np.unique(ours, return_inverse=True)[1]
        _, first, numbers = np.unique(n * numbers + which, return_index=True, return_inverse=True)
    copies = np.where(shown, first[numbers], np.arange(n))
    return copies if (copies != np.arange(n)).any() else None
