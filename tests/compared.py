"""Several models on one pair of simulated sets, for tests of analyses with a table per pair."""

from dataclasses import replace

import numpy as np

from helpers import simulate
from matcheval.datasets.suites import Pair
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.settings import Criterion, MatchingMethod

BOTH = {c.value: MatchingMethod(criterion=c) for c in Criterion}


def compared(*sets, methods=BOTH, seeds=1, blocks=None, **of_pair) -> ComparedModels:
    """Models "m0", "m1", ... with these predictions on sets "old" and "new" of pair "p"."""
    pair = Pair("p", "old", "new", **of_pair)
    comparisons = tuple(Comparison(f"m{i}", pair, *both) for i, both in enumerate(sets))
    return ComparedModels(pair, comparisons, methods, tuple(range(seeds)), blocks)


def models(
    n_original=400, n_replication=250, *, n_models=2, n_classes=4, seeds=3, methods=None,
    accuracies=(0.9, 0.8),
) -> ComparedModels:  # fmt: skip
    """Models "m0", "m1", ... on simulated sets, whose labels they share."""
    rng = np.random.default_rng(9)
    labels = [rng.integers(0, n_classes, n) for n in (n_original, n_replication)]
    sets = [
        [
            simulate(len(label), n_classes, 10 * i + side, accuracy=accuracy, label=label)
            for side, (label, accuracy) in enumerate(zip(labels, accuracies, strict=True))
        ]
        for i in range(n_models)
    ]
    return compared(*sets, methods=methods or BOTH, seeds=seeds)


def swapped(known: ComparedModels) -> ComparedModels:
    """The same datapoints in the same roles, but with the replication as the source."""
    pair = Pair("p", known.pair.replication, known.pair.original, source=known.pair.original)
    comparisons = tuple(
        Comparison(one.model, pair, one.replication, one.original) for one in known.comparisons
    )
    return replace(known, pair=pair, comparisons=comparisons)
