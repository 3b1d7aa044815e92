"""Means over runs, and paired comparisons with ERM."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import check_level

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mean:
    """A mean over runs."""

    mean: float
    sd: float
    low: float
    high: float
    p: float


def mean_over_runs(values: npt.ArrayLike, level: float) -> Mean:
    """Compute the mean over runs with Student's interval."""
    from scipy.stats import t

    check_level(level)
    found = np.asarray(values, np.float64)
    n, mean = len(found), float(found.mean())
    if n < 2:
        return Mean(mean, math.nan, math.nan, math.nan, math.nan)
    sd = float(found.std(ddof=1))
    error = sd / math.sqrt(n)
    half = float(t.ppf((1 + level) / 2, n - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, n - 1)) if error > 0 else float(mean == 0)
    return Mean(mean, sd, mean - half, mean + half, p)
