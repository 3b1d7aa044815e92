"""Ranks of models by accuracy, and correlations between two series."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def ordinal_ranks(accuracy: npt.ArrayLike, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Rank models by decreasing accuracy, from 1; ties are broken by model name.

    Notes
    -----
    Recht et al. (2019) do not say how they rank ties. Of the simple rules this is the only one
    that reproduces all ranks they print: `resnet_basic_32` and `vgg_15_BN_64` tie, and have ranks
    26 and 27.
    """
    values = np.asarray(accuracy, dtype=np.float64)
    order = sorted(range(len(values)), key=lambda i: (-values[i], names[i]))
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def rank_correlations(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float]:
    """Compute Spearman's ρ and Kendall's τ-b; NaN of fewer than two values or a constant series."""
    from scipy.stats import kendalltau, spearmanr

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not _are_varied(x, y):
        return float("nan"), float("nan")
    return float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic)


def linear_correlation(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Compute Pearson's r; NaN of fewer than two values or a constant series."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not _are_varied(x, y):
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _are_varied(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> bool:
    return len(x) >= 2 and np.ptp(x) != 0 and np.ptp(y) != 0
