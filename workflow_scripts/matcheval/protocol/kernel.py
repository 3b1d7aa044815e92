"""The compiled loops of the matching; importing them takes a quarter of a second.

A Fenwick tree over the population counts of 64-bit words keeps the set of free source points, and
finds the k-th one in O(log n); it is small enough to stay in cache.
"""

import heapq

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled


@compiled()
def intervals(
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


@compiled()
def count_draws(drawn: npt.NDArray[np.int64], counts: npt.NDArray[np.uint8]) -> None:
    """Count how often each block was drawn in each resample: a row of `drawn`, a column here."""
    for resample in range(len(drawn)):
        for block in drawn[resample]:
            counts[block, resample] += 1


@compiled()
def add_draws(
    cells: npt.NDArray[np.unsignedinteger],
    block: npt.NDArray[np.uint32],
    drawn: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.int32],
) -> None:
    """Add up how often the datapoints of each cell were drawn in each resample."""
    for i in range(len(cells)):
        row, times = counts[cells[i]], drawn[block[i]]
        for resample in range(len(times)):
            row[resample] += times[resample]


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
def walk(
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


@compiled()
def _part(
    source_order: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    in_source: npt.NDArray[np.bool_],
    in_target: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Keep parts of both sets: source rows, and targets with their candidates among these."""
    kept, n_kept = np.empty_like(source_order), 0
    before = np.empty(len(source_order) + 1, np.int64)
    for position, row in enumerate(source_order):
        before[position], kept[n_kept] = n_kept, row
        n_kept += in_source[row]
    before[len(source_order)] = n_kept
    low_kept, high_kept, n_targets = np.empty_like(low), np.empty_like(high), 0
    for target in range(len(low)):
        low_kept[n_targets], high_kept[n_targets] = before[low[target]], before[high[target]]
        n_targets += in_target[target]
    return kept[:n_kept], low_kept[:n_targets], high_kept[:n_targets]


@compiled()
def walk_parts(
    source_order: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    in_source: npt.NDArray[np.bool_],
    in_target: npt.NDArray[np.bool_],
    uniform: npt.NDArray[np.float64],
    orders: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Match parts of both sets, a row of the arrays for each run; targets in these orders if any.

    Candidates of a target in a part of the source are those in the whole source that are in it.
    """
    picks = np.empty(uniform.shape, np.int64)
    for run in range(len(uniform)):
        kept, low_kept, high_kept = _part(source_order, low, high, in_source[run], in_target[run])
        if len(orders):
            order = orders[run]
            picks[run][order] = walk(low_kept[order], high_kept[order], uniform[run], kept)
        else:
            picks[run] = walk(low_kept, high_kept, uniform[run], kept)
    return picks


@compiled()
def count_matched(
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
