"""Null distributions of gap, matched gap and unmatched share, and p-values."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from matcheval.analyses.permutation_null.arrangements import Arrangements
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.matching import UNMATCHED, DividedPlans, match, named_sequence
from matcheval.protocol.settings import MatchingMethod

_TOLERANCE = 1e-12
_PERCENTILES = (2.5, 97.5)

Floats = npt.NDArray[np.float64]


class Statistic(StrEnum):
    """What is compared with its null distribution; the first two are two-sided."""

    GAP = "gap"
    MATCHED_GAP = "matched_gap"
    UNMATCHED = "fraction_unmatched"


_OF_MATCHINGS = (Statistic.MATCHED_GAP, Statistic.UNMATCHED)


@dataclass(frozen=True)
class NullDistribution:
    """A statistic under the hypothesis that both sets are draws from one population."""

    observed: float
    mean: float
    std: float
    low: float
    high: float
    least: float
    most: float
    p: float
    smallest_p: float
    n: int
    n_undefined: int
    is_exact: bool


def permuted_statistics(
    comparison: Comparison,
    methods: Mapping[str, MatchingMethod],
    arrangements: Arrangements,
    seed: int,
) -> dict[tuple[Statistic, str], Floats]:
    """Compute the statistics of one model for every division of the datapoints."""
    source, target, pair = comparison.source, comparison.target, comparison.pair.name
    correct = np.concatenate([source.correct, target.correct]).astype(np.float64)
    sign = 1 if comparison.source_is_original else -1
    generator = np.random.default_rng(named_sequence(pair, "divisions", child=seed))
    plans, picks = {}, {}
    for name, one in methods.items():
        plans[name] = DividedPlans(source, target, one)
        names = (pair, "divisions", one.criterion.value, comparison.model)
        picks[name] = np.random.default_rng(named_sequence(*names, child=seed))
    kinds = [(Statistic.GAP, ""), *itertools.product(_OF_MATCHINGS, methods)]
    found = {kind: np.full(arrangements.n, np.nan) for kind in kinds}
    for i, in_source in enumerate(arrangements.draw(generator)):
        order = generator.permutation(len(in_source))
        sources, targets = (order[is_in[order]] for is_in in (in_source, ~in_source))
        if not len(sources) or not len(targets):
            continue
        found[Statistic.GAP, ""][i] = sign * (correct[sources].mean() - correct[targets].mean())
        for name, plan in plans.items():
            row = match(plan.plan(sources, targets), picks[name])
            hit = row != UNMATCHED
            found[Statistic.UNMATCHED, name][i] = 1 - hit.mean()
            if hit.any():
                difference = correct[sources[row[hit]]].mean() - correct[targets[hit]].mean()
                found[Statistic.MATCHED_GAP, name][i] = sign * difference
    return found


def summarise(
    values: Floats, statistic: Statistic, arrangements: Arrangements
) -> NullDistribution:  # fmt: skip
    """Compare the observed value with the null distribution."""
    is_two_sided = statistic is not Statistic.UNMATCHED
    extremes = np.abs(values) if is_two_sided else values
    as_extreme = ~(extremes < extremes[0] - _TOLERANCE)
    null = values if arrangements.is_exact else values[1:]
    null = null[~np.isnan(null)]
    nan = float("nan")
    low, high = np.percentile(null, _PERCENTILES).tolist() if len(null) else (nan, nan)
    return NullDistribution(
        observed=float(values[0]),
        mean=float(null.mean()) if len(null) else nan,
        std=float(null.std(ddof=1)) if len(null) > 1 else nan,
        low=low,
        high=high,
        least=float(null.min(initial=np.inf)) if len(null) else nan,
        most=float(null.max(initial=-np.inf)) if len(null) else nan,
        p=nan if np.isnan(values[0]) else float(as_extreme.mean()),
        smallest_p=arrangements.smallest_p(mirrored=statistic is Statistic.GAP),
        n=len(values),
        n_undefined=int(np.isnan(values).sum()),
        is_exact=arrangements.is_exact,
    )
