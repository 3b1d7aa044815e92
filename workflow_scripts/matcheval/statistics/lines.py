"""Lines by least squares, and their bootstrap over models.

What is resampled are the models, as in the analysis of Recht et al. (2019): draw as many models as
there are, with replacement, and fit the line again. The datapoints are not resampled.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics.intervals import FloatArray, Interval, check_level

MIN_MODELS = 3
RESAMPLES = 100_000
SEED = 720257663  # of the authors' code


@dataclass(frozen=True)
class Line:
    """y = slope · x + offset, with its coefficient of determination (NaN if y is constant)."""

    slope: float
    offset: float
    r_squared: float

    def at(self, x: npt.ArrayLike) -> FloatArray:
        """Values of the line."""
        return self.slope * np.asarray(x, np.float64) + self.offset


@dataclass(frozen=True)
class BootstrapLines:
    """Lines through resampled models.

    Attributes
    ----------
    slope, offset : float64 arrays, shape (n_kept,)
        Of the resamples that determine a line.
    n_degenerate : int
        Resamples left out, because all models drawn had the same x.
    """

    slope: FloatArray
    offset: FloatArray
    n_degenerate: int


def fit_line(x: npt.ArrayLike, y: npt.ArrayLike) -> Line:
    """Fit a line by ordinary least squares.

    Parameters
    ----------
    x, y : array-like, shape (n_models,)
        Finite values, at least three, not all x equal.

    Raises
    ------
    InputError
        If they are not.
    """
    x, y = _checked(x, y)
    dx, dy = x - x.mean(), y - y.mean()
    slope = (dx @ dy) / (dx @ dx)
    residual, total = dy - slope * dx, dy @ dy
    r_squared = 1 - (residual @ residual) / total if np.ptp(y) > 0 else np.nan
    return Line(float(slope), float(y.mean() - slope * x.mean()), float(r_squared))


def bootstrap_lines(
    x: npt.ArrayLike, y: npt.ArrayLike, resamples: int = RESAMPLES, seed: int = SEED
) -> BootstrapLines:
    """Fit lines through models drawn with replacement.

    Parameters
    ----------
    x, y : array-like, shape (n_models,)
        As for `fit_line`.
    resamples : int
        How many times the models are drawn, at least 1.
    seed : int
        Of NumPy's `RandomState`: unlike that of a `Generator`, its stream is fixed for good, and
        it is the one from which the authors' `choice(m, m)` draws, resample by resample.

    Returns
    -------
    BootstrapLines
        A resample in which all x are equal determines no line. It is left out and counted, so
        that intervals are conditional on a line; with three models that is one in nine.

    Raises
    ------
    InputError
        As `fit_line`; or there are no resamples, or none determines a line.

    Notes
    -----
    Work is O(resamples · n_models), memory O(resamples + n_models).
    """
    x, y = _checked(x, y)
    if resamples < 1:
        raise InputError(f"{resamples} resamples", field="resamples", remedy="Give at least 1")
    # Imported when needed, for it brings the compiler.
    from matcheval.statistics.resampling import fit_resamples

    state = np.random.RandomState(seed).get_state(legacy=False)["state"]["key"]
    centre_x, centre_y = x.mean(), y.mean()
    slope, offset = np.empty(resamples), np.empty(resamples)
    fit_resamples(state, x - centre_x, y - centre_y, slope, offset)
    kept = ~np.isnan(slope)
    if not kept.any():
        raise InputError("no resample of the models determines a line", field="resamples")
    slope, offset = slope[kept], offset[kept]
    offset += centre_y - slope * centre_x
    return BootstrapLines(slope, offset, int(resamples - len(slope)))


def percentile_interval(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Bounds between which the middle `level` of the values lie, outward to values that occur.

    The lower bound is the next lower, the upper one the next higher order statistic (NumPy's
    methods `lower` and `higher`), as in the authors' code.
    """
    tail = (1 - check_level(level)) / 2
    low = np.quantile(values, tail, method="lower")
    high = np.quantile(values, 1 - tail, method="higher")
    return float(low), float(high)


def confidence_region(lines: BootstrapLines, grid: FloatArray, level: float = 0.95) -> Interval:
    """Percentile bounds of the lines at every point of a grid, pointwise.

    Parameters
    ----------
    lines : BootstrapLines
    grid : float64 array, shape (n_points,)
        Values of x.
    level : float
        At every point by itself; that whole lines lie within has a lower probability.
    """
    bounds = [percentile_interval(lines.offset + lines.slope * x, level) for x in grid]
    low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
    return Interval(low, high)


def _checked(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Values that determine a line."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"x has shape {x.shape}, y {y.shape}", remedy="Give one value per model")
    if len(x) < MIN_MODELS:
        raise InputError(
            f"{len(x)} model{'s' * (len(x) != 1)}, a line needs at least {MIN_MODELS}",
            field="models",
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("values that are not finite", remedy="The probit of 0 and 1 is infinite")
    if np.ptp(x) == 0:
        raise InputError(
            f"all {len(x)} models have the same accuracy on the original set, which determines "
            "no line",
            field="models",
        )
    return x, y
