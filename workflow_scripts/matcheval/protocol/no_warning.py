"""The no-warning reference: what the protocol reports if nothing warned of the errors.

Errors rise by one factor at every confidence, and confidence stays as it is; the gap is the real
one. Matching narrows such a gap, too, and the more so the smaller the sets. A split of the original
set plays both sets, and the part of the replication is degraded. The two parts together are as
large as the original, so that the real pair is measured at the same sizes. The difference between
both narrowings is a finding only under the assumption of one factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from matcheval.predictions.records import Predictions
from matcheval.protocol import matching
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Floats, Scored
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import isotonic_accuracy

N_SPLITS = 20

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NoWarning:
    """Gaps of a pair and of its no-warning reference, at equal sizes; names are those of columns.

    A narrowing is the share by which matching makes a gap smaller.
    """

    n_reference_original: int
    n_reference_replication: int
    error_ratio: float = float("nan")
    reference_gap: float = float("nan")
    reference_matched_gap: float = float("nan")
    same_size_gap: float = float("nan")
    same_size_matched_gap: float = float("nan")
    reason: str = ""

    @property
    def columns(self) -> dict[str, float]:
        """Values of the columns `error_ratio` to `excess_narrowing` of `schemas.GAP_QUANTITIES`."""
        reference = _narrowing(self.reference_gap, self.reference_matched_gap)
        real = _narrowing(self.same_size_gap, self.same_size_matched_gap)
        return vars(self) | {
            "reference_narrowing": reference, "same_size_narrowing": real,
            "excess_narrowing": real - reference,
        }  # fmt: skip

    def without(self, why: str) -> Self:
        """Return what stands for a reference that there is not."""
        sizes = self.n_reference_original, self.n_reference_replication
        return type(self)(*sizes, reason=f"no no-warning reference: {why}")


def _narrowing(gap: float, matched_gap: float) -> float:
    return 1 - matched_gap / gap if gap else float("nan")


def error_ratio(errors: Floats, gap: float) -> float:
    """Find the factor by which errors must rise to lower accuracy by a gap."""
    e = np.sort(errors[errors > 0])[::-1]
    wanted = (gap + errors.mean()) * len(errors)
    if not len(e) or wanted > len(e) * (1 + 1e-12):
        return float("nan")
    # With the k largest error rates at 1, the others make up what is left of the sum.
    k = np.arange(len(e))
    others = np.cumsum(e[::-1])[::-1]
    ratios = (wanted - k) / others
    fits = np.flatnonzero(ratios * e <= 1)
    return max(1.0, float(ratios[fits[0]] if len(fits) else 1 / e[-1]))


def flip_probability(errors: Floats, ratio: float) -> Floats:
    """Return with which probability each correct prediction becomes wrong."""
    with np.errstate(divide="ignore", invalid="ignore"):
        flipped = (ratio - 1) * errors / (1 - errors)
    return np.where(errors >= 1, 1.0, np.minimum(flipped, 1.0))


def split_sizes(n_original: int, n_replication: int) -> tuple[int, int]:
    """Return sizes in the ratio of the sets, which together are as many as the original."""
    of_replication = max(1, n_original * n_replication // (n_original + n_replication))
    return n_original - of_replication, of_replication


@lru_cache(maxsize=2)  # of a pair, or both directions of one; all models share them
def splits(pair: str, n_original: int, n_replication: int) -> tuple[tuple[Mask, Mask, Mask], ...]:
    """Return the parts of all splits.

    They depend on the number of the split and the pair only. Of the first part of the original, the
    errors stay, and those of the others rise; the other two parts are the real pair at these sizes.
    """
    of_original, of_replication = split_sizes(n_original, n_replication)
    found = []
    for split in range(N_SPLITS):
        sequence = matching.named_sequence(pair, "no-warning reference", child=split)
        rng = np.random.default_rng(sequence)
        parts = (
            (n_original, of_original),
            (n_original, of_original),
            (n_replication, of_replication),
        )
        kept, first, second = (_mask(rng.permutation(n)[:size], n) for n, size in parts)
        found.append((kept, first, second))
    return tuple(found)


def _mask(rows: npt.NDArray[np.int64], n: int) -> Mask:
    mask = np.zeros(n, np.bool_)
    mask[rows] = True
    return mask


def no_warning_reference(
    comparison: Comparison,
    method: MatchingMethod,
    accuracy: Floats | None = None,
    sets: matching.SortedSets | None = None,
) -> NoWarning:
    """Measure a pair and its no-warning reference in splits.

    Parameters
    ----------
    comparison : Comparison
    method : MatchingMethod
    accuracy : float64 array, shape (n_original,), optional
        `isotonic_accuracy` of the original, if it is known.
    sets : SortedSets, optional
        Source and target, if they are sorted already.
    """
    original, replication = comparison.original, comparison.replication
    sizes = len(original), len(replication)
    found = NoWarning(*split_sizes(*sizes))
    if len(original) < 2:
        return found.without("the original set has fewer than two datapoints")
    if comparison.gap <= 0:
        return found.without("the gap is not positive")
    if accuracy is None:
        accuracy = isotonic_accuracy(Scored(original.probability, original.correct))
    errors = 1 - accuracy
    ratio = error_ratio(errors, comparison.gap)
    if np.isnan(ratio):
        return found.without("no factor on the errors of the original reaches the gap")
    degraded = original.correct * (1 - flip_probability(errors, ratio))
    name, is_original = comparison.pair.name, comparison.source_is_original
    if sets is None:
        sets = matching.SortedSets.of(comparison.source, comparison.target, method)
    of_original = sets.source if is_original else sets.target
    between_halves = _Plans(original, original, method, sets.plan_within(of_original))
    of_pair = _Plans(comparison.source, comparison.target, method, sets.plan)
    of_splits = []
    for split, (kept, first, second) in enumerate(splits(name, *sizes)):
        _, of_reference, of_real = matching.run_sequence(
            split, pair=name, criterion=method.criterion, model=comparison.model
        ).spawn(3)  # the first child of a run seeds the order of its targets
        halves = (kept, original.correct), (~kept, degraded)
        real = (first, original.correct), (second, replication.correct)
        of_splits.append((
            *_gaps(*halves, is_original, between_halves, of_reference),
            *_gaps(*real, is_original, of_pair, of_real),
        ))  # fmt: skip
    gaps = np.array(of_splits)
    if np.isnan(gaps).any():
        return found.without("in a split, no target is matched")
    return NoWarning(*split_sizes(*sizes), ratio, *gaps.mean(axis=0).tolist())


def mean_reference(models: Sequence[NoWarning]) -> NoWarning:
    """Average over models: narrowings are those of the mean gaps."""
    names = [field.name for field in fields(NoWarning)][2:-1]
    means: Any = {name: float(np.mean([getattr(one, name) for one in models])) for name in names}
    return replace(models[0], **means)


@dataclass(frozen=True, eq=False)
class _Plans:
    """Plans of the matching of parts of two sets, whose plan as wholes is known."""

    source: Predictions
    target: Predictions
    method: MatchingMethod
    whole: matching.MatchingPlan

    def of_parts(self, in_source: Mask, in_target: Mask) -> matching.MatchingPlan:
        """Plan the matching of parts, with the rows of the whole source."""
        if not self.method.score.is_pooled:
            return self.whole.part(in_source, in_target)
        parts = _part(self.source, in_source), _part(self.target, in_target)
        plan = matching.plan_matching(*parts, self.method)
        return replace(plan, source_order=np.flatnonzero(in_source)[plan.source_order])


def _part(predictions: Predictions, rows: Mask) -> Predictions:
    names = ("index", "label", "prediction", "probability")
    return replace(predictions, **{name: getattr(predictions, name)[rows] for name in names})


# Which datapoints are in a part, and of all whether the prediction is correct, or how probably.
Part = tuple[Mask, npt.NDArray[np.bool_] | Floats]


def _gaps(
    original: Part,
    replication: Part,
    source_is_original: bool,
    plans: _Plans,
    sequence: np.random.SeedSequence,
) -> tuple[float, float]:
    """Return gap and matched gap of one run; the latter is NaN without a matched pair."""
    gap = _accuracy(*original) - _accuracy(*replication)
    sides = (original, replication) if source_is_original else (replication, original)
    (in_source, y), (in_target, z) = sides
    plan = plans.of_parts(in_source, in_target)
    rows = matching.match_once(plan, plans.method.order, sequence)
    is_matched = rows != matching.UNMATCHED
    if not is_matched.any():
        return gap, float("nan")
    matched = float(y[rows[is_matched]].mean() - z.compress(in_target)[is_matched].mean())
    return gap, matched if source_is_original else -matched


def _accuracy(part: Mask, correct: npt.NDArray[np.bool_] | Floats) -> float:
    """Return the mean of a part."""
    if correct.dtype == np.bool_:  # in a tenth of the time
        right = np.logical_and(correct, part)
        return int(np.count_nonzero(right)) / int(np.count_nonzero(part))
    return float(correct.compress(part).mean())
