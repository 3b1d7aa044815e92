"""Quantities that figures derive from a results table: sampling ranges and running medians."""

import numpy as np
import numpy.typing as npt
import pandas as pd

SAMPLING_RANGE = 1.96  # standard errors on either side: 95 % of a normal distribution


def by_accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Sort models from least to most accurate on the original set, as the paper's figures do."""
    return table.sort_values(["accuracy_original", "model"], ignore_index=True)


def sampling_range(table: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Compute half the width of the 95 % sampling range of a gap between equally hard sets."""
    variance = np.zeros(len(table))
    for origin in ("original", "replication"):
        accuracy = table[f"accuracy_{origin}"].to_numpy(dtype=np.float64)
        variance += accuracy * (1 - accuracy) / table[f"n_{origin}"].to_numpy(dtype=np.float64)
    return SAMPLING_RANGE * np.sqrt(variance)


def running_median(value: npt.NDArray[np.float64], window: int) -> npt.NDArray[np.float64]:
    """Compute a centred running median."""
    half = [min(window // 2, i, len(value) - 1 - i) for i in range(len(value))]
    return np.array(
        [
            np.nan if np.isnan(value[i]) else np.nanmedian(value[i - h : i + h + 1])
            for i, h in enumerate(half)
        ]
    )
