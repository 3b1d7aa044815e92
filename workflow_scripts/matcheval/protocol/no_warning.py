"""The no-warning reference: what the protocol reports if nothing warned of the errors.

Errors rise by one factor at every confidence, and confidence stays as it is; the gap is the real
one. Matching narrows such a gap, too, and the more so the smaller the sets. A split of the original
set plays both sets, and the part of the replication is degraded. The two parts together are as
large as the original, so that the real pair is measured at the same sizes. The difference between
both narrowings is a finding only under the assumption of one factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Floats, Scored
from matcheval.protocol.matching import (
    UNMATCHED,
    match_once,
    named_sequence,
    plan_matching,
    run_sequence,
)
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import isotonic_accuracy

N_SPLITS = 20

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NoWarning:
    """Gaps of a pair and of its no-warning reference, at equal sizes."""

    error_ratio: float
    n_original: int
    n_replication: int
    gap: float
    matched_gap: float
    reference_gap: float
    reference_matched_gap: float
    reason: str

    @property
    def narrowing(self) -> float:
        """Narrowing of the real gap at the sizes of the reference."""
        return 1 - self.matched_gap / self.gap if self.gap else float("nan")

    @property
    def reference_narrowing(self) -> float:
        """Narrowing of the reference's gap."""
        if not self.reference_gap:
            return float("nan")
        return 1 - self.reference_matched_gap / self.reference_gap

    @property
    def excess(self) -> float:
        """Narrowing of the real gap minus that of the reference."""
        return self.narrowing - self.reference_narrowing

    @property
    def columns(self) -> dict[str, float]:
        """Values of the columns `error_ratio` to `excess_narrowing` of `schemas.GAP_QUANTITIES`."""
        return {
            "error_ratio": self.error_ratio,
            "n_reference_original": self.n_original, "n_reference_replication": self.n_replication,
            "reference_gap": self.reference_gap,
            "reference_matched_gap": self.reference_matched_gap,
            "reference_narrowing": self.reference_narrowing,
            "same_size_gap": self.gap, "same_size_matched_gap": self.matched_gap,
            "same_size_narrowing": self.narrowing, "excess_narrowing": self.excess,
        }  # fmt: skip


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


def no_warning_reference(
    comparison: Comparison, method: MatchingMethod, n_splits: int = N_SPLITS
) -> NoWarning:
    """Measure a pair and its no-warning reference in splits."""
    original, replication = comparison.original, comparison.replication
    gap = comparison.gap
    sizes = split_sizes(len(original), len(replication))
    if len(original) < 2:
        return no_reference(sizes, "the original set has fewer than two datapoints")
    if gap <= 0:
        return no_reference(sizes, "the gap is not positive")
    errors = 1 - isotonic_accuracy(Scored(original.probability, original.correct))
    ratio = error_ratio(errors, gap)
    if np.isnan(ratio):
        return no_reference(sizes, "no factor on the errors of the original reaches the gap")
    degraded = original.correct * (1 - flip_probability(errors, ratio))
    found = []
    for split in range(n_splits):
        of_split = _Split.draw(comparison, sizes, split)
        _, of_reference, of_real = run_sequence(
            split, pair=comparison.pair.name, criterion=method.criterion, model=comparison.model
        ).spawn(3)  # the first child of a run seeds the order of its targets
        found.append(
            (
                *_gaps(
                    _take(original, of_split.kept), original.correct[of_split.kept],
                    _take(original, of_split.degraded), degraded[of_split.degraded],
                    comparison.source_is_original, method, of_reference,
                ),
                *_gaps(
                    _take(original, of_split.original), original.correct[of_split.original],
                    _take(replication, of_split.replication),
                    replication.correct[of_split.replication],
                    comparison.source_is_original, method, of_real,
                ),
            )
        )  # fmt: skip
    gaps = np.array(found)
    if np.isnan(gaps).any():
        return no_reference(sizes, "in a split, no target is matched")
    reference_gap, reference_matched, real_gap, real_matched = gaps.mean(axis=0).tolist()
    return NoWarning(
        ratio, *sizes, gap=real_gap, matched_gap=real_matched, reference_gap=reference_gap,
        reference_matched_gap=reference_matched, reason="",
    )  # fmt: skip


def mean_reference(models: Sequence[NoWarning]) -> NoWarning:
    """Average over models: narrowings are those of the mean gaps."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(one, name) for one in models]))

    return NoWarning(
        mean("error_ratio"), models[0].n_original, models[0].n_replication,
        gap=mean("gap"), matched_gap=mean("matched_gap"), reference_gap=mean("reference_gap"),
        reference_matched_gap=mean("reference_matched_gap"), reason="",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Split:
    """Rows of a split, in dataset order: two parts of the original, and some of both real sets."""

    kept: Rows
    degraded: Rows
    original: Rows
    replication: Rows

    @classmethod
    def draw(cls, comparison: Comparison, sizes: tuple[int, int], split: int) -> "_Split":
        """Draw the rows of a split, which depend on its number and the pair only."""
        rng = np.random.default_rng(
            named_sequence(comparison.pair.name, "no-warning reference", child=split)
        )
        halves = rng.permutation(len(comparison.original))
        rows = rng.permutation(len(comparison.original))[: sizes[0]]
        others = rng.permutation(len(comparison.replication))[: sizes[1]]
        parts = (halves[: sizes[0]], halves[sizes[0] :], rows, others)
        return cls(*(np.sort(part) for part in parts))


def _gaps(
    original: Predictions,
    original_correct: npt.NDArray[np.bool_],
    replication: Predictions,
    replication_correct: npt.NDArray[np.bool_] | Floats,
    source_is_original: bool,
    method: MatchingMethod,
    sequence: np.random.SeedSequence,
) -> tuple[float, float]:
    """Return gap and matched gap of one run; the latter is NaN without a matched pair."""
    sides = [(original, original_correct), (replication, replication_correct)]
    (source, y), (target, z) = sides if source_is_original else sides[::-1]
    plan = plan_matching(source, target, method)
    rows = match_once(plan, method.order, sequence)
    gap = float(original_correct.mean() - replication_correct.mean())
    is_matched = rows != UNMATCHED
    if not is_matched.any():
        return gap, float("nan")
    matched = float(y[rows[is_matched]].mean() - z[is_matched].mean())
    return gap, matched if source_is_original else -matched


def _take(predictions: Predictions, rows: Rows) -> Predictions:
    names = ("index", "label", "prediction", "probability")
    return replace(predictions, **{name: getattr(predictions, name)[rows] for name in names})


def no_reference(sizes: tuple[int, int], why: str) -> NoWarning:
    """Return what stands for a reference that there is not."""
    nan = float("nan")
    return NoWarning(nan, *sizes, nan, nan, nan, nan, f"no no-warning reference: {why}")
