"""The no-warning reference: what the protocol reports if nothing warned of the errors.

Errors rise by one factor at every confidence, and confidence stays as it is; the gap is the real
one. Matching narrows such a gap, too, and the more so the smaller the sets. A split of the original
set plays both sets, and the part of the replication is degraded. The two parts together are as
large as the original, so that the real pair is measured at the same sizes. The difference between
both narrowings is a finding only under the assumption of one factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
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
    """Mean gaps of a pair and of its no-warning reference in splits; fields are columns.

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
    splits: Floats = field(default_factory=lambda: np.empty((0, 4)), compare=False)  # all gaps

    @property
    def spread(self) -> float:
        """How much the excess narrowing varies with the splits: its jackknife standard error."""
        n = len(self.splits)
        if n < 2:
            return float("nan")
        without = (self.splits.sum(axis=0) - self.splits) / (n - 1)
        gap, matched, real, real_matched = without.T
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = matched / gap - real_matched / real
        return float(excess.std() * np.sqrt(n - 1))

    @property
    def columns(self) -> dict[str, float]:
        """All quantities of the reference by column, also its narrowings and the excess."""
        reference = _narrowing(self.reference_gap, self.reference_matched_gap)
        real = _narrowing(self.same_size_gap, self.same_size_matched_gap)
        return vars(self) | {
            "reference_narrowing": reference, "same_size_narrowing": real,
            "excess_narrowing": real - reference, "excess_spread": self.spread,
        }  # fmt: skip

    def undefined(self, why: str) -> Self:
        """Return a reference of the same sizes that is NaN, and says why."""
        sizes = self.n_reference_original, self.n_reference_replication
        return type(self)(*sizes, reason=f"no no-warning reference: {why}")


def _narrowing(gap: float, matched_gap: float) -> float:
    """Return by which share a matched gap is smaller than the gap; NaN if that is 0."""
    return 1 - matched_gap / gap if gap else float("nan")


