"""Search for pairs of similar 64-bit hashes: exact, by several indexes (multi-index hashing).

Hashes are cut into d + 2 parts. Two that differ in at most d bits are equal in at least two parts,
so that for every choice of two parts only hashes that are equal in both are compared.

References
----------
Norouzi, Punjani & Fleet (2012), "Fast search in Hamming space with multi-index hashing", section 3,
with pairs of parts in place of single ones.
"""

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

_BITS = 64
_ONE = np.uint64(1)


def similar_pairs(
    hashes: npt.NDArray[np.uint64], distance: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Find all pairs of hashes that differ in few bits."""
    hashes = np.ascontiguousarray(hashes, dtype=np.uint64)
    masks = _masks(distance + 2)
    found = []
    for one, other in combinations(range(len(masks)), 2):
        keys = hashes & (masks[one] | masks[other])
        order = np.argsort(keys, kind="stable")
        n = _scan(hashes, keys, order, masks, one, other, distance, np.empty((0, 3), np.int64))
        pairs = np.empty((n, 3), np.int64)
        _scan(hashes, keys, order, masks, one, other, distance, pairs)
        found.append(pairs)
    every = np.concatenate(found)
    every = every[np.lexsort((every[:, 1], every[:, 0]))]
    return every[:, 0], every[:, 1], every[:, 2].astype(np.int8)


def _masks(n_parts: int) -> npt.NDArray[np.uint64]:
    """Masks of parts of nearly equal size, which cover all bits."""
    bounds = np.linspace(0, _BITS, n_parts + 1).astype(int)
    return np.array(
        [sum(1 << bit for bit in range(a, b)) for a, b in pairwise(bounds)],
        dtype=np.uint64,
    )


@compiled(inline="always")
def _count_bits(value: np.uint64) -> int:
    n = 0
    while value:
        value &= value - _ONE
        n += 1
    return n


@compiled(inline="always")
def _is_first_choice(
    difference: np.uint64, masks: npt.NDArray[np.uint64], one: int, other: int
) -> bool:
    """Whether no earlier choice of two parts finds the pair, so that it is found once."""
    for part in range(other):  # noqa: SIM110 - generators are not compiled
        if part != one and not difference & masks[part]:
            return False
    return True


@compiled()
def _scan(
    hashes: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    order: npt.NDArray[np.int64],
    masks: npt.NDArray[np.uint64],
    one: int,
    other: int,
    distance: int,
    pairs: npt.NDArray[np.int64],
) -> int:
    """Count the pairs of equal keys within the distance, and write them where there is room."""
    n = 0
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and keys[order[stop]] == keys[order[start]]:
            stop += 1
        for a in range(start, stop):
            for b in range(a + 1, stop):
                i, j = order[a], order[b]
                difference = hashes[i] ^ hashes[j]
                bits = _count_bits(difference)
                if bits > distance or not _is_first_choice(difference, masks, one, other):
                    continue
                if n < len(pairs):
                    pairs[n, 0], pairs[n, 1], pairs[n, 2] = min(i, j), max(i, j), bits
                n += 1
        start = stop
    return n
