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
    """Mean and covariance of features.

    Attributes
    ----------
    n : int
        Datapoints, at least 1.
    mean : float64 array, shape (n_features,)
    covariance : float64 array, shape (n_features, n_features)
        With n - 1 in the denominator; NaN for a single datapoint.
    """

    n: int
    mean: Floats
    covariance: Floats

    @cached_property
    def root(self) -> Floats:
        """A matrix R, shape (n_features, rank), such that R Rᵀ is the covariance.

        Eigenvalues that are zero up to rounding are left out: with fewer datapoints than features
        the covariance is singular, and the roots of its rounding errors would add up.
        """
        values, vectors = np.linalg.eigh(self.covariance)
        kept = values > _smallest(values)
        root: Floats = vectors[:, kept] * np.sqrt(values[kept])
        return root


def moments_of_features(features: npt.NDArray[np.float32]) -> Moments:
    """Compute mean and covariance in float64, in two passes and bounded memory.

    Parameters
    ----------
    features : float array, shape (n, n_features)
        Of at least one datapoint.
    """
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
    """Compute the Euclidean distance of the means (P1, equation 9).

    Parameters
    ----------
    one, other : Moments
        Of the same features.
    """
    return float(np.linalg.norm(one.mean - other.mean))


def frechet_distance(one: Moments, other: Moments, *, as_printed: bool = False) -> float:
    r"""Compute the Fréchet distance of two normal distributions.

    ‖μ₁ - μ₂‖² + tr(Σ₁ + Σ₂ - 2 (Σ₁Σ₂)^½). With R of `one.root`, Σ₁Σ₂ has the eigenvalues of the
    symmetric matrix RᵀΣ₂R besides zeros, so that two symmetric eigen-decompositions give the
    trace, one of which is that of R. A general square root of the matrix Σ₁Σ₂ is not accurate if
    that is singular.

    Parameters
    ----------
    one, other : Moments
        Of the same features, with finite covariances. Give the one that is compared with several
        others first: its root is computed once.
    as_printed : bool
        Whether the norm of the means' difference is not squared, as P1 prints equation 10.

    Returns
    -------
    float
        At least 0.
    """
    values = np.linalg.eigvalsh(one.root.T @ other.covariance @ one.root)
    cross = np.sqrt(values[values > _smallest(values)]).sum()
    spread = np.trace(one.covariance) + np.trace(other.covariance) - 2 * cross
    between = mean_distance(one, other)
    return float((between if as_printed else between**2) + max(spread, 0.0))


def _smallest(values: npt.NDArray[Any]) -> float:
    """Return the size up to which eigenvalues of a symmetric matrix are zero up to rounding."""
    return float(len(values) * np.finfo(np.float64).eps * values.max(initial=0.0))
