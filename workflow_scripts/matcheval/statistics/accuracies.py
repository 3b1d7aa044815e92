"""Accuracy of a subset of datapoints with its confidence interval, as columns of a table."""

from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import clopper_pearson


def accuracy_columns(
    part: str, correct: npt.NDArray[np.bool_], confidence: float
) -> dict[str, Any]:  # fmt: skip
    """Compute count, accuracy and Clopper-Pearson interval of a subset, by column name.

    Parameters
    ----------
    part : str
        Suffix of the column names, such as `group` in `n_group`.
    correct : bool array, shape (n,)
        Whether each datapoint of the subset was classified correctly; n may be 0.
    confidence : float
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    dict
        `n_<part>`, `n_correct_<part>`, `accuracy_<part>`, `accuracy_<part>_low` and
        `accuracy_<part>_high`; accuracies are fractions, NaN if the subset is empty.

    Raises
    ------
    InputError
        If the subset is not empty and the confidence level is out of range.
    """
    n, n_correct = len(correct), int(correct.sum())
    low = high = accuracy = float("nan")
    if n:
        interval = clopper_pearson(n_correct, n, confidence)
        low, high, accuracy = float(interval.low), float(interval.high), n_correct / n
    return {
        f"n_{part}": n,
        f"n_correct_{part}": n_correct,
        f"accuracy_{part}": accuracy,
        f"accuracy_{part}_low": low,
        f"accuracy_{part}_high": high,
    }
