"""Linear fits by least squares with their bootstrap over models, ranks, and correlations.

As in the analysis of Recht et al. (2019), the bootstrap resamples models: it draws as many models
as there are, with replacement, and fits the line again. The datapoints are not resampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.statistics.intervals import FloatArray, Interval

MIN_MODELS = 3
FEW_FAMILIES = 20  # fewer make the bootstrap over families too narrow
RESAMPLES = 100_000
# Resamples of families whose sum of squares of x is below this fraction of all models' have one x.
_SMALL_SPREAD = 1e-12
SEED = 720257663  # the seed in the code of Recht et al. (2019)


@dataclass(frozen=True)
class Line:
    """Fitted line y = slope · x + offset."""

    slope: float
    offset: float
    r_squared: float
    residual_sd: float

    def at(self, x: npt.ArrayLike) -> FloatArray:
        """Return y of the line at each x."""
        return self.slope * np.asarray(x, np.float64) + self.offset


@dataclass(frozen=True)
class BootstrapLines:
    """Lines fitted to resampled models, without resamples of models that all have the same x."""

    slope: FloatArray  # shape (n_kept,)
    offset: FloatArray
    n_degenerate: int  # resamples left out


def fit_line(x: npt.ArrayLike, y: npt.ArrayLike) -> Line:
    """Fit a line by ordinary least squares."""
    x, y = _checked(x, y)
    dx, dy = x - x.mean(), y - y.mean()
    slope = (dx @ dy) / (dx @ dx)
    residual = dy - slope * dx
    rest, total = float(residual @ residual), float(dy @ dy)
    return Line(
        slope=float(slope),
        offset=float(y.mean() - slope * x.mean()),
        r_squared=1 - rest / total if np.ptp(y) > 0 else float("nan"),
        residual_sd=float(np.sqrt(rest / (len(x) - 2))),
    )


def bootstrap_lines(
    x: npt.ArrayLike, y: npt.ArrayLike, resamples: int = RESAMPLES, seed: int = SEED
) -> BootstrapLines:
    """Fit a line to each bootstrap resample of the models; leave out those with a single x.

    Draws are those of repeated `RandomState(seed).choice(m, m)`, as in the code of Recht et al.
    (2019), which has one stream in all versions of NumPy.
    """
    x, y = _checked(x, y)
    # Imported late because it loads numba.
    from matcheval.statistics.resampling import fit_resamples

    state = np.random.RandomState(seed).get_state(legacy=False)["state"]["key"]
    centre_x, centre_y = x.mean(), y.mean()
    slope, offset = np.empty(resamples), np.empty(resamples)
    fit_resamples(state, x - centre_x, y - centre_y, slope, offset)
    kept = ~np.isnan(slope)
    if not kept.any():
        problem, remedy = "no resample of the models determines a line", "Give more resamples"
        raise InputError(problem, field="resamples", remedy=remedy)
    slope, offset = slope[kept], offset[kept]
    offset += centre_y - slope * centre_x
    return BootstrapLines(slope, offset, int(resamples - len(slope)))


def bootstrap_families(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    families: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> BootstrapLines:
    """Fit a line to each bootstrap resample of whole families of models.

    Models of one family err alike, so that a bootstrap over models is far too narrow. This one is
    too narrow as well with few families: below 20 of them, simulated intervals of 95 % covered the
    truth in 84 to 90 %.
    """
    x, y = _checked(x, y)
    names, family = np.unique(np.asarray(families), return_inverse=True)
    if len(names) < 2:
        raise InputError("all models are of one family", field="family")
    centre_x, centre_y = x.mean(), y.mean()
    dx, dy = x - centre_x, y - centre_y
    # A line is determined by sums over the models, and these are sums over the families drawn.
    terms = np.stack([np.ones_like(dx), dx, dy, dx * dx, dx * dy], axis=1)
    sums = np.zeros((len(names), terms.shape[1]))
    np.add.at(sums, family, terms)
    drawn = np.random.default_rng(seed).multinomial(
        len(names), np.full(len(names), 1 / len(names)), size=resamples
    )
    n, sum_x, sum_y, sum_xx, sum_xy = (drawn @ sums).T
    square = sum_xx - sum_x**2 / n
    kept = square > _SMALL_SPREAD * (dx @ dx)
    if not kept.any():
        raise InputError("no resample of the families determines a line", field="family")
    slope = (sum_xy - sum_x * sum_y / n)[kept] / square[kept]
    offset = (sum_y[kept] - slope * sum_x[kept]) / n[kept] + centre_y - slope * centre_x
    return BootstrapLines(slope, offset, int(resamples - kept.sum()))


def percentile_interval(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Compute a two-sided percentile interval, rounded outward to values that occur.

    So does the code of Recht et al. (2019).
    """
    tail = (1 - level) / 2
    low = np.quantile(values, tail, method="lower")
    high = np.quantile(values, 1 - tail, method="higher")
    return float(low), float(high)


def confidence_region(lines: BootstrapLines, grid: FloatArray, level: float = 0.95) -> Interval:
    """Compute pointwise percentile intervals of bootstrapped lines on a grid."""
    bounds = [percentile_interval(lines.offset + lines.slope * x, level) for x in grid]
    low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
    return Interval(low, high)


def _checked(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Convert to float64; raise `InputError` if there are too few points or all x are equal."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    problem = ""
    if len(x) < MIN_MODELS:
        problem = f"{counted(len(x), 'model')}, but a line needs at least {MIN_MODELS}"
    elif np.ptp(x) == 0:
        problem = f"all {len(x)} models have the same accuracy on the original set"
    if problem:
        raise InputError(problem, field="models")
    return x, y


class Scale(StrEnum):
    """Scale of both axes on which a line is fitted."""

    LINEAR = "linear"
    PROBIT = "probit"


def to_scale(accuracy: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Convert accuracies to percent (linear scale) or to probits (probit scale)."""
    from scipy.special import ndtri

    values = np.asarray(accuracy, dtype=np.float64)
    return 100 * values if scale is Scale.LINEAR else np.asarray(ndtri(values))


def from_scale(values: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Convert percent (linear scale) or probits (probit scale) to accuracies."""
    from scipy.special import ndtr

    values = np.asarray(values, dtype=np.float64)
    return values / 100 if scale is Scale.LINEAR else np.asarray(ndtr(values))


def clipped_accuracy(correct: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Estimate accuracies as (correct + ½) / (n + 1), whose probits are finite."""
    return (np.asarray(correct, np.float64) + 0.5) / (np.asarray(n, np.float64) + 1)


def ordinal_ranks(accuracy: npt.ArrayLike, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Rank models by decreasing accuracy, from 1; ties are broken by model name.

    Of the simple rules, only this one reproduces all ranks that Recht et al. (2019) print:
    `resnet_basic_32` and `vgg_15_BN_64` tie, and have ranks 26 and 27.
    """
    values = np.asarray(accuracy, dtype=np.float64)
    order = sorted(range(len(values)), key=lambda i: (-values[i], names[i]))
    return np.argsort(order) + 1


def rank_correlations(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float]:
    """Compute Spearman's ρ and Kendall's τ-b; NaN of fewer than two values or a constant series."""
    from scipy.stats import kendalltau, spearmanr

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not _has_correlation(x, y):
        return float("nan"), float("nan")
    return float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic)


def linear_correlation(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Compute Pearson's r; NaN of fewer than two values or a constant series."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not _has_correlation(x, y):
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _has_correlation(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> bool:
    """Whether there are at least two points, and neither x nor y is constant."""
    return len(x) >= 2 and np.ptp(x) != 0 and np.ptp(y) != 0
