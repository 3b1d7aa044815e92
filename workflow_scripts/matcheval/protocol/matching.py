"""The matching algorithm: pair each target point with at most one source point.

Anzaku, Wang, Van Messem & De Neve (2022), arXiv 2209.01848, Algorithm 1 (criterion
`label_probability`) and Algorithm 2 (criterion `probability`, appendix A.3).

Implementation. With the source sorted by (predicted label, score), the candidates of a target form
one interval, which is found once for all seeds (`plan_matching`).
A run (`match`) visits the targets in order and keeps the set of free source points in a structure
that counts its members and finds the k-th one in O(log n): a Fenwick tree over the population
counts of 64-bit words, small enough to stay in cache. Time: O(n_s + n_t log n_s) per run.
"""

import hashlib
import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled
from matcheval.predictions.records import Predictions
from matcheval.protocol.settings import Criterion, MatchingMethod, MeasuredScores, Order


@dataclass(frozen=True)
class MatchingPlan:
    """The part of a matching that does not depend on the seed."""

    source_order: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]


def plan_matching(source: Predictions, target: Predictions, method: MatchingMethod) -> MatchingPlan:
    """Find the candidates of every target: source points whose scores are close."""
    measured = method.score.measure(source, target, method.epsilon)
    return plan_measured(source, target, method.criterion, measured)


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

    def __init__(self, source: Predictions, target: Predictions, method: MatchingMethod) -> None:
        measured = method.score.measure(source, target, method.epsilon)
        self._largest = measured.largest_difference
        self._score = np.concatenate([measured.source, measured.target])
        self._group = np.concatenate([_groups(side, method.criterion) for side in (source, target)])
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


UNMATCHED = -1

# Source row matched to each target row, or UNMATCHED, by seed.
MatchedRows = Mapping[int, npt.NDArray[np.int64]]


def match(
    plan: MatchingPlan,
    generator: np.random.Generator,
    order: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """Match the targets one after the other, each to a random free candidate.

    Parameters
    ----------
    plan : MatchingPlan
        Candidates found by `plan_matching`.
    generator : numpy.random.Generator
        One uniform number is drawn for each target, whether it is matched or not, in the order in
        which they are matched.
    order : int64 array, shape (n_target,), optional
        Target rows in this order; in dataset order by default.

    Returns
    -------
    int64 array, shape (n_target,)
        The source row matched to each target row, or `UNMATCHED` (-1).
    """
    if order is not None:
        picked = match(replace(plan, low=plan.low[order], high=plan.high[order]), generator)
        rows = np.empty_like(picked)
        rows[order] = picked
        return rows
    return _walk(plan.low, plan.high, generator.random(len(plan.low)), plan.source_order)


def match_once(
    plan: MatchingPlan, order: Order, sequence: np.random.SeedSequence
) -> npt.NDArray[np.int64]:
    """Match the targets of a plan in the order of a method.

    Parameters
    ----------
    plan : MatchingPlan
    order : Order
    sequence : numpy.random.SeedSequence
        Seeds the picks; its first child seeds the order, where that is random.

    Returns
    -------
    int64 array, shape (n_target,)
        The source row matched to each target row, or -1.
    """
    if order is Order.DATASET:
        return match(plan, np.random.default_rng(sequence))
    drawn = np.random.default_rng(sequence.spawn(1)[0]).permutation(len(plan.low))
    return match(plan, np.random.default_rng(sequence), drawn)


def run_sequence(
    seed: int, *, pair: str, criterion: Criterion, model: str
) -> np.random.SeedSequence:
    """Return what the random numbers of a run are seeded by: its names and seed only."""
    return named_sequence(pair, criterion.value, model, child=seed)


def named_sequence(*names: str, child: int) -> np.random.SeedSequence:
    """Return a child of the `SeedSequence` whose entropy is a hash of names."""
    entropy = int.from_bytes(hashlib.sha256("\0".join(names).encode()).digest(), "big")
    return np.random.SeedSequence(entropy, spawn_key=(child,))


@compiled(inline="always")
def _count_ones(word: np.uint64) -> np.int64:
    """Count the set bits of a word by adding adjacent fields (numba has no portable intrinsic)."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled(inline="always")
def _free_before(
    words: npt.NDArray[np.uint64], tree: npt.NDArray[np.int32], position: np.int64
) -> np.int64:
    """Count the free positions below `position`."""
    node = position >> 6
    within = (np.uint64(1) << np.uint64(position & 63)) - np.uint64(1)
    total = _count_ones(words[node] & within)
    while node > 0:
        total += tree[node]
        node &= node - 1
    return total


@compiled(inline="always")
def _bit_of_rank(word: np.uint64, rank: np.int64) -> np.int64:
    """Find the position of the set bit that has `rank` set bits below it."""
    position = np.int64(0)
    width = np.int64(32)
    while width > 0:
        lower = word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        ones = _count_ones(lower)
        if rank >= ones:
            rank -= ones
            word >>= np.uint64(width)
            position += width
        else:
            word = lower
        width >>= 1
    return position


@compiled()
def _all_free(n_source: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Build the set of free source positions, with all positions free."""
    # Position n_source, which `_free_before` may be called with, must have a word too.
    n_words = (n_source >> 6) + 1
    words = np.zeros(n_words, np.uint64)
    words[: n_source >> 6] = ~np.uint64(0)
    words[n_source >> 6] = (np.uint64(1) << np.uint64(n_source & 63)) - np.uint64(1)
    tree = np.zeros(n_words + 1, np.int32)
    for j in range(1, n_words + 1):
        tree[j] += _count_ones(words[j - 1])
        parent = j + (j & -j)
        if parent <= n_words:
            tree[parent] += tree[j]
    return words, tree


@compiled()
def _walk(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    uniform: npt.NDArray[np.float64],
    source_order: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Match all targets; return for each its source row, or -1."""
    words, tree = _all_free(len(source_order))
    n_words = len(words)
    top = np.int64(1)
    while top * 2 <= n_words:
        top *= 2

    picks = np.full(len(low), -1, np.int64)
    for i in range(len(low)):
        if low[i] == high[i]:
            continue
        before = _free_before(words, tree, low[i])
        free = _free_before(words, tree, high[i]) - before
        if free == 0:
            continue
        # As uniform < 1, the product stays below `free` after rounding, whatever the set sizes.
        rank = before + np.int64(uniform[i] * free)
        node = np.int64(0)
        step = top
        while step > 0:
            if node + step <= n_words and tree[node + step] <= rank:
                node += step
                rank -= tree[node]
            step >>= 1
        bit = _bit_of_rank(words[node], rank)
        picks[i] = source_order[(node << 6) + bit]
        words[node] ^= np.uint64(1) << np.uint64(bit)
        node += 1
        while node <= n_words:
            tree[node] -= 1
            node += node & -node
    return picks


def maximum_size(plan: MatchingPlan) -> int:
    """Count the targets that a largest matching of a plan has a source point for."""
    return int(
        _count(plan.low, plan.high, np.argsort(plan.low, kind="stable"), len(plan.source_order))
    )


@compiled()
def _count(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    by_low: npt.NDArray[np.int64],
    n_source: int,
) -> int:
    """Go through the source positions; the heap holds the ends of the open targets' intervals."""
    ends = [np.int64(0) for _ in range(0)]
    matched, following = 0, 0
    for position in range(n_source):
        while following < len(by_low) and low[by_low[following]] <= position:
            heapq.heappush(ends, high[by_low[following]])
            following += 1
        while len(ends) and ends[0] <= position:
            heapq.heappop(ends)
        if len(ends):
            heapq.heappop(ends)
            matched += 1
    return matched
