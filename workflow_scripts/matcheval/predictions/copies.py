"""Images that are there several times: rows whose scores of all classes are equal to the last bit.

Confidences alone are no evidence of it: thousands of them are 1, or equal when they are rounded.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST_SHARE = 0.01  # of the rows: fewer copies change no interval
_LEAST_SCORES, _LOOKED_AT = 3, 16  # that are not rounded
_SATURATED = 0.999


def copied_rows(scores: npt.NDArray[Any], *, are_probabilities: bool) -> npt.NDArray[np.int64]:
    """Return, for each row, the first row of the same scores; itself if they are no evidence.

    Parameters
    ----------
    scores : float array, shape (n, n_classes)
        Of all classes, in the precision of the file. Rows with fewer than three scores that
        are not rounded, and saturated probabilities, may be equal by chance.
    are_probabilities : bool
    """
    n = len(scores)
    first = np.arange(n)
    if scores.dtype.kind != "f" or scores.dtype.itemsize < 4 or scores.shape[1] < _LEAST_SCORES:
        return first
    some = scores[:, :: max(1, scores.shape[1] // _LOOKED_AT)]
    digits = 6 if are_probabilities else 4
    if len(np.unique(some)) < n / 10:  # shares of a few votes, as of nearest neighbours
        return first
    tells = (some != np.round(some, digits)).sum(axis=1) >= _LEAST_SCORES
    if are_probabilities:
        tells &= scores.max(axis=1, initial=0) < _SATURATED
    _, which, counts = np.unique(scores[:, 0], return_inverse=True, return_counts=True)
    tells &= counts[which] > 1
    seen = dict[int, int]()
    for row in np.flatnonzero(tells).tolist():
        first[row] = seen.setdefault(hash(scores[row].tobytes()), row)
    return first


def told_copies(scores: npt.NDArray[Any], *, are_probabilities: bool) -> list[str]:
    """Say if so many rows are copies that intervals are too narrow."""
    first = copied_rows(scores, are_probabilities=are_probabilities)
    n = int((first != np.arange(len(first))).sum())
    if not n >= max(2, _LEAST_SHARE * len(first)):
        return []
    return [
        f"{n:,} of {len(first):,} rows have the scores of an earlier one, to the last bit: are "
        "images there several times? Intervals take images as independent: give copies of an "
        "image one `group`, or leave them out"
    ]
