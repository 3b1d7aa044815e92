"""The compiled loops of the matching, and isotonic regression, for which SciPy is slow to import.

Importing them takes a quarter of a second. The set of free source points is a bit each in 64-bit
words, which make up blocks. Counts of the free points before each block and, within it, before each
word find the k-th one. A pick changes O(√n) counts, many per instruction: with 50,000 to 90,000
source points this takes 0.6 to 0.7 times as long as a tree of O(log n) steps, with a million 1.1
times.
"""

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled


@compiled()
def candidate_intervals(
    source_score: npt.NDArray[np.float64],
    group_starts: npt.NDArray[np.int64],
    target_score: npt.NDArray[np.float64],
    target_group: npt.NDArray[np.int16],
    target_order: npt.NDArray[np.int64],
    largest_difference: float,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each target where its candidates begin and end in the sorted source."""
    n_target = len(target_score)
    low = np.empty(n_target, np.int64)
    high = np.empty(n_target, np.int64)
    group, left, right = -1, 0, 0
    for i in target_order:
        if target_group[i] != group:
            group = target_group[i]
            left = right = group_starts[group]
        p, end = target_score[i], group_starts[group + 1]
        while left < end and source_score[left] - p < -largest_difference:
            left += 1
        while right < end and source_score[right] - p <= largest_difference:
            right += 1
        low[i], high[i] = left, right
    return low, high


@compiled()
def count_draws(drawn: npt.NDArray[np.int64], counts: npt.NDArray[np.uint8]) -> None:
    """Count how often a block is drawn in a resample: row of `drawn`, column of `counts`."""
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
    """Add up in `counts` how often the datapoints of each cell are drawn in each resample."""
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
def _ones_below(word: np.uint64, position: np.int64) -> np.int64:
    """Count a word's set bits below `position`, of which the remainder by 64 is its place here."""
    return _count_ones(word & ((np.uint64(1) << np.uint64(position & 63)) - np.uint64(1)))


@compiled(inline="always")
def _bit_of_rank(word: np.uint64, rank: np.int64) -> np.int64:
    """Return the position of the set bit above exactly `rank` other set bits."""
    position = np.int64(0)
    width = np.int64(32)
    while width > 0:
        ones = _count_ones(word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
        above = np.int64(rank >= ones)  # no branch: processors could not foresee it
        rank -= ones * above
        word >>= np.uint64(width * above)
        position += width * above
        width >>= 1
    return position


@compiled(inline="always")
def _log2_words_per_block(n_source: int) -> int:
    """Return the binary logarithm of the words in a block, for about as many words as blocks."""
    shift = 4
    while 1 << (2 * shift) < (n_source >> 6) + 1:
        shift += 1
    return shift


@compiled(inline="always")
def _zero_words(n_source: int) -> npt.NDArray[np.uint64]:
    """Return words without a set bit, in whole blocks, for positions up to n_source inclusive."""
    # An interval may end there.
    shift = _log2_words_per_block(n_source)
    return np.zeros((((n_source >> 6 >> shift) + 32) & ~31) << shift, np.uint64)


@compiled()
def match_targets(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    uniform: npt.NDArray[np.float64],
    source_order: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Match targets in turn to random free sources; return each one's source row, or -1."""
    n_source = len(source_order)
    words = _zero_words(n_source)
    words[: n_source >> 6] = ~np.uint64(0)
    words[n_source >> 6] = (np.uint64(1) << np.uint64(n_source & 63)) - np.uint64(1)
    return _match_to_free(low, high, uniform, source_order, words)


@compiled()
def _match_to_free(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    uniform: npt.NDArray[np.float64],
    source_order: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int64]:
    """Match targets in turn to sources whose bits are set in `words`, and clear these bits."""
    shift = _log2_words_per_block(len(source_order))
    # Processors count 32 blocks at a time.
    width, n_blocks = 1 << shift, (len(words) >> shift) & ~31
    # Free positions before each block, and in a block before each word.
    before_block = np.empty(n_blocks, np.int32)
    before_word = np.empty(len(words), np.int32)
    before = np.int64(0)
    for b in range(n_blocks):
        before_block[b] = before
        for j in range(b << shift, (b + 1) << shift):
            before_word[j] = before - before_block[b]
            before += _count_ones(words[j])

    picks = np.full(len(low), -1, np.int64)
    for i in range(len(low)):
        if low[i] == high[i]:
            continue
        w = low[i] >> 6
        before = before_block[w >> shift] + before_word[w] + _ones_below(words[w], low[i])
        w = high[i] >> 6
        free = before_block[w >> shift] + before_word[w] + _ones_below(words[w], high[i]) - before
        if free == 0:
            continue
        # As uniform < 1, the product stays below `free` after rounding, whatever the set sizes.
        rank = np.int32(before + np.int64(uniform[i] * free))
        block = np.int32(-1)
        for b in range(n_blocks):
            block += np.int32(before_block[b] <= rank)
        rank -= before_block[block]
        within = before_word[block << shift : (block + 1) << shift]
        word = np.int32(-1)
        for k in range(width):
            word += np.int32(within[k] <= rank)
        w = (np.int64(block) << shift) + word
        bit = _bit_of_rank(words[w], np.int64(rank - within[word]))
        picks[i] = source_order[(w << 6) + bit]
        words[w] ^= np.uint64(1) << np.uint64(bit)
        # All counts, as processors subtract from many at a time.
        for k in range(width):
            within[k] -= np.int32(k > word)
        for b in range(n_blocks):
            before_block[b] -= np.int32(b > block)
    return picks


@compiled()
def match_targets_of_parts(
    source_order: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    in_source: npt.NDArray[np.bool_],
    in_target: npt.NDArray[np.bool_],
    uniform: npt.NDArray[np.float64],
    orders: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Match the parts of both sets that masks select, once per run, in `orders` if there are any.

    Candidates of a target in a part of the source are those in the whole source that are in it.
    """
    picks = np.empty(uniform.shape, np.int64)
    n_source, n = len(source_order), uniform.shape[1]
    rows = np.empty(n + 1, np.int64)  # of the part, and what is overwritten
    low_visited, high_visited = np.empty(n, np.int64), np.empty(n, np.int64)
    for run in range(len(uniform)):
        words = _zero_words(n_source)
        for position in range(n_source):
            is_in = np.uint64(in_source[run, source_order[position]])
            words[position >> 6] |= is_in << np.uint64(position & 63)
        n_selected = 0
        for target in range(len(low)):
            rows[n_selected] = target
            n_selected += in_target[run, target]
        order = orders[run] if len(orders) else np.arange(n)
        for i in range(n):
            row = rows[order[i]]
            low_visited[i], high_visited[i] = low[row], high[row]
        picked = _match_to_free(low_visited, high_visited, uniform[run], source_order, words)
        for i in range(n):
            picks[run, order[i]] = picked[i]
    return picks


@compiled()
def isotonic_fit(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Fit values by a non-decreasing sequence: pool adjacent violators, as SciPy does to the bit.

    Busing (2022), Journal of Statistical Software 102(1), Algorithm 2.
    """
    n = len(values)
    mean, weight, end = values.copy(), weights.copy(), np.arange(1, n + 1)
    last, i = -1, 0  # the last of the pools so far, and the next value
    while i < n:
        x, w, total = values[i], weights[i], values[i] * weights[i]
        i += 1
        if last >= 0 and mean[last] >= x:
            total = weight[last] * mean[last] + total
            w += weight[last]
            x = total / w
            last -= 1
            while i < n and x >= values[i]:
                total += weights[i] * values[i]
                w += weights[i]
                x = total / w
                i += 1
            while last >= 0 and mean[last] >= x:
                total += weight[last] * mean[last]
                w += weight[last]
                x = total / w
                last -= 1
        last += 1
        mean[last], weight[last], end[last] = x, w, i
    fitted, start = np.empty(n), 0
    for pool in range(last + 1):
        fitted[start : end[pool]] = mean[pool]
        start = end[pool]
    return fitted
