"""Intervals that hold at all times at once: one may look after every label, and stop.

Labels have to come in uniformly random order, without replacement.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.few_labels.estimators import checked, first
from matcheval.statistics.intervals import FloatArray, check_level

_NEAR = 1e-9  # by which rounding may move a mean out of [0, 1]


@dataclass(frozen=True)
class Sequence:
    """Bounds after each label.

    Attributes
    ----------
    lower, upper : float64 arrays, shape (n,)
    is_broken : bool
        Whether no accuracy was left: a chance below 1 - level, or an order that is not random.
    """

    lower: FloatArray
    upper: FloatArray
    is_broken: bool

    def stop(self, half_width: float) -> int | None:
        """Return after how many labels the interval was as narrow; None if it never was."""
        is_narrow = (self.upper - self.lower) / 2 <= half_width
        return int(is_narrow.argmax()) + 1 if is_narrow.any() else None


def ppr_cs(
    y: npt.ArrayLike, N: int, level: float = 0.95, a: float = 1.0, b: float = 1.0  # noqa: N803
) -> Sequence:  # fmt: skip
    """Compute a confidence sequence for a set's accuracy by the prior-posterior ratio.

    Waudby-Smith & Ramdas (2020), arXiv 2006.04347, the prior-posterior-ratio martingale. The prior
    (a, b) on the number of correct datapoints is fixed before any label.
    """
    from scipy.special import betaln, gammaln

    y = _checked(y, N, level)
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise InputError(f"prior a = {a}, b = {b}", remedy="Give numbers above 0")
    limit = np.log1p(-1e-9) - np.log(1 - level)

    def kept(t: int, s: int, least: int, most: int) -> tuple[int, int]:
        constant = betaln(a + s, b + t - s) - betaln(a, b)

        def holds(m: int) -> bool:  # log prior less log posterior of m correct datapoints
            of_all = gammaln(N + 1) - gammaln(m + 1) - gammaln(N - m + 1)
            of_rest = gammaln(N - t + 1) - gammaln(m - s + 1) - gammaln(N - t - m + s + 1)
            return bool(of_all - of_rest + constant < limit)

        # The likelihood of m has one maximum; on either side of it the bounds are bisected.
        top = min(max(s * (N + 1) // t, s), N - t + s)
        if not holds(top):
            return 1, 0
        low = first(s, top, holds)
        far = N - t + s
        return max(low, least), min(far - first(0, far - top, lambda m: holds(far - m)), most)

    return _sequence(y, N, kept)


def prior_of(mean: float) -> tuple[float, float]:
    """Return the prior that the mean confidence suggests, worth 10 labels."""
    return max(10 * mean, 0.5), max(10 * (1 - mean), 0.5)


def betting_cs(
    y: npt.ArrayLike, N: int, level: float = 0.95, f: npt.ArrayLike | None = None,  # noqa: N803
    f_all_mean: float | None = None, lam: float = 0.5,
) -> Sequence:  # fmt: skip
    """Compute a confidence sequence for a set's accuracy by betting (hedged capital).

    Waudby-Smith & Ramdas (2024), JRSS-B 86, Theorems 3 and 4. Confidences f are a control of
    weight `lam`, which is fixed before any label.
    """
    y = _checked(y, N, level)
    weight = 0.0 if f is None else lam
    control = np.zeros(len(y)) if f is None else checked("f", f)
    control_mean = f_all_mean or 0.0
    x = (y - weight * control + weight) / (1 + weight)
    times = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (times + 1)
    spreads = (0.25 + np.cumsum((x - means) ** 2)) / (times + 1)
    pace = times * np.log(times + 1)
    bets = np.sqrt(2 * np.log(2 / (1 - level)) / (np.append(0.25, spreads)[: len(x)] * pace))
    before, left = np.cumsum(x) - x, N - times + 1
    limit = np.log(2 / (1 - level))

    def kept(t: int, s: int, least: int, most: int) -> tuple[int, int]:
        def rejected(j: int, sign: int) -> bool:
            mean = (j / N - weight * control_mean + weight) / (1 + weight)
            at = (N * mean - before[:t]) / left[:t]
            if ((at < -_NEAR) if sign > 0 else (at > 1 + _NEAR)).any():
                return True
            at = np.clip(at, 0, 1)
            with np.errstate(divide="ignore"):
                most_bet = np.minimum(bets[:t], 0.5 / (at if sign > 0 else 1 - at))
            return bool(np.log1p(sign * most_bet * (x[:t] - at)).sum() > limit)

        # The capital that bets on more falls with the candidate, the other rises.
        low = first(least, most + 1, lambda j: not rejected(j, 1))
        high = most - first(0, most - least + 1, lambda j: not rejected(most - j, -1))
        return low, high

    return _sequence(y, N, kept)


def _sequence(
    y: FloatArray, size: int, kept: Callable[[int, int, int, int], tuple[int, int]]
) -> Sequence:
    """Intersect over time what `kept` leaves of numbers correct, given those left so far."""
    low, high, is_broken = 0, size, False
    bounds = np.empty((2, len(y)))
    for t, s in enumerate(np.cumsum(y).astype(np.int64).tolist(), 1):
        least, most = max(low, s), min(high, size - t + s)
        left = kept(t, s, least, most) if least <= most else (1, 0)
        if not is_broken and left[0] <= left[1]:
            low, high = left
        else:
            is_broken = True
        bounds[:, t - 1] = low / size, high / size
    return Sequence(bounds[0], bounds[1], is_broken)


def _checked(y: npt.ArrayLike, size: int, level: float) -> FloatArray:
    check_level(level)
    correct = checked("y", y)
    if len(correct) > size:
        raise InputError(f"{len(correct)} labels of {size} datapoints")
    return correct
