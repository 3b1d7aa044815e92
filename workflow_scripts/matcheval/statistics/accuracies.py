"""Accuracies of some datapoints, as columns of a table."""

from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import clopper_pearson


def accuracy_columns(
    part: str, right: npt.NDArray[np.bool_], confidence: float
) -> dict[str, Any]:  # fmt: skip
    """Count, accuracy and Clopper-Pearson interval: `n_<part>`, `n_correct_<part>`, ....

    Parameters
    ----------
    part : str
        How the columns end.
    right : bool array, shape (n,)
        What was right; of nothing, accuracy and interval are NaN.
    confidence : float
        Level of the interval.
    """
    n, correct = len(right), int(right.sum())
    low = high = accuracy = float("nan")
    if n:
        interval = clopper_pearson(correct, n, confidence)
        low, high, accuracy = float(interval.low), float(interval.high), correct / n
    return {
        f"n_{part}": n,
        f"n_correct_{part}": correct,
        f"accuracy_{part}": accuracy,
        f"accuracy_{part}_low": low,
        f"accuracy_{part}_high": high,
    }
