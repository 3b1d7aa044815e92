"""Intervals of an accuracy, and estimates from labels that were drawn at random.

Pure functions of arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics import intervals
from matcheval.statistics.intervals import FloatArray, check_level, normal_quantile

_FEW_EVENTS = 10  # labels unlike most others, below which a normal interval is too narrow
_SCANNED = 1024  # numbers of labels that are tried at a time
_NEAR = 1e-9  # by which rounding may move a mean out of [0, 1]


@dataclass(frozen=True)
class Bounds:
    """An interval, with the number of random labels that would give it."""

    lower: float
    upper: float
    n_eff: float = float("nan")

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (self.upper - self.lower) / 2

    def __str__(self) -> str:
        """Return the bounds with three decimals."""
        return f"{self.lower:.3f} to {self.upper:.3f}"


@dataclass(frozen=True)
class Estimate(Bounds):
    """An estimate with its interval and standard error; `lam` is the weight of the confidences."""

    estimate: float = float("nan")
    se: float = float("nan")
    lam: float | None = None
    n: float = float("nan")  # of the interval where the variance is 0


def finite_array(name: str, values: npt.ArrayLike, least: float = 0, most: float = 1) -> FloatArray:
    """Convert to a one-dimensional float array; refuse values outside a range, and NaN."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 1:
        raise InputError(f"{name} has {numbers.ndim} dimensions, not 1")
    bad = ~(np.isfinite(numbers) & (numbers >= least) & (numbers <= most))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{name}: row {row} is {numbers[row]}, not in [{least:g}, {most:g}]")
    return numbers


def clopper_pearson(correct: int, n: int, level: float = 0.95) -> Bounds:
    """Return the exact binomial interval (Clopper & Pearson 1934); without labels, [0, 1]."""
    if not n:
        return Bounds(0.0, 1.0, 0)
    interval = intervals.clopper_pearson(correct, n, level)
    return Bounds(float(interval.low), float(interval.high), n)


def hypergeometric(correct: int, n: int, N: int, level: float = 0.95) -> Bounds:  # noqa: N803
    """Return the exact interval of the accuracy on a set of N, from n labels drawn at random."""
    from scipy.stats import hypergeom

    check_level(level)
    if not 0 <= correct <= n <= N:
        raise InputError(f"{correct} correct of {n} labels of {N} datapoints")
    tail, least, most = (1 - level) / 2, correct, N - n + correct
    # The tails grow and fall with the number of correct datapoints in the set.
    low = bisect(least, most, lambda m: hypergeom.sf(correct - 1, N, m, n) > tail)
    high = bisect(0, most - least, lambda m: hypergeom.cdf(correct, N, most - m, n) > tail)
    return Bounds(low / N, (most - high) / N, n)


def effective_interval(
    estimate: float, variance: float, n: float, level: float = 0.95
) -> Bounds:  # fmt: skip
    """Return the Clopper-Pearson interval at the effective number of labels of a variance.

    Clopper-Pearson with n* = p(1 - p) / variance (Korn & Graubard 1998, Survey Methodology 24); n
    counts where the variance shows nothing, as it is 0 or the estimate is 0 or 1.
    """
    from scipy.special import betaincinv

    check_level(level)
    if not np.isfinite([estimate, variance, n]).all() or variance < 0 or n < 0:
        raise InputError(f"estimate {estimate}, variance {variance}, n {n}")
    p = min(max(float(estimate), 0.0), 1.0)
    worth = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(n)
    if not worth:
        return Bounds(0.0, 1.0, 0.0)
    tail, x = (1 - level) / 2, worth * p
    lower = float(betaincinv(x, worth - x + 1, tail)) if x > 0 else 0.0
    upper = float(betaincinv(x + 1, worth - x, 1 - tail)) if x < worth else 1.0
    return Bounds(lower, upper, worth)


def make_estimate(
    estimate: float, variance: float, n: float, level: float, interval: str,
    lam: float | None = None, limit: tuple[float, float] = (0, 1),
) -> Estimate:  # fmt: skip
    """Build an estimate; `interval` is effective, wald, or point if all datapoints are labelled."""
    se = float(np.sqrt(variance))
    if interval == "effective":
        bounds = effective_interval(estimate, variance, n, level)
    elif interval == "wald":
        half = normal_quantile(level) * se
        bounds = Bounds(max(estimate - half, limit[0]), min(estimate + half, limit[1]))
    else:
        bounds = Bounds(estimate, estimate, n)
    return Estimate(bounds.lower, bounds.upper, bounds.n_eff, estimate, se, lam, n)


def bisect(least: int, most: int, holds: Callable[[int], bool]) -> int:
    """Bisect for the smallest number from which on a condition holds; `most` if there is none."""
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle + 1, most)
    return least


