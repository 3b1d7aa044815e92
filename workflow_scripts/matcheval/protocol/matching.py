"""The matching algorithm: pair each target point with at most one source point.

Anzaku, Wang, Van Messem & De Neve (2022), arXiv 2209.01848, Algorithm 1 (criterion
`label_probability`) and Algorithm 2 (criterion `probability`, appendix A.3).

Implementation. With the source sorted by (predicted label, score), the candidates of a target form
one interval, which is found once for all seeds (`plan_matching`).
A run (`match`) visits the targets in order and takes one of the free source points (`kernel`).
Time: O(n_s + n_t √n_s) per run.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from matcheval.predictions.records import Predictions
from matcheval.protocol.settings import (
    Criterion,
    MatchingMethod,
    MeasuredScores,
    Order,
    ranks_of_positions,
)

UNMATCHED = -1

Rows = npt.NDArray[np.int64]

# Source row matched to each target row, or UNMATCHED, by seed.
MatchedRows = Mapping[int, Rows]


@dataclass(frozen=True)
class MatchingPlan:
    """What a matching needs beside a seed: each target's interval of the sorted source."""

    source_order: Rows
    low: Rows
    high: Rows


def plan_matching(source: Predictions, target: Predictions, method: MatchingMethod) -> MatchingPlan:
    """Find the candidates of each target: source points of close scores (and equal labels)."""
    return SortedSets.of(source, target, method).plan


@dataclass(frozen=True, eq=False)
class SortedSets:
    """The scores and groups of two sets, sorted, from which plans are made."""

    source: "_Side"
    target: "_Side"
    largest_difference: float

    @classmethod
    def of(
        cls,
        source: Predictions,
        target: Predictions,
        method: MatchingMethod,
        orders: tuple[Rows | None, Rows | None] = (None, None),
    ) -> Self:
        """Score and sort two sets; `orders` are their rows by rising confidence, if known."""
        measured = method.score.measure(source, target, method.epsilon)
        return cls.of_scores(source, target, method.criterion, measured, orders)

    @classmethod
    def of_scores(
        cls,
        source: Predictions,
        target: Predictions,
        criterion: Criterion,
        measured: MeasuredScores,
        orders: tuple[Rows | None, Rows | None] = (None, None),
    ) -> Self:
        """Sort two sets by scores that are given, within the groups of a criterion."""
        groups = _groups_to_match_in(source, criterion), _groups_to_match_in(target, criterion)
        scores = measured.source, measured.target
        source_side, target_side = (
            _Side(score, group, _order(group, score, order))
            for group, score, order in zip(groups, scores, orders, strict=True)
        )
        return cls(source_side, target_side, measured.largest_difference)

    @cached_property
    def plan(self) -> MatchingPlan:
        """The plan for matching the target to the source."""
        return _plan(self.source, self.target, self.largest_difference)

    def plan_within(self, side: "_Side") -> MatchingPlan:
        """Return a plan for matching parts of one set with other parts of it."""
        return _plan(side, side, self.largest_difference)


class PooledPlans:
    """Makes plans for parts of two sets, which are matched on ranks of confidence in both parts."""

    def __init__(self, source: Predictions, target: Predictions, criterion: Criterion) -> None:
        sides = (source, target)
        scores = [side.probability for side in sides]
        _, which = np.unique(np.concatenate(scores), return_inverse=True)
        self._positions = np.split(which, [len(source)])
        self._groups = [_groups_to_match_in(side, criterion) for side in sides]
        self._orders = [_order(*side) for side in zip(self._groups, scores, strict=True)]

    def plan(
        self, in_source: npt.NDArray[np.bool_], in_target: npt.NDArray[np.bool_], epsilon: float
    ) -> MatchingPlan:
        """Return the plan for two parts, given as masks; source rows are those of the whole set."""
        masks = (in_source, in_target)
        positions = [p[m] for p, m in zip(self._positions, masks, strict=True)]
        ranks = ranks_of_positions(positions[0], positions[1], epsilon)
        source, target = (
            _Side(score, group[mask], (np.cumsum(mask) - 1)[order[mask[order]]])
            for score, group, order, mask in zip(
                (ranks.source, ranks.target), self._groups, self._orders, masks, strict=True
            )
        )
        plan = _plan(source, target, ranks.largest_difference)
        return replace(plan, source_order=np.flatnonzero(in_source)[plan.source_order])


@dataclass(frozen=True, eq=False)
class _Side:
    """Scores and groups of one set, and its rows sorted by (group, score, row)."""

    score: npt.NDArray[Any]
    group: npt.NDArray[np.int16]
    order: Rows


