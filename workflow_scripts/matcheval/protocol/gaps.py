"""The matched gap of one model on a pair of sets, averaged over seeds."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import N_SEEDS
from matcheval.protocol.runs import RunName, matched_rows, measure_runs
from matcheval.protocol.settings import MatchingMethod


@dataclass(frozen=True)
class MatchedGap:
    """A matched gap: matched accuracy on the original minus that on the replication."""

    mean: float
    std: float
    share_matched: float
    n_seeds: int


def matched_gap(
    comparison: Comparison, method: MatchingMethod, seeds: Iterable[int] = range(N_SEEDS)
) -> MatchedGap:
    """Match a model's predictions on two sets, once per seed, and average the gap."""
    source, target = comparison.source, comparison.target
    name = RunName(comparison.model, comparison.pair.name)
    runs = measure_runs(source, target, matched_rows(source, target, name, method, seeds))
    sign = 1 if comparison.source_is_original else -1
    gaps = np.array(
        [r.matched_accuracy_source - r.matched_accuracy_target for r in runs if r.n_matched]
    )
    return MatchedGap(
        mean=sign * float(gaps.mean()) if len(gaps) else float("nan"),
        std=float(gaps.std(ddof=1)) if len(gaps) > 1 else float("nan"),
        share_matched=float(np.mean([1 - run.fraction_unmatched for run in runs])),
        n_seeds=len(gaps),
    )