def labels_for_clopper_pearson(p: float, half_width: float, level: float = 0.95) -> int:
    """Return the fewest random labels with an exact interval of this half-width at accuracy p."""
    for start in range(1, 1 << 40, _SCANNED):
        n = np.arange(start, start + _SCANNED)
        interval = intervals.clopper_pearson(np.floor(p * n + 0.5).astype(np.int64), n, level)
        is_enough = (interval.high - interval.low) / 2 <= half_width
        if is_enough.any():
            return int(n[is_enough.argmax()])
    raise InputError(f"half-width {half_width}", remedy="Give a larger one")


def n_random_labels(p: float, half_width: float, N: int | None, level: float) -> int:  # noqa: N803
    """Return about how many random labels alone give an exact interval of this half-width."""
    n = labels_for_clopper_pearson(p, max(half_width, 1e-3), level)
    if N is None:
        return n

    def is_enough(n: int) -> bool:
        return hypergeometric(int(p * n + 0.5), n, N, level).half_width <= half_width + 1e-12

    return bisect(1, min(n, N), is_enough) if half_width >= 1e-3 else N


def difference_set(
    y: npt.ArrayLike, f: npt.ArrayLike, f_all: npt.ArrayLike, lam: float | None = None,
    level: float = 0.95, interval: str = "effective",
) -> Estimate:  # fmt: skip
    """Estimate the accuracy on a set from n random labels, with the confidences as control variate.

    The classical regression estimator of survey sampling, with the finite-population factor. The
    weight `lam` of the confidences is the slope of y on f, cut to [0, 1].
    """
    y, f, f_all = finite_array("y", y), finite_array("f", f), finite_array("f_all", f_all)
    if len(y) > len(f_all) or not len(f_all):
        raise InputError(f"{len(y)} labels of {len(f_all)} datapoints")
    if not len(y):
        return Estimate(0.0, 1.0, 0.0, float(f_all.mean()), n=0)
    return _regression_estimate(y, f, f_all, lam, level, interval)


def _regression_estimate(
    y: FloatArray, f: FloatArray, f_all: FloatArray, lam: float | None, level: float, interval: str,
    limit: tuple[float, float] = (0, 1),
) -> Estimate:  # fmt: skip
    """Estimate the mean of y over a set from n >= 1 random rows, with f as control variate."""
    n, size = len(y), len(f_all)
    if lam is None:
        spread = float(((f - f.mean()) ** 2).sum())
        covariance = float(((y - y.mean()) * (f - f.mean())).sum())
        lam = min(max(covariance / spread, 0.0), 1.0) if n > 1 and spread > 1e-15 * n else 0.0
    rest = y - lam * f
    estimate = float(lam * f_all.mean() + rest.mean())
    if n == size:
        return make_estimate(float(y.mean()), 0.0, n, level, "point", lam)
    if n == 1:
        bounds = clopper_pearson(int(y[0]), 1, level) if limit == (0, 1) else Bounds(*limit)
        return Estimate(bounds.lower, bounds.upper, 1, estimate, lam=lam, n=1)
    variance = float((1 - n / size) * rest.var(ddof=1) / n)
    return make_estimate(estimate, variance, n, level, interval, lam, limit)


def stratified(
    y: npt.ArrayLike, stratum: npt.ArrayLike, sizes: npt.ArrayLike, level: float = 0.95,
    f: npt.ArrayLike | None = None, f_mean: npt.ArrayLike | None = None, lam: float | None = None,
    interval: str = "effective",
) -> Estimate:  # fmt: skip
    """Estimate the accuracy on a set from labels drawn at random within strata.

    Fogliato et al. (2024), arXiv 2406.07320. Confidences f, with their means over all datapoints of
    each stratum, are a control within strata, whose weight is the common slope, cut to [0, 1].
    """
    y, sizes = finite_array("y", y), finite_array("sizes", sizes, 0, np.inf)
    part = np.asarray(stratum, np.int64)
    count = np.bincount(part, minlength=len(sizes)).astype(np.float64)
    for h, (labels, size) in enumerate(zip(count, sizes, strict=True)):
        if not min(2, size) <= labels <= size:
            problem = f"{labels:g} labels in stratum {h} of {size:g} datapoints"
            raise InputError(problem, remedy=f"Give it {min(2, size):g} to {size:g}")
    control = np.zeros(len(y)) if f is None else finite_array("f", f)
    means = np.zeros(len(sizes)) if f_mean is None else finite_array("f_mean", f_mean)
    kept = sizes > 0
    weight, counts = sizes[kept] / sizes.sum(), count[kept]
    fraction = 1 - counts / sizes[kept]

    def per_stratum(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(part, values, len(sizes))[kept], np.float64)

    def centred(values: FloatArray) -> FloatArray:
        return values - (np.bincount(part, values, len(sizes)) / np.maximum(count, 1))[part]

    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(counts > 1, weight**2 * fraction / (counts * (counts - 1)), 0.0)
    if f is None:
        lam = 0.0
    elif lam is None:
        below = float((factor * per_stratum(centred(control) ** 2)).sum())
        above = float((factor * per_stratum(centred(y) * centred(control))).sum())
        lam = min(max(above / below, 0.0), 1.0) if below > 1e-12 else 0.0
    if not fraction.any():
        exact = float((weight * per_stratum(y) / counts).sum())
        return make_estimate(exact, 0.0, len(y), level, "point", lam)
    rest = y - lam * control
    estimate = float((weight * (per_stratum(rest) / counts + lam * means[kept])).sum())
    variance = float((factor * per_stratum(centred(rest) ** 2)).sum())
    return make_estimate(estimate, variance, float((counts / weight).min()), level, interval, lam)


