"""Binned confidences: accuracy by confidence, and the density of the confidences."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReliabilityCurve:
    """Accuracy and mean confidence of datapoints in equal-width bins of their confidence.

    Attributes
    ----------
    edges : float64 array, shape (bins + 1,)
        From 0 to 1. Bins are closed on the right: bin k holds edges[k] < p <= edges[k + 1], so
        1.0 is in the last bin; the first holds 0.0 too.
    confidence, accuracy : float64 arrays, shape (bins,)
        Means over the bin's datapoints as fractions; NaN in an empty bin.
    count : int64 array, shape (bins,)
        Datapoints in the bin.
    """

    edges: Floats
    confidence: Floats
    accuracy: Floats
    count: npt.NDArray[np.int64]

    @property
    def density(self) -> Floats:
        """Probability density of the confidences per bin; integrates to 1, NaN if there are none.

        Shape (bins,).
        """
        n = int(self.count.sum())
        if n == 0:
            return np.full(len(self.count), np.nan)
        return self.count / (n * np.diff(self.edges))


def reliability_curve(
    probability: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 10
) -> ReliabilityCurve:
    """Bin datapoints by confidence into equal-width bins.

    Parameters
    ----------
    probability : array-like of float, shape (n,)
        Confidences in [0, 1]; compared with the edges in float64. n may be 0.
    correct : array-like of bool, shape (n,)
        Whether each prediction is right.
    bins : int
        Number of bins, at least 1.

    Returns
    -------
    ReliabilityCurve

    Raises
    ------
    InputError
        If there are no bins, the lengths differ or a probability is not in [0, 1].

    References
    ----------
    Guo et al. (2017), arXiv 1706.04599, section 2, whose bins these are.
    """
    p = np.asarray(probability, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    if bins < 1:
        raise InputError(f"{bins} bins", remedy="Give at least 1; 10 to 15 are usual")
    if p.ndim != 1 or p.shape != right.shape:
        raise InputError(f"probabilities of shape {p.shape}, correctness of {right.shape}")
    if not np.all((p >= 0) & (p <= 1)):
        raise InputError("probabilities that are not in [0, 1]")

    edges = np.arange(bins + 1) / bins  # each the double nearest to k / bins
    which = np.maximum(np.searchsorted(edges, p, side="left") - 1, 0)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin is the NaN we want
        confidence = np.bincount(which, weights=p, minlength=bins) / count
        accuracy = np.bincount(which, weights=right, minlength=bins) / count
    return ReliabilityCurve(edges, confidence, accuracy, count.astype(np.int64))
