"""Lines of replication on original accuracy, with bootstrap intervals and confidence regions.

Recht et al. (2019), arXiv 1902.10811: linear in Fig. 1 and section 3.4, probit in appendix C.2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.replication.schemas import FITS, REGION
from matcheval.replication.settings import Extremes, ReplicationSettings
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.lines import (
    BootstrapLines,
    Line,
    bootstrap_lines,
    confidence_region,
    fit_line,
    percentile_interval,
)
from matcheval.statistics.scales import Scale, clipped_accuracy, from_scale, to_scale

GRID_POINTS = 200
_MARGIN = 0.05  # of the range of the models fitted: so far the region reaches beyond them
_ORIGINS = ("original", "replication")


@dataclass(frozen=True)
class Fit:
    """A fit as rows of tables: one of `schemas.FITS`, and those of `schemas.REGION`."""

    row: dict[str, Any]
    region: pd.DataFrame


@dataclass(frozen=True)
class _Chosen:
    """What is fitted: accuracies of the models that are, and the names of the others."""

    accuracies: dict[str, FloatArray]
    left_out: list[str]
    extreme: list[str]


def fit_replication(
    results: pd.DataFrame, scale: Scale, settings: ReplicationSettings
) -> Fit:  # fmt: skip
    """Fit a line through a pair's models on one scale, and bootstrap it over the models.

    Parameters
    ----------
    results : pandas.DataFrame
        Columns of `schemas.RESULTS`, one pair and top.
    scale : Scale
        Of both axes.
    settings : ReplicationSettings

    Returns
    -------
    Fit
        The region is on a grid of 200 points over the range of the models fitted, evenly spaced
        on the scale, and reaches 5 % beyond it on either side.

    Raises
    ------
    InputError
        If fewer than three models are left to fit, or all have the same original accuracy.

    Notes
    -----
    On the probit scale, accuracies of 0 and 1 are infinite. Their models are left out of that fit,
    or clipped to (k + ½) / (n + 1), as the settings have it; the row names them either way.
    """
    chosen = _choose(results, scale, settings)
    x, y = (to_scale(chosen.accuracies[origin], scale) for origin in _ORIGINS)
    try:
        line = fit_line(x, y)
    except InputError as error:
        raise InputError(
            str(error),
            file=f"{scale.value} fit of pair '{results['pair'].iloc[0]}'",
            remedy="To make tables without fits, set replication.scales to []",
        ) from error
    lines = bootstrap_lines(x, y, settings.resamples, settings.seed)
    first = results.iloc[0]
    row = {
        **{name: first[name] for name in ("pair", "top", "original", "replication")},
        "scale": scale.value,
        **_estimates(line, lines, settings.confidence),
        "n_models": len(x),
        "left_out": " ".join(chosen.left_out),
        "extreme": " ".join(chosen.extreme),
        "extremes": settings.extremes.value,
        "confidence": settings.confidence,
        "resamples": settings.resamples,
        "n_degenerate": lines.n_degenerate,
        "seed": settings.seed,
    }
    region = _region(x, line, lines, scale, settings.confidence)
    return Fit({name: row[name] for name in FITS.names}, region)


def _choose(results: pd.DataFrame, scale: Scale, settings: ReplicationSettings) -> _Chosen:
    """Leave out what is to be left out, and deal with accuracies of 0 and 1."""
    # Resamples draw positions: in order of the names they depend on nothing else.
    results = results.sort_values("model")
    left_out = results["model"].isin(settings.left_out(scale))
    left_out |= ~results["accuracy_original"].between(*settings.fit_range)
    frame = results[~left_out]
    accuracies = {origin: frame[f"accuracy_{origin}"].to_numpy(np.float64) for origin in _ORIGINS}
    is_extreme = np.zeros(len(frame), dtype=bool)
    if scale is Scale.PROBIT:
        is_extreme = np.any([np.isin(a, (0.0, 1.0)) for a in accuracies.values()], axis=0)
    if settings.extremes is Extremes.CLIP:
        accuracies = {o: _clipped(frame, o, accuracies[o], is_extreme) for o in _ORIGINS}
    else:
        accuracies = {origin: a[~is_extreme] for origin, a in accuracies.items()}
    return _Chosen(
        accuracies, results.loc[left_out, "model"].tolist(), frame.loc[is_extreme, "model"].tolist()
    )


def _clipped(
    frame: pd.DataFrame, origin: str, accuracy: FloatArray, is_extreme: np.ndarray[Any, Any]
) -> FloatArray:
    """Accuracies on a set, those of extreme models that are 0 or 1 there pulled inwards."""
    here = is_extreme & np.isin(accuracy, (0.0, 1.0))
    n, correct = (frame[f"{name}_{origin}"].to_numpy(np.int64) for name in ("n", "n_correct"))
    if (n[here] == 0).any():
        raise InputError(
            f"{frame['model'].to_numpy()[here & (n == 0)][0]} cannot be clipped: the number of "
            "datapoints is not known",
            field="replication.extremes",
            remedy="Give 'n' for the accuracies, or set leave_out",
        )
    return np.where(here, clipped_accuracy(correct, np.maximum(n, 1)), accuracy)


def _estimates(line: Line, lines: BootstrapLines, confidence: float) -> dict[str, float]:
    slope_low, slope_high = percentile_interval(lines.slope, confidence)
    offset_low, offset_high = percentile_interval(lines.offset, confidence)
    return {
        "slope": line.slope,
        "slope_low": slope_low,
        "slope_high": slope_high,
        "offset": line.offset,
        "offset_low": offset_low,
        "offset_high": offset_high,
        "r_squared": line.r_squared,
        "slopes_at_most_1": float((lines.slope <= 1).mean()),
    }


def _region(
    x: FloatArray, line: Line, lines: BootstrapLines, scale: Scale, confidence: float
) -> pd.DataFrame:
    reach = _MARGIN * np.ptp(x)
    low, high = x.min() - reach, x.max() + reach
    if scale is Scale.LINEAR:  # there is nothing below 0 % or above 100 %
        low, high = max(low, 0.0), min(high, 100.0)
    grid = np.linspace(low, high, GRID_POINTS)
    bounds = confidence_region(lines, grid, confidence)
    columns = (
        ("accuracy_original", grid),
        ("fit", line.at(grid)),
        ("low", bounds.low),
        ("high", bounds.high),
    )
    region = pd.DataFrame({name: from_scale(values, scale) for name, values in columns})
    return region.assign(scale=scale.value)[REGION.names]
