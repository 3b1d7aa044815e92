"""Reliability curves: accuracy by confidence, and the density of the confidences, in bins."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReliabilityCurve:
    """Accuracy and mean confidence in equal-width bins of the confidence."""

    edges: Floats
    confidence: Floats
    accuracy: Floats
    count: npt.NDArray[np.int64]

    @property
    def density(self) -> Floats:
        """Probability density of the confidences, shape (bins,): integrates to 1."""
        n = int(self.count.sum())
        if n == 0:
            return np.full(len(self.count), np.nan)
        return self.count / (n * np.diff(self.edges))


def reliability_curve(
    probability: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 10
) -> ReliabilityCurve:
    """Bin datapoints by confidence into equal-width bins."""
    p = np.asarray(probability, dtype=np.float64)
    is_correct = np.asarray(correct, dtype=np.float64)
    if bins < 1:
        raise InputError(f"{bins} bins", remedy="Give at least 1, usually 10 to 15")
    if p.ndim != 1 or p.shape != is_correct.shape:
        raise InputError(
            f"probability has shape {p.shape}, correct {is_correct.shape}",
            remedy="Give one value of each per datapoint",
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise InputError("some probabilities lie outside [0, 1]")

    edges = np.arange(bins + 1) / bins  # each is the double nearest to k / bins
    which = np.maximum(np.searchsorted(edges, p, side="left") - 1, 0)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin gives the intended NaN
        confidence = np.bincount(which, weights=p, minlength=bins) / count
        accuracy = np.bincount(which, weights=is_correct, minlength=bins) / count
    return ReliabilityCurve(edges, confidence, accuracy, count.astype(np.int64))
