"""Mean and covariance of features, and the distances between sets that need no more than these."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.inference.statistics import FeatureStatistics

Floats = npt.NDArray[np.float64]

_ROWS = 8192  # converted to float64 at a time


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of features."""

    n: int
    mean: Floats
    covariance: Floats

    @cached_property
    def root(self) -> Floats:
        """A matrix R, shape (n_features, rank), such that R Rᵀ is the covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        kept = values > _smallest(values)
        root: Floats = vectors[:, kept] * np.sqrt(values[kept])
        return root


def moments_of_features(features: npt.NDArray[np.float32]) -> Moments:
    """Compute mean and covariance in float64, in two passes and bounded memory."""
    n, width = features.shape
    mean: Floats = features.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((width, width))
    for start in range(0, n, _ROWS):
        centred = features[start : start + _ROWS] - mean
        scatter += centred.T @ centred
    return Moments(n, mean, scatter / (n - 1 if n > 1 else np.nan))


def moments_of_statistics(statistics: FeatureStatistics) -> Moments:
    """Take mean and covariance from the statistics of a forward pass."""
    return Moments(statistics.n, statistics.feature_mean, statistics.feature_covariance)


def mean_distance(one: Moments, other: Moments) -> float:
    """Compute the Euclidean distance of the means (P1, equation 9)."""
    return float(np.linalg.norm(one.mean - other.mean))


def frechet_distance(one: Moments, other: Moments, *, as_printed: bool = False) -> float:
    r"""Compute the Fréchet distance of two normal distributions."""
    values = np.linalg.eigvalsh(one.root.T @ other.covariance @ one.root)
    cross = np.sqrt(values[values > _smallest(values)]).sum()
    spread = np.trace(one.covariance) + np.trace(other.covariance) - 2 * cross
    between = mean_distance(one, other)
    return float((between if as_printed else between**2) + max(spread, 0.0))


def _smallest(values: npt.NDArray[Any]) -> float:
    """Return the size up to which eigenvalues of a symmetric matrix are zero up to rounding."""
    return float(len(values) * np.finfo(np.float64).eps * values.max(initial=0.0))
