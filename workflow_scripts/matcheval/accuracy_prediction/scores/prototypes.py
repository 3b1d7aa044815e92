"""Bag of prototypes: how often each of a reference set's prototypes is the nearest on the target.

Tu et al. 2023 (A Bag-of-Prototypes Representation for Dataset-Level Applications), as their
released code computes it.
"""

from dataclasses import dataclass

import numpy as np

from matcheval.accuracy_prediction.scores.features import (
    Features,
    check_widths,
    features_of,
    reference_of,
)
from matcheval.accuracy_prediction.scores.outputs import Floats
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Predicts,
    Sides,
    Sources,
    score,
)

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


def _codebook_of_reference(sources: Sources) -> Codebook:
    features, size = features_of(reference_of(sources)), sources.options["n_prototypes"]
    if len(features) < size:
        raise NotAvailableError(
            f"the reference set has {len(features)} datapoints, fewer than {size} prototypes"
        )
    return fit_codebook(features, size)


@score(
    "bop_js", "BoP+JS", Predicts.BY_REGRESSION, -1, needs=(Need.FEATURES, Need.REFERENCE),
    fit=_codebook_of_reference, source="P2, Table 2; Tu et al. 2023",
)  # fmt: skip
def divergence_of_bags(sides: Sides, codebook: Codebook) -> float:
    """Compute how far the target's bag of prototypes is from the reference's."""
    features = features_of(sides.target)
    check_widths(codebook.prototypes.shape[1], features.shape[1])
    return jensen_shannon(codebook.histogram, bag(features, codebook.prototypes))
