"""Which source points each target can be matched to: the part of a matching that all seeds share.

With the source sorted by (predicted label, score), the candidates of a target form one interval,
which is found in one pass over the sorted sets. O(n_s + n_t), after a sort by bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled
from matcheval.predictions.records import Predictions
from matcheval.protocol.criteria import EPSILON, Criterion, check_epsilon
from matcheval.protocol.scores import MeasuredScores, Score


@dataclass(frozen=True)
class MatchingPlan:
    """The part of a matching that does not depend on the seed."""

    source_order: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]


def plan_matching(
    source: Predictions,
    target: Predictions,
    criterion: Criterion,
    epsilon: float = EPSILON,
    score: Score = Score.CONFIDENCE,
) -> MatchingPlan:
    """Find the candidates of every target: source points whose scores are close."""
    check_epsilon(epsilon)
    return plan_measured(source, target, criterion, score.measure(source, target, epsilon))


def plan_measured(
    source: Predictions, target: Predictions, criterion: Criterion, measured: MeasuredScores
) -> MatchingPlan:
    """Find the candidates of every target by scores of one's own."""
    source_group, target_group = (_groups(side, criterion) for side in (source, target))
    return _plan(
        _Side(measured.source, source_group, _order(source_group, measured.source)),
        _Side(measured.target, target_group, _order(target_group, measured.target)),
        measured.largest_difference,
    )


class DividedPlans:
    """Plans for many divisions of the same datapoints into a source and a target."""

    def __init__(
        self,
        source: Predictions,
        target: Predictions,
        criterion: Criterion,
        epsilon: float = EPSILON,
        score: Score = Score.CONFIDENCE,
    ) -> None:
        check_epsilon(epsilon)
        measured = score.measure(source, target, epsilon)
        self._largest = measured.largest_difference
        self._score = np.concatenate([measured.source, measured.target])
        self._group = np.concatenate([_groups(side, criterion) for side in (source, target)])
        order = _order(self._group, self._score)
        score_, group = self._score[order], self._group[order]
        is_new = (score_[1:] != score_[:-1]) | (group[1:] != group[:-1])
        ranks = np.concatenate([[0], np.cumsum(is_new)])
        self._rank = np.empty(len(order), np.min_scalar_type(int(ranks[-1])))
        self._rank[order] = ranks

    def plan(
        self, source_rows: npt.NDArray[np.int64], target_rows: npt.NDArray[np.int64]
    ) -> MatchingPlan:
        """Find the candidates of every target of a division."""
        source, target = self._side(source_rows), self._side(target_rows)
        return _plan(source, target, self._largest)

    def _side(self, rows: npt.NDArray[np.int64]) -> "_Side":
        order = np.argsort(self._rank[rows], kind="stable")
        return _Side(self._score[rows], self._group[rows], order)


@dataclass(frozen=True, eq=False)
class _Side:
    """Scores and groups of one set, and its rows sorted by (group, score, row)."""

    score: npt.NDArray[Any]
    group: npt.NDArray[np.int16]
    order: npt.NDArray[np.int64]


def _groups(predictions: Predictions, criterion: Criterion) -> npt.NDArray[np.int16]:
    """Return what must be equal in a pair besides the score."""
    if criterion is Criterion.LABEL_PROBABILITY:
        return predictions.prediction
    return np.zeros(len(predictions), np.int16)


def _plan(source: _Side, target: _Side, largest_difference: float) -> MatchingPlan:
    n_groups = 1 + int(max(source.group.max(), target.group.max()))
    starts = np.zeros(n_groups + 1, np.int64)
    np.cumsum(np.bincount(source.group, minlength=n_groups), out=starts[1:])
    low, high = _intervals(
        source.score[source.order].astype(np.float64),
        starts,
        target.score.astype(np.float64),
        target.group,
        target.order,
        largest_difference,
    )
    return MatchingPlan(source.order, low, high)


def _order(group: npt.NDArray[np.int16], score: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Sort rows by (group, score, row)."""
    # Bit patterns of non-negative floats sort like the floats; all bits of a negative one are
    # inverted, and the highest bit of the others. Adding 0 turns a negative zero into a positive.
    bits = (score + score.dtype.type(0)).view(f"u{score.dtype.itemsize}")
    width = 8 * score.dtype.itemsize
    highest = bits.dtype.type(1 << (width - 1))
    key = np.where(bits & highest, ~bits, bits | highest)
    order = np.arange(len(key))
    words = [(key >> bits.dtype.type(shift)).astype(np.uint16) for shift in range(0, width, 16)]
    for word in (*words, group):
        order = order[np.argsort(word[order], kind="stable")]
    return order


@compiled()
def _intervals(
    score: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    target_score: npt.NDArray[np.float64],
    target_group: npt.NDArray[np.int16],
    target_order: npt.NDArray[np.int64],
    largest: float,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find each target's interval of candidates within its group of the sorted source."""
    n_target = len(target_score)
    low = np.empty(n_target, np.int64)
    high = np.empty(n_target, np.int64)
    group, left, right = -1, 0, 0
    for i in target_order:
        if target_group[i] != group:
            group = target_group[i]
            left = right = starts[group]
        p, end = target_score[i], starts[group + 1]
        while left < end and score[left] - p < -largest:
            left += 1
        while right < end and score[right] - p <= largest:
            right += 1
        low[i], high[i] = left, right
    return low, high
