"""What the figures derive from the columns of a table: sampling ranges and running medians."""

import numpy as np
import numpy.typing as npt
import pandas as pd

SAMPLING_RANGE = 1.96  # standard errors to either side; 95 % of a normal distribution


def sampling_range(table: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Half the range in which 95 % of plain gaps would lie if the sets were equally hard.

    With accuracies a and b on sets of n and m independent datapoints, it is
    1.96 · sqrt(a(1 − a)/n + b(1 − b)/m): right predictions are binomial, the two sets are drawn
    independently, and the difference is close to normal. The gap of matched subsets, whose
    datapoints are chosen, has another sampling error, which this does not give.

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
    """Give the median of each value and its neighbours, as many before as after it.

    Parameters
    ----------
    value : float64 array, shape (n,)
        Values; NaN are left out of medians, and stay NaN.
    window : int
        Most values in a median, odd; fewer near both ends.

    Returns
    -------
    float64 array, shape (n,)
    """
    half = [min(window // 2, i, len(value) - 1 - i) for i in range(len(value))]
    return np.array(
        [
            np.nan if np.isnan(value[i]) else np.nanmedian(value[i - h : i + h + 1])
            for i, h in enumerate(half)
        ]
    )
