"""The matching algorithm: pair each target point with at most one source point.

Anzaku, Wang, Van Messem & De Neve (2022), arXiv 2209.01848, Algorithm 1 (criterion
`label_probability`) and Algorithm 2 (criterion `probability`, appendix A.3).

Implementation. With the source sorted by (predicted label, score), the candidates of a target form
one interval, which is found once for all seeds (`plans.plan_matching`).
A run (`match`) visits the targets in order and keeps the set of free source points in a structure
that counts its members and finds the k-th one in O(log n): a Fenwick tree over the population
counts of 64-bit words, small enough to stay in cache. Time: O(n_s + n_t log n_s) per run.
"""

import hashlib
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.jit import compiled
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.plans import MatchingPlan

UNMATCHED = -1


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


def run_sequence(
    seed: int, *, pair: str, criterion: Criterion, model: str
) -> np.random.SeedSequence:
    """Return what the random numbers of a run are seeded by: its names and seed only."""
    if seed < 0:
        raise InputError(f"seed {seed} is negative", remedy="Give 0, 1, 2, ...")
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