def error_ratio(errors: Floats, gap: float) -> float:
    """Find the factor by which error rates must rise to lower accuracy by `gap`."""
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
    """Return the probability that a correct prediction becomes wrong as errors rise by `ratio`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        flipped = (ratio - 1) * errors / (1 - errors)
    return np.where(errors >= 1, 1.0, np.minimum(flipped, 1.0))


def split_sizes(n_original: int, n_replication: int) -> tuple[int, int]:
    """Divide the size of the original into two parts, in the ratio of both sets' sizes."""
    size = max(1, n_original * n_replication // (n_original + n_replication))
    return n_original - size, size


@dataclass(frozen=True, eq=False)
class Splits:
    """Masks of the datapoints that are in each part, in all splits: shape (N_SPLITS, n)."""

    kept: Mask  # part of the original whose errors stay
    worse: Mask  # the other, whose errors rise
    original: Mask  # parts of both sets at these sizes
    replication: Mask


@lru_cache(maxsize=1)  # all models of a pair share them
def draw_splits(pair: str, n_original: int, n_replication: int) -> Splits:
    """Draw the random splits of both sets, the same for all models of a pair."""
    size, size_replication = split_sizes(n_original, n_replication)
    parts = (n_original, size), (n_original, size), (n_replication, size_replication)
    masks = tuple(np.zeros((N_SPLITS, n), np.bool_) for n, _ in parts)
    for split in range(N_SPLITS):
        sequence = matching.named_sequence(pair, "no-warning reference", child=split)
        rng = np.random.default_rng(sequence)
        for mask, (n, size) in zip(masks, parts, strict=True):
            mask[split, rng.permutation(n)[:size]] = True
    kept, original, replication = masks
    return Splits(kept, ~kept, original, replication)


def no_warning_reference(
    comparison: Comparison,
    method: MatchingMethod,
    accuracy: Floats | None = None,
    sets: matching.SortedSets | None = None,
) -> NoWarning:
    """Measure gaps and matched gaps of a pair and of its no-warning reference, over all splits."""
    original, replication = comparison.original, comparison.replication
    sizes = len(original), len(replication)
    result = NoWarning(*split_sizes(*sizes))
    if len(original) < 2:
        return result.undefined("the original set has fewer than two datapoints")
    if comparison.gap <= 0:
        return result.undefined("the gap is not positive")
    if accuracy is None:
        accuracy = isotonic_accuracy(Scored(original.probability, original.correct))
    errors = 1 - accuracy
    ratio = error_ratio(errors, comparison.gap)
    if np.isnan(ratio):
        return result.undefined("no factor on the errors of the original reaches the gap")
    degraded = original.correct * (1 - flip_probability(errors, ratio))
    name, is_original = comparison.pair.name, comparison.source_is_original
    if sets is None:
        sets = matching.SortedSets.of(comparison.source, comparison.target, method)
    parts = draw_splits(name, *sizes)
    # The first child of a run seeds the order of its targets.
    sequences = [
        matching.run_sequence(
            split, pair=name, criterion=method.criterion, model=comparison.model
        ).spawn(3)[1:]
        for split in range(N_SPLITS)
    ]
    reference_sequences, real_sequences = zip(*sequences, strict=True)
    kept, worse = (
        Part(original, original.correct, parts.kept),
        Part(original, degraded, parts.worse),
    )
    plan = sets.plan_within(sets.source if is_original else sets.target)
    reference = _gaps_of_splits(kept, worse, is_original, method, plan, reference_sequences)
    real = _gaps_of_splits(
        Part(original, original.correct, parts.original),
        Part(replication, replication.correct, parts.replication),
        is_original, method, sets.plan, real_sequences,
    )  # fmt: skip
    gaps = np.hstack([reference, real])
    if np.isnan(gaps).any():
        return result.undefined("in a split, no target is matched")
    result = NoWarning(*split_sizes(*sizes), ratio, *gaps.mean(axis=0).tolist())
    return replace(result, splits=gaps)


def mean_reference(models: Sequence[NoWarning]) -> NoWarning:
    """Average the models' references; narrowings are then those of the mean gaps."""
    names = [quantity.name for quantity in fields(NoWarning)][2:-2]
    means: Any = {k: float(np.mean([getattr(model, k) for model in models])) for k in names}
    return replace(models[0], **means, splits=np.mean([model.splits for model in models], axis=0))


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a set in every split, and whether (or how probably) predictions are correct."""

    predictions: Predictions
    correct: npt.NDArray[np.bool_] | Floats
    masks: Mask

    def accuracy(self, split: int) -> float:
        """Return the part's accuracy in a split, or the expected one."""
        if self.correct.dtype == np.bool_:  # in a tenth of the time
            right = np.count_nonzero(np.logical_and(self.correct, self.masks[split]))
            return int(right) / int(np.count_nonzero(self.masks[split]))
        return float(self.correct.compress(self.masks[split]).mean())


def _gaps_of_splits(
    original: Part,
    replication: Part,
    source_is_original: bool,
    method: MatchingMethod,
    plan: matching.MatchingPlan,
    sequences: Sequence[np.random.SeedSequence],
) -> Floats:
    """Return gap and matched gap of each split: shape (n_splits, 2), NaN without a matched pair."""
    sides = (original, replication) if source_is_original else (replication, original)
    source, target = sides
    if method.score.is_pooled:  # scores, and candidates, depend on what is in the parts
        pooled = matching.PooledPlans(source.predictions, target.predictions, method.criterion)
        masks = zip(source.masks, target.masks, strict=True)
        plans = (pooled.plan(*split_masks, method.epsilon) for split_masks in masks)
        rows = np.stack([
            matching.match_once(split_plan, method.order, sequence)
            for split_plan, sequence in zip(plans, sequences, strict=True)
        ])  # fmt: skip
    else:
        rows = matching.match_parts(plan, source.masks, target.masks, method.order, sequences)
    gaps = np.full((len(rows), 2), np.nan)
    for split, picked in enumerate(rows):
        right = target.correct.compress(target.masks[split])
        a, b = source.accuracy(split), float(right.mean())
        gaps[split, 0] = a - b if source_is_original else b - a
        is_matched = picked != matching.UNMATCHED
        if is_matched.any():
            matched = source.correct[picked[is_matched]].mean() - right[is_matched].mean()
            gaps[split, 1] = matched if source_is_original else -matched
    return gaps
