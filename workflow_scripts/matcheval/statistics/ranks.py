"""Rankings of models by accuracy."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def ordinal_ranks(accuracy: npt.ArrayLike, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Ranks 1, 2, ... by falling accuracy; equal accuracies in order of the models' names.

    Parameters
    ----------
    accuracy : array-like, shape (n_models,)
    names : sequence of str

    Notes
    -----
    Recht et al. (2019) do not say how they rank ties. Of the simple rules this is the only one
    that gives all ranks they print: `resnet_basic_32` and `vgg_15_BN_64` tie, and are 26 and 27.
    """
    values = np.asarray(accuracy, dtype=np.float64)
    order = sorted(range(len(values)), key=lambda i: (-values[i], names[i]))
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def rank_correlations(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float]:
    """Spearman's ρ and Kendall's τ (b: corrected for ties); NaN if either side is constant."""
    from scipy.stats import kendalltau, spearmanr

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    return float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic)
