"""The no-warning reference: what the protocol reports if nothing warned of the errors.

Errors rise by one factor at every confidence, and confidence stays as it is; the gap is the real
one. Matching narrows such a gap, too, and the more so the smaller the sets. A split of the original
set plays both sets, and the part of the replication is degraded. The two parts together are as
large as the original, so that the real pair is measured at the same sizes. The difference between
both narrowings is a finding only under the assumption of one factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
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


def no_warning_reference(comparison: Comparison, method: MatchingMethod) -> NoWarning:
    """Measure a pair and its no-warning reference in splits."""
    original, replication = comparison.original, comparison.replication
    n_original, n_replication = split_sizes(len(original), len(replication))
    found = NoWarning(n_original, n_replication)
    if len(original) < 2:
        return found.without("the original set has fewer than two datapoints")
    if comparison.gap <= 0:
        return found.without("the gap is not positive")
    errors = 1 - isotonic_accuracy(Scored(original.probability, original.correct))
    ratio = error_ratio(errors, comparison.gap)
    if np.isnan(ratio):
        return found.without("no factor on the errors of the original reaches the gap")
    degraded = original.correct * (1 - flip_probability(errors, ratio))
    of_splits = []
    for split in range(N_SPLITS):
        # The rows of a split depend on its number and the pair only.
        name = comparison.pair.name
        sequence = matching.named_sequence(name, "no-warning reference", child=split)
        rng = np.random.default_rng(sequence)
        halves, rows = rng.permutation(len(original)), rng.permutation(len(original))
        kept = _part(original, original.correct, halves[:n_original])
        worse = _part(original, degraded, halves[n_original:])
        first = _part(original, original.correct, rows[:n_original])
        others = rng.permutation(len(replication))[:n_replication]
        second = _part(replication, replication.correct, others)
        _, of_reference, of_real = matching.run_sequence(
            split, pair=name, criterion=method.criterion, model=comparison.model
        ).spawn(3)  # the first child of a run seeds the order of its targets
        is_original = comparison.source_is_original
        of_splits.append((
            *_gaps(kept, worse, is_original, method, of_reference),
            *_gaps(first, second, is_original, method, of_real),
        ))  # fmt: skip
    gaps = np.array(of_splits)
    if np.isnan(gaps).any():
        return found.without("in a split, no target is matched")
    return NoWarning(n_original, n_replication, ratio, *gaps.mean(axis=0).tolist())


def mean_reference(models: Sequence[NoWarning]) -> NoWarning:
    """Average over models: narrowings are those of the mean gaps."""
    names = [field.name for field in fields(NoWarning)][2:-1]
    means: Any = {name: float(np.mean([getattr(one, name) for one in models])) for name in names}
    return replace(models[0], **means)


# Datapoints, and for each whether its prediction is correct, or how probably.
Part = tuple[Predictions, npt.NDArray[np.bool_] | Floats]


def _part(
    predictions: Predictions, correct: npt.NDArray[np.bool_] | Floats, rows: npt.NDArray[np.int64]
) -> Part:
    """Take rows of a set, in its order."""
    rows = np.sort(rows)
    names = ("index", "label", "prediction", "probability")
    columns = {name: getattr(predictions, name)[rows] for name in names}
    return replace(predictions, **columns), correct[rows]


def _gaps(
    original: Part,
    replication: Part,
    source_is_original: bool,
    method: MatchingMethod,
    sequence: np.random.SeedSequence,
) -> tuple[float, float]:
    """Return gap and matched gap of one run; the latter is NaN without a matched pair."""
    gap = float(original[1].mean() - replication[1].mean())
    sides = (original, replication) if source_is_original else (replication, original)
    (source, y), (target, z) = sides
    plan = matching.plan_matching(source, target, method)
    rows = matching.match_once(plan, method.order, sequence)
    is_matched = rows != matching.UNMATCHED
    if not is_matched.any():
        return gap, float("nan")
    matched = float(y[rows[is_matched]].mean() - z[is_matched].mean())
    return gap, matched if source_is_original else -matched
