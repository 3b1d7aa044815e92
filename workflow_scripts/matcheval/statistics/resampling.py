"""The compiled loop of the bootstrap: draw models with replacement, fit a line, repeat.

A bootstrap spends most of its time on random numbers: NumPy's draws alone take 3.4 to 4.9 times as
long as all of this (benchmarks/README.md). This module therefore implements MT19937 itself and
generates whole blocks at a time, in the order in which NumPy's `RandomState(seed).choice(m, m)`
consumes them: each 32-bit word is masked to the bits needed for m, and values of m or more are
rejected. A test compares the draws with NumPy's.

References
----------
Matsumoto & Nishimura (1998), ACM Transactions on Modeling and Computer Simulation 8(1).
"""

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

_WORDS = 624  # length of the generator's state
_SHIFT = 397
_UPPER, _LOWER = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
_TWIST = np.uint32(0x9908B0DF)
_ONE = np.uint32(1)
# A resample whose sum of squares of x is below this fraction of all models' is computed again in
# two passes, which is more accurate.
_SMALL_SPREAD = 1e-6

Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]


@compiled()
def fit_resamples(state: Words, x: Floats, y: Floats, slope: Floats, offset: Floats) -> None:
    """Fill `slope` and `offset` by fits to bootstrap resamples; NaN where all x are equal."""
    m = len(x)
    mask = _ONE
    while mask < m - 1:
        mask = (mask << _ONE) | _ONE
    threshold = _SMALL_SPREAD * np.dot(x, x)
    words = np.empty(_WORDS, np.uint32)
    drawn = np.empty(m + _WORDS, np.uint32)  # unsigned, so that numba handles no negative indices
    n_drawn = 0
    for b in range(len(slope)):
        while n_drawn < m:
            _next_words(state, words)
            for word in words:
                value = word & mask
                drawn[n_drawn] = value
                n_drawn += 1 if value < m else 0
        slope[b], offset[b] = _fit(x, y, drawn[:m], threshold)
        n_drawn -= m
        drawn[:n_drawn] = drawn[m : m + n_drawn]


@compiled(inline="always")
def _fit(x: Floats, y: Floats, drawn: Words, threshold: float) -> tuple[float, float]:
    """Return slope and offset of the line fitted to the models drawn; NaN if all x are equal.

    Sums are taken in one pass, or in two if one would be inaccurate.
    """
    m = len(drawn)
    sum_x, sum_y, sum_xx, sum_xy = 0.0, 0.0, 0.0, 0.0
    for k in range(0, m - 1, 2):  # two at a time: shorter chain of dependent additions
        i, j = drawn[k], drawn[k + 1]
        sum_x += x[i] + x[j]
        sum_y += y[i] + y[j]
        sum_xx += x[i] * x[i] + x[j] * x[j]
        sum_xy += x[i] * y[i] + x[j] * y[j]
    if m % 2:
        i = drawn[m - 1]
        sum_x += x[i]
        sum_y += y[i]
        sum_xx += x[i] * x[i]
        sum_xy += x[i] * y[i]
    mean_x, mean_y = sum_x / m, sum_y / m
    square, product = sum_xx - sum_x * mean_x, sum_xy - sum_x * mean_y
    if square <= threshold:
        first, is_single = x[drawn[0]], True
        square, product = 0.0, 0.0
        for i in drawn:
            is_single &= x[i] == first
            square += (x[i] - mean_x) ** 2
            product += (x[i] - mean_x) * (y[i] - mean_y)
        if is_single:
            return np.nan, np.nan
    slope = product / square
    return slope, mean_y - slope * mean_x


@compiled()
def _next_words(state: Words, words: Words) -> None:
    """Advance the state of MT19937, and fill `words` with its next 624 random numbers."""
    for k in range(_WORDS - _SHIFT):
        state[k] = state[k + _SHIFT] ^ _twisted(state[k], state[k + 1])
    for k in range(_WORDS - _SHIFT, _WORDS - 1):
        state[k] = state[k + _SHIFT - _WORDS] ^ _twisted(state[k], state[k + 1])
    state[_WORDS - 1] = state[_SHIFT - 1] ^ _twisted(state[_WORDS - 1], state[0])
    for k in range(_WORDS):
        word = state[k]
        word ^= word >> np.uint32(11)
        word ^= (word << np.uint32(7)) & np.uint32(0x9D2C5680)
        word ^= (word << np.uint32(15)) & np.uint32(0xEFC60000)
        words[k] = word ^ (word >> np.uint32(18))


@compiled(inline="always")
def _twisted(high: np.uint32, low: np.uint32) -> np.uint32:
    """Apply the twist of MT19937 to the highest bit of one word and the other bits of the next."""
    word = (high & _UPPER) | (low & _LOWER)
    return (word >> _ONE) ^ (_TWIST * (word & _ONE))