def mover_difference(
    a: tuple[float, float, float], b: tuple[float, float, float]
) -> Bounds:  # fmt: skip
    """Return the interval of a - b, from the estimate and bounds of each.

    Newcombe (1998), Statistics in Medicine 17, method 10, with any intervals.
    """
    (p, low, high), (q, other_low, other_high) = a, b
    below = float(np.hypot(p - low, other_high - q))
    above = float(np.hypot(high - p, q - other_low))
    return Bounds(p - q - below, p - q + above)


def paired_difference(
    y_a: npt.ArrayLike, y_b: npt.ArrayLike, f_a: npt.ArrayLike, f_b: npt.ArrayLike,
    f_a_all: npt.ArrayLike, f_b_all: npt.ArrayLike, lam: float | None = None, level: float = 0.95,
) -> Estimate:  # fmt: skip
    """Estimate the difference of two models' accuracies from the same random labels of a set.

    Correctness and confidences of each on the labelled datapoints have shape (n,), confidences on
    the whole set (N,); the control is the difference of confidences.
    """
    y = finite_array("y_a", y_a) - finite_array("y_b", y_b)
    control = finite_array("f_a", f_a) - finite_array("f_b", f_b)
    whole = finite_array("f_a_all", f_a_all) - finite_array("f_b_all", f_b_all)
    if not 0 < len(y) <= len(whole):
        raise InputError(f"{len(y)} labels of {len(whole)} datapoints")
    return _regression_estimate(y, control, whole, lam, level, "wald", (-1, 1))


def disagreement_difference(
    d: npt.ArrayLike, n_disagree: int, N: int, level: float = 0.95  # noqa: N803
) -> Estimate:  # fmt: skip
    """Estimate the difference of two accuracies from random labels where the models disagree.

    It is exactly 0 where the models never differ; with one label or none, all that is possible.
    """
    d = finite_array("d", d, -1, 1)
    n, share = len(d), n_disagree / N
    if not n <= n_disagree <= N:
        raise InputError(f"{n} labels of {n_disagree} disagreements on {N} datapoints")
    estimate, limit = share * float(d.mean()) if n else 0.0, (-share, share)
    if n == n_disagree:
        return make_estimate(estimate, 0.0, n, level, "point")
    if n < 2:
        return Estimate(*limit, estimate=estimate, n=n)
    variance = float(share**2 * (1 - n / n_disagree) * d.var(ddof=1) / n)
    return make_estimate(estimate, variance, n, level, "wald", limit=limit)


def widen_interval(
    estimate: Estimate, d: FloatArray, size: int, level: float, share: float = 1.0
) -> Estimate:
    """Widen a normal interval to include one from exact counts, if few labels are unlike the rest.

    The estimate is of `share` of a set, from labels d, -1, 0 or 1, of `size` datapoints.
    """
    n, counts = len(d), [int((d == value).sum()) for value in (1, -1, 0)]
    if not 1 < n < size or n - max(counts) >= _FEW_EVENTS:
        return estimate
    first, second = (clopper_pearson(k, n, level) for k in counts[:2])
    bounds = mover_difference(
        (counts[0] / n, first.lower, first.upper), (counts[1] / n, second.lower, second.upper)
    )
    return replace(
        estimate, lower=max(-share, min(estimate.lower, share * bounds.lower)),
        upper=min(share, max(estimate.upper, share * bounds.upper)),
    )  # fmt: skip


# --- Intervals that hold at all times at once: one may look after every label, and stop. Labels
# have to come in uniformly random order, without replacement.


