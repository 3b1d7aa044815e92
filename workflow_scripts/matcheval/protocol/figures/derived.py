"""Quantities that figures derive from a results table: sampling ranges and running medians."""

import numpy as np
import numpy.typing as npt
import pandas as pd

SAMPLING_RANGE = 1.96  # standard errors on either side: 95 % of a normal distribution


def by_accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Sort models from least to most accurate on the original set, as the paper's figures do.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `accuracy_original` and `model`, by which ties are broken.
    """
    return table.sort_values(["accuracy_original", "model"], ignore_index=True)


def sampling_range(table: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Compute half the width of the 95 % sampling range of a gap between equally hard sets.

    With accuracies a and b on sets of n and m independent datapoints, it is
    1.96 · sqrt(a(1 − a)/n + b(1 − b)/m): the numbers of correct predictions are binomial, the two
    sets are drawn independently, and the difference is approximately normal. It applies to the
    whole sets only: matched subsets are selected, so that their gap has another sampling error.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`.

    Returns
    -------
    float64 array, shape (len(table),)
        Fractions; 0 where both accuracies are 0 or 1.
    """
    variance = np.zeros(len(table))
    for origin in ("original", "replication"):
        accuracy = table[f"accuracy_{origin}"].to_numpy(dtype=np.float64)
        variance += accuracy * (1 - accuracy) / table[f"n_{origin}"].to_numpy(dtype=np.float64)
    return SAMPLING_RANGE * np.sqrt(variance)


def running_median(value: npt.NDArray[np.float64], window: int) -> npt.NDArray[np.float64]:
    """Compute a centred running median.

    Parameters
    ----------
    value : float64 array, shape (n,)
        Values in order; NaN is left out of the medians.
    window : int
        Largest number of values in a median, odd. Near the ends the window shrinks symmetrically.

    Returns
    -------
    float64 array, shape (n,)
        Medians; NaN where the value itself is NaN.
    """
    half = [min(window // 2, i, len(value) - 1 - i) for i in range(len(value))]
    return np.array(
        [
            np.nan if np.isnan(value[i]) else np.nanmedian(value[i - h : i + h + 1])
            for i, h in enumerate(half)
        ]
    )