def _groups_to_match_in(predictions: Predictions, criterion: Criterion) -> npt.NDArray[np.int16]:
    """Return each datapoint's group of possible partners: its predicted label, or 0 for all."""
    if criterion is Criterion.LABEL_PROBABILITY:
        return predictions.prediction
    return np.zeros(len(predictions), np.int16)


def _plan(source: _Side, target: _Side, largest_difference: float) -> MatchingPlan:
    """Find each target's candidates, an interval of the sorted source."""
    from matcheval.protocol.kernel import candidate_intervals

    n_groups = 1 + int(max(source.group.max(), target.group.max()))
    starts = np.zeros(n_groups + 1, np.int64)
    np.cumsum(np.bincount(source.group, minlength=n_groups), out=starts[1:])
    low, high = candidate_intervals(
        source.score[source.order].astype(np.float64),
        starts,
        target.score.astype(np.float64),
        target.group,
        target.order,
        largest_difference,
    )
    return MatchingPlan(source.order, low, high)


def _order(
    group: npt.NDArray[np.int16], score: npt.NDArray[np.floating], by_score: Rows | None = None
) -> Rows:
    """Return the rows sorted by (group, score, row)."""
    order = order_by_score(score) if by_score is None else by_score
    return order[np.argsort(group[order], kind="stable")]


def order_by_score(score: npt.NDArray[np.floating]) -> Rows:
    """Return the rows sorted by (score, row)."""
    # Bit patterns of non-negative floats sort like the floats; all bits of a negative one are
    # inverted, and the highest bit of the others. Adding 0 turns a negative zero into a positive.
    bits = (score + score.dtype.type(0)).view(f"u{score.dtype.itemsize}")
    width = 8 * score.dtype.itemsize
    highest = bits.dtype.type(1 << (width - 1))
    key = np.where(bits & highest, ~bits, bits | highest)
    order = np.arange(len(key))
    for shift in range(0, width, 16):
        word = (key >> bits.dtype.type(shift)).astype(np.uint16)
        order = order[np.argsort(word[order], kind="stable")]
    return order


def match(plan: MatchingPlan, generator: np.random.Generator, order: Rows | None = None) -> Rows:
    """Match the targets one after the other, each to a random free candidate, or `UNMATCHED`.

    One uniform number is drawn for each target, whether it is matched or not, in the order in which
    they are matched: that of the dataset, unless another is given.
    """
    from matcheval.protocol.kernel import match_targets

    if order is not None:
        picked = match(replace(plan, low=plan.low[order], high=plan.high[order]), generator)
        rows = np.empty_like(picked)
        rows[order] = picked
        return rows
    return match_targets(plan.low, plan.high, generator.random(len(plan.low)), plan.source_order)


def match_once(plan: MatchingPlan, order: Order, sequence: np.random.SeedSequence) -> Rows:
    """Match all targets, in the dataset's or random order, with numbers seeded by `sequence`."""
    target_order = _target_order(order, sequence, len(plan.low))
    return match(plan, np.random.default_rng(sequence), target_order)


def _target_order(order: Order, sequence: np.random.SeedSequence, n: int) -> Rows | None:
    """Draw the order in which a run visits its targets; None for that of the dataset."""
    if order is Order.DATASET:
        return None
    # The first child, as the sequence itself seeds the picks.
    return np.random.default_rng(sequence.spawn(1)[0]).permutation(n)


def match_parts(
    plan: MatchingPlan,
    in_source: npt.NDArray[np.bool_],
    in_target: npt.NDArray[np.bool_],
    order: Order,
    sequences: Sequence[np.random.SeedSequence],
) -> Rows:
    """Match the parts of both sets that masks select, as `match_once` would with their own plan.

    A row of the masks, and of what is returned, is a run; all runs have as many targets.
    """
    from matcheval.protocol.kernel import match_targets_of_parts

    n = int(np.count_nonzero(in_target[0]))
    uniform = np.empty((len(sequences), n))
    for row, sequence in zip(uniform, sequences, strict=True):
        np.random.default_rng(sequence).random(out=row)
    drawn = [_target_order(order, sequence, n) for sequence in sequences]
    orders = np.array([rows for rows in drawn if rows is not None], np.int64).reshape(-1, n)
    return match_targets_of_parts(
        plan.source_order, plan.low, plan.high, in_source, in_target, uniform, orders
    )


def run_sequence(
    seed: int, *, pair: str, criterion: Criterion, model: str
) -> np.random.SeedSequence:
    """Return the seed sequence of a run, which depends on its names and seed only."""
    return named_sequence(pair, criterion.value, model, child=seed)


def named_sequence(*names: str, child: int) -> np.random.SeedSequence:
    """Return child number `child` of the `SeedSequence` whose entropy is a hash of names."""
    entropy = int.from_bytes(hashlib.sha256("\0".join(names).encode()).digest(), "big")
    return np.random.SeedSequence(entropy, spawn_key=(child,))
