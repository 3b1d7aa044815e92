"""How many labels an interval needs: from the confidences, cautiously, at worst, from a pilot."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.few_labels.draws import MIXED, N_STRATA, make_strata
from matcheval.few_labels.intervals import checked, effective_interval, first, hypergeometric
from matcheval.statistics.intervals import FloatArray, normal_quantile
from matcheval.statistics.intervals import clopper_pearson as clopper_pearsons

_SCANNED = 1024  # numbers of labels that are tried at a time
_WITHOUT_ERRORS = 0.05  # variance that is planned with after a pilot without any


@dataclass(frozen=True)
class LabelNeeds:
    """How many labels a design needs for an interval of a half-width.

    Attributes
    ----------
    design : str
    planned, cautious, worst : int
        If the confidences are calibrated; if they are of no use, and the accuracy somewhat lower;
        whatever the accuracy is.
    """

    design: str
    planned: int
    cautious: int
    worst: int


@dataclass(frozen=True)
class Variances:
    """Variance per label of designs with the confidences as control, if these were calibrated."""

    control: float
    mixed_control: float


def plan_variances(f: npt.ArrayLike, n_strata: int = N_STRATA) -> Variances:
    """Compute what the variance per label of random and of mixed labels would be."""
    f = checked("f", f)
    stratum = make_strata(f, n_strata)
    size = np.bincount(stratum)
    weight, mean = size / len(f), np.bincount(stratum, f) / size
    inside = np.bincount(stratum, f * (1 - f)) / size
    root = np.sqrt(mean * (1 - mean))
    average = float((weight * root).sum())
    share = (1 - MIXED) * root / average + MIXED if average > 0 else np.ones(len(size))
    return Variances(float((f * (1 - f)).mean()), float((weight * inside / share).sum()))


def needs_of_designs(f: npt.ArrayLike, half_width: float, level: float) -> list[LabelNeeds]:
    """Return the needs of `random` and `mixed` for the accuracy of one model."""
    f = checked("f", f)
    mean, variances = float(f.mean()), plan_variances(f)

    def needed(variance: float, at: float) -> int:
        return labels_needed(variance, at, half_width, len(f), level)

    # Without a gain from confidences, the variance is that of an accuracy.
    low = 0.25 * min(1.0, 4 * mean * (1 - mean) + 0.2)
    cautious = needed(low, 0.5 + float(np.sqrt(max(0.25 - low, 0))))
    worst = needed(0.25, 0.5)
    planned = {"random": variances.control, "mixed": variances.mixed_control}
    return [LabelNeeds(k, needed(v, mean), cautious, worst) for k, v in planned.items()]


def needs_of_difference(
    f: FloatArray, f_second: FloatArray, differs: npt.NDArray[np.bool_], half_width: float,
    level: float,
) -> LabelNeeds:  # fmt: skip
    """Return the needs of labels where two models differ; cautiously, one of them is right there.

    Where both are calibrated, the first is right with its confidence, and the second with its own.
    """
    n_differ, size = int(differs.sum()), len(f)
    if not n_differ:
        return LabelNeeds("disagreement", 0, 0, 0)
    first_f, second_f = f[differs], f_second[differs]
    spread = np.minimum(first_f + second_f, 1.0)
    difference = float((first_f - second_f).mean())

    def needed(square: float, mean: float) -> int:
        target = half_width * size / n_differ
        n = labels_for_variance(max(square - mean**2, 0.0), target, level, n_differ)
        return min(max(2, n), n_differ)

    planned = needed(max(float(spread.mean()), difference**2), difference)
    return LabelNeeds("disagreement", planned, needed(1.0, difference), needed(1.0, 0.0))


def labels_needed(
    variance: float, mean: float, half_width: float, N: int, level: float = 0.95  # noqa: N803
) -> int:  # fmt: skip
    """Return the fewest labels, at least 2 of N, for which `effective_interval` is narrow enough.

    The variance is per label, the mean the expected accuracy; all N labels are always enough.
    """

    def is_enough(n: int) -> bool:
        interval = effective_interval(mean, (1 - n / N) * variance / n, n, level)
        return interval.half_width <= half_width

    return first(min(2, N), N, is_enough)


def labels_for_variance(
    variance: float, half_width: float, level: float = 0.95, N: int | None = None  # noqa: N803
) -> int:  # fmt: skip
    """Return how many labels a normal interval of a half-width needs."""
    infinite = normal_quantile(level) ** 2 * variance / half_width**2
    return int(np.ceil(infinite if N is None else infinite / (1 + infinite / N)))


def labels_for_clopper_pearson(p: float, half_width: float, level: float = 0.95) -> int:
    """Return the fewest random labels whose exact interval, at accuracy p, is narrow enough."""
    for start in range(1, 1 << 40, _SCANNED):
        n = np.arange(start, start + _SCANNED)
        interval = clopper_pearsons(np.floor(p * n + 0.5).astype(np.int64), n, level)
        is_enough = (interval.high - interval.low) / 2 <= half_width
        if is_enough.any():
            return int(n[is_enough.argmax()])
    raise InputError(f"half-width {half_width}", remedy="Give a larger one")


def labels_alone(p: float, half_width: float, N: int | None, level: float) -> int:  # noqa: N803
    """Return about how many random labels would give an exact interval of this width."""
    n = labels_for_clopper_pearson(p, max(half_width, 1e-3), level)
    if N is None:
        return n

    def is_enough(n: int) -> bool:
        return hypergeometric(int(p * n + 0.5), n, N, level).half_width <= half_width + 1e-12

    return first(1, min(n, N), is_enough) if half_width >= 1e-3 else N


def pilot_variance_upper(variance: float, n: int, confidence: float = 0.8) -> float:
    """Return an upper bound of the variance per label after a pilot of n labels."""
    from scipy.stats import chi2

    return float(variance * (n - 1) / chi2.ppf(1 - confidence, n - 1))


def variance_after(variance: float, n: int, N: int) -> float:  # noqa: N803
    """Return the variance per label to plan with after a pilot of n, from that of its estimate."""
    if variance <= 0 or n >= N:
        return _WITHOUT_ERRORS
    return pilot_variance_upper(n * variance / (1 - n / N), n)