@dataclass(frozen=True)
class ConfidenceSequence:
    """The lower and upper bounds after each label, each of shape (n,)."""

    lower: FloatArray
    upper: FloatArray
    # Whether no accuracy was left: a chance below 1 - level, or an order that is not random.
    is_broken: bool

    def stop(self, half_width: float) -> int | None:
        """Return after how many labels the interval was this narrow; None if it never was."""
        is_narrow = (self.upper - self.lower) / 2 <= half_width
        return int(is_narrow.argmax()) + 1 if is_narrow.any() else None


def ppr_cs(
    y: npt.ArrayLike, N: int, level: float = 0.95, a: float = 1.0, b: float = 1.0  # noqa: N803
) -> ConfidenceSequence:  # fmt: skip
    """Compute a confidence sequence for a set's accuracy by the prior-posterior ratio.

    Waudby-Smith & Ramdas (2020), arXiv 2006.04347, the prior-posterior-ratio martingale. The prior
    (a, b) on the number of correct datapoints is fixed before any label.
    """
    from scipy.special import betaln, gammaln

    y = _check_labels(y, N, level)
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise InputError(f"prior a = {a}, b = {b}", remedy="Give numbers above 0")
    limit = np.log1p(-1e-9) - np.log(1 - level)

    def accepted_range(t: int, s: int, least: int, most: int) -> tuple[int, int]:
        constant = betaln(a + s, b + t - s) - betaln(a, b)

        def holds(m: int) -> bool:  # log prior less log posterior of m correct datapoints
            of_all = gammaln(N + 1) - gammaln(m + 1) - gammaln(N - m + 1)
            of_rest = gammaln(N - t + 1) - gammaln(m - s + 1) - gammaln(N - t - m + s + 1)
            return bool(of_all - of_rest + constant < limit)

        # The likelihood of m has one maximum; on either side of it the bounds are bisected.
        top = min(max(s * (N + 1) // t, s), N - t + s)
        if not holds(top):
            return 1, 0
        low = bisect(s, top, holds)
        far = N - t + s
        return max(low, least), min(far - bisect(0, far - top, lambda m: holds(far - m)), most)

    return _intersect_over_time(y, N, accepted_range)


def prior_from_confidence(mean: float) -> tuple[float, float]:
    """Return a beta prior, worth about 10 labels, with the mean confidence as its mean."""
    return max(10 * mean, 0.5), max(10 * (1 - mean), 0.5)


def betting_cs(
    y: npt.ArrayLike, N: int, level: float = 0.95, f: npt.ArrayLike | None = None,  # noqa: N803
    f_all_mean: float | None = None, lam: float = 0.5,
) -> ConfidenceSequence:  # fmt: skip
    """Compute a confidence sequence for a set's accuracy by betting (hedged capital).

    Waudby-Smith & Ramdas (2024), JRSS-B 86, Theorems 3 and 4. Confidences f are a control of
    weight `lam`, which is fixed before any label.
    """
    y = _check_labels(y, N, level)
    weight = 0.0 if f is None else lam
    control = np.zeros(len(y)) if f is None else finite_array("f", f)
    control_mean = f_all_mean or 0.0
    x = (y - weight * control + weight) / (1 + weight)
    times = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (times + 1)
    spreads = (0.25 + np.cumsum((x - means) ** 2)) / (times + 1)
    pace = times * np.log(times + 1)
    bets = np.sqrt(2 * np.log(2 / (1 - level)) / (np.append(0.25, spreads)[: len(x)] * pace))
    before, left = np.cumsum(x) - x, N - times + 1
    limit = np.log(2 / (1 - level))

    def accepted_range(t: int, s: int, least: int, most: int) -> tuple[int, int]:
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
        low = bisect(least, most + 1, lambda j: not rejected(j, 1))
        high = most - bisect(0, most - least + 1, lambda j: not rejected(most - j, -1))
        return low, high

    return _intersect_over_time(y, N, accepted_range)


def _intersect_over_time(
    y: FloatArray, size: int, accepted_range: Callable[[int, int, int, int], tuple[int, int]]
) -> ConfidenceSequence:
    """Build a sequence; `accepted_range` gives the numbers correct that remain after each label."""
    low, high, is_broken = 0, size, False
    bounds = np.empty((2, len(y)))
    for t, s in enumerate(np.cumsum(y).astype(np.int64).tolist(), 1):
        least, most = max(low, s), min(high, size - t + s)
        left = accepted_range(t, s, least, most) if least <= most else (1, 0)
        if not is_broken and left[0] <= left[1]:
            low, high = left
        else:
            is_broken = True
        bounds[:, t - 1] = low / size, high / size
    return ConfidenceSequence(bounds[0], bounds[1], is_broken)


def _check_labels(y: npt.ArrayLike, size: int, level: float) -> FloatArray:
    check_level(level)
    correct = finite_array("y", y)
    if len(correct) > size:
        raise InputError(f"{len(correct)} labels of {size} datapoints")
    return correct
