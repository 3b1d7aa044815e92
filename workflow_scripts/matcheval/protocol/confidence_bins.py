"""Both sets in bins of confidence, and the gap between them in two parts.

The confidence part is the gap that the different shares of the bins make at equal accuracy within
bins; the conditional part is the gap that different accuracies make at equal confidence. Both add
up to the gap. No datapoint is left out, as matching does.

References
----------
Kitagawa (1955), Journal of the American Statistical Association 50; Oaxaca (1973), International
Economic Review 14; Blinder (1973), Journal of Human Resources 8.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

N_BINS = 20

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scored:
    """One model's confidences on one set, and which of its predictions are correct.

    Attributes
    ----------
    confidence : float array, shape (n,)
        Finite; compared in float64.
    correct : bool or float array, shape (n,)
        Correctness, or its expectation, in [0, 1].
    """

    confidence: npt.NDArray[np.floating]
    correct: npt.NDArray[np.bool_] | Floats

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.confidence)

    def __post_init__(self) -> None:
        """Check shapes and values."""
        if self.confidence.ndim != 1 or self.confidence.shape != self.correct.shape:
            raise InputError(
                f"confidences of shape {self.confidence.shape}, correctness of shape "
                f"{self.correct.shape}",
                remedy="Give one of each per datapoint",
            )
        if not len(self.confidence):
            raise InputError("no datapoints", remedy="An empty set cannot be compared")
        if not np.isfinite(self.confidence).all():
            raise InputError("a confidence is not a finite number", field="confidence")


@dataclass(frozen=True, eq=False)
class Bins:
    """Both sets in bins of confidence, those without a datapoint left out."""

    edges: Floats
    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    n_source: Floats
    correct_source: Floats
    n_target: Floats
    correct_target: Floats

    @property
    def counts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The arguments of `parts_of_bins`."""
        return self.n_source, self.correct_source, self.n_target, self.correct_target


@dataclass(frozen=True)
class Parts:
    """A gap, accuracy on the source minus accuracy on the target, and its parts."""

    gap: Floats
    confidence: Floats
    conditional: Floats
    source_only: Floats
    target_only: Floats


def quantile_edges(confidences: npt.NDArray[np.floating], n_bins: int) -> Floats:
    """Return the edges of bins that hold about equally many confidences."""
    k = np.arange(1, n_bins)
    ranks = (len(confidences) * k + n_bins - 1) // n_bins
    return np.unique(np.sort(confidences.astype(np.float64))[ranks - 1])


def bin_sets(source: Scored, target: Scored, n_bins: int = N_BINS) -> Bins:
    """Put the datapoints of both sets into bins of confidence."""
    if n_bins < 1:
        raise InputError(f"{n_bins} bins of confidence", remedy="Give at least 1, usually 20")
    edges = quantile_edges(np.concatenate([source.confidence, target.confidence]), n_bins)
    sides = [np.searchsorted(edges, s.confidence.astype(np.float64)) for s in (source, target)]
    # Every edge is a value of the data, so that only the bin above the last one can be empty.
    n_found = 1 + max(int(side.max()) for side in sides)
    counts = [
        np.bincount(side, weights, n_found).astype(np.float64)
        for side, scored in zip(sides, (source, target), strict=True)
        for weights in (None, scored.correct)
    ]
    return Bins(edges, sides[0], sides[1], *counts)


def parts_of_bins(
    n_source: Floats, correct_source: Floats, n_target: Floats, correct_target: Floats
) -> Parts:
    """Decompose a gap, given the datapoints in each bin.

    Parameters
    ----------
    n_source, correct_source, n_target, correct_target : float64 arrays, shape (..., n_bins)
        Datapoints and correct predictions of each bin.

    Returns
    -------
    Parts
        Arrays of shape (...); the two parts add up to the gap but for rounding.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        w = n_source / n_source.sum(axis=-1, keepdims=True)
        v = n_target / n_target.sum(axis=-1, keepdims=True)
        a, b = correct_source / n_source, correct_target / n_target
    no_source, no_target = n_source == 0, n_target == 0
    # A bin that is empty on both sides has weight 0 on both, whatever its accuracy.
    a, b = np.where(no_source, np.nan_to_num(b), a), np.where(no_target, np.nan_to_num(a), b)
    return Parts(
        gap=(w * a).sum(axis=-1) - (v * b).sum(axis=-1),
        confidence=((w - v) * (a + b)).sum(axis=-1) / 2,
        conditional=((a - b) * (w + v)).sum(axis=-1) / 2,
        source_only=(w * no_target).sum(axis=-1),
        target_only=(v * no_source).sum(axis=-1),
    )
