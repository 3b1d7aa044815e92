"""Bag of prototypes: how often each of a reference set's prototypes is the nearest on the target.

Tu et al. 2023 (A Bag-of-Prototypes Representation for Dataset-Level Applications), as their
released code computes it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.features import Features, check_widths, features_of
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Predicts,
    Score,
    Sides,
    Sources,
)

Floats = npt.NDArray[np.float64]

# Of the released code; the number of starts is the default of scikit-learn before 1.4, with which
# the code was written: 10 starts of k-means++, of which the best is kept.
_MAX_ITER, _SEED, _N_INIT = 100, 2022, 10


@dataclass(frozen=True, eq=False)
class Codebook:
    """Prototypes of a reference set."""

    prototypes: Features
    histogram: Floats


def fit_codebook(features: Features, n_prototypes: int) -> Codebook:
    """Cluster the features of a reference set by k-means."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    means = KMeans(n_prototypes, n_init=_N_INIT, max_iter=_MAX_ITER, random_state=_SEED)
    with threadpool_limits(1):  # several threads add up in any order, which changes last bits
        prototypes = means.fit(features).cluster_centers_
    return Codebook(prototypes, bag(features, prototypes))


def bag(features: Features, prototypes: Features) -> Floats:
    """Return the share of datapoints to which each prototype is the nearest."""
    from sklearn.metrics import pairwise_distances_argmin

    nearest = pairwise_distances_argmin(features, prototypes)
    return np.bincount(nearest, minlength=len(prototypes)) / len(features)


def jensen_shannon(one: Floats, other: Floats) -> float:
    """Compute the Jensen-Shannon divergence, natural logarithm, without a square root."""
    from scipy.special import rel_entr

    middle = (one + other) / 2
    return float((rel_entr(one, middle).sum() + rel_entr(other, middle).sum()) / 2)


def _fit(sources: Sources) -> Codebook:
    if sources.reference is None:
        raise NotAvailableError("no reference set")
    features, size = features_of(sources.reference), sources.options.get("n_prototypes", 80)
    if len(features) < size:
        raise NotAvailableError(
            f"the reference set has {len(features)} datapoints, fewer than {size} prototypes"
        )
    return fit_codebook(features, size)


def _score(codebook: Any, sides: Sides) -> float:
    features = features_of(sides.target)
    check_widths(codebook.prototypes.shape[1], features.shape[1])
    return jensen_shannon(codebook.histogram, bag(features, codebook.prototypes))


SCORES = (
    Score(
        "bop_js", "BoP+JS", (Need.FEATURES, Need.REFERENCE), Predicts.BY_REGRESSION, -1, _score,
        _fit, source="P2, Table 2; Tu et al. 2023",
    ),
)  # fmt: skip
