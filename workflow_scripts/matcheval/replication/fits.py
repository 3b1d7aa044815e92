"""Linear fits of replication against original accuracy, with bootstrap confidence regions.

Recht et al. (2019), arXiv 1902.10811: linear in Fig. 1 and section 3.4, probit in appendix C.2.
"""

from collections.abc import Mapping
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
    Scale,
    bootstrap_families,
    bootstrap_lines,
    clipped_accuracy,
    confidence_region,
    fit_line,
    from_scale,
    percentile_interval,
    to_scale,
)

GRID_POINTS = 200
_MARGIN = 0.05  # by which the region exceeds the range of the fitted models, as a fraction of it
_PARAMETERS = ("slope", "offset")
_ORIGINS = ("original", "replication")


@dataclass(frozen=True)
class Fit:
    """A fit on one scale, as rows of tables."""

    row: dict[str, Any]
    region: pd.DataFrame


@dataclass(frozen=True)
class _Selection:
    """The models to fit, their accuracies, and those left out or with accuracy 0 or 1."""

    models: list[str]
    accuracies: dict[str, FloatArray]
    left_out: list[str]
    extreme: list[str]


def fit_replication(
    results: pd.DataFrame,
    scale: Scale,
    settings: ReplicationSettings,
    families: Mapping[str, str] | None = None,
) -> Fit:
    """Fit a line to the accuracies of all models on a pair, and bootstrap it over models."""
    selection = _select(results, scale, settings)
    x, y = (to_scale(selection.accuracies[origin], scale) for origin in _ORIGINS)
    try:
        line = fit_line(x, y)
    except InputError as error:
        raise InputError(
            f"{error}; of {len(results)} models, {len(selection.left_out)} are left out by "
            f"replication.fit_range and fit_without, and {len(selection.extreme)} have an "
            "accuracy of 0 or 1",
            file=f"{scale.value} fit of pair '{results['pair'].iloc[0]}'",
            remedy="Change these settings; for tables without fits, set replication.scales to []",
        ) from error
    lines = bootstrap_lines(x, y, settings.resamples, settings.seed)
    first = results.iloc[0]
    confidence = float(first["confidence"])
    row = {
        **{name: first[name] for name in ("pair", "top", "original", "replication")},
        "scale": scale.value,
        **_estimates(line, lines, confidence),
        **_over_families(
            x,
            y,
            [(families or {}).get(name, "") for name in selection.models],
            settings,
            confidence,
        ),
        "n_models": len(x),
        "left_out": " ".join(selection.left_out),
        "extreme": " ".join(selection.extreme),
        "extremes": settings.extremes.value,
        "confidence": confidence,
        "resamples": settings.resamples,
        "n_degenerate": lines.n_degenerate,
        "seed": settings.seed,
    }
    region = _region(x, line, lines, scale, confidence)
    return Fit({name: row[name] for name in FITS.names}, region)


def _select(results: pd.DataFrame, scale: Scale, settings: ReplicationSettings) -> _Selection:
    """Select the models to fit, and leave out or clip accuracies of 0 and 1."""
    # Resamples draw positions. Sorted by name, they do not depend on the order of the rows.
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
        models = frame["model"].tolist()
    else:
        accuracies = {origin: a[~is_extreme] for origin, a in accuracies.items()}
        models = frame.loc[~is_extreme, "model"].tolist()
    return _Selection(
        models,
        accuracies,
        results.loc[left_out, "model"].tolist(),
        frame.loc[is_extreme, "model"].tolist(),
    )


def _clipped(
    frame: pd.DataFrame, origin: str, accuracy: FloatArray, is_extreme: np.ndarray[Any, Any]
) -> FloatArray:
    """Return the accuracies on a set, with 0 and 1 replaced by clipped accuracies."""
    here = is_extreme & np.isin(accuracy, (0.0, 1.0))
    n, correct = (frame[f"{name}_{origin}"].to_numpy(np.int64) for name in ("n", "n_correct"))
    if (n[here] == 0).any():
        raise InputError(
            f"the accuracy of {frame['model'].to_numpy()[here & (n == 0)][0]} cannot be clipped: "
            "the number of datapoints is unknown",
            field="replication.extremes",
            remedy="Give 'n' with the accuracies, or set it to leave_out",
        )
    return np.where(here, clipped_accuracy(correct, n), accuracy)


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
        "residual_sd": line.residual_sd,
        "slopes_at_most_1": float((lines.slope <= 1).mean()),
    }


def _over_families(
    x: FloatArray,
    y: FloatArray,
    families: list[str],
    settings: ReplicationSettings,
    confidence: float,
) -> dict[str, float]:
    """Bootstrap the line over families of models; NaN where there are no two, or not all known."""
    known = all(families)
    bounds = {f"family_{name}_{end}": np.nan for name in _PARAMETERS for end in ("low", "high")}
    if known and len(set(families)) > 1:
        lines = bootstrap_families(x, y, families, settings.resamples, settings.seed)
        for name in _PARAMETERS:
            low, high = percentile_interval(getattr(lines, name), confidence)
            bounds |= {f"family_{name}_low": low, f"family_{name}_high": high}
    return {"n_families": len(set(families)) if known else 0, **bounds}


def _region(
    x: FloatArray, line: Line, lines: BootstrapLines, scale: Scale, confidence: float
) -> pd.DataFrame:
    reach = _MARGIN * np.ptp(x)
    low, high = x.min() - reach, x.max() + reach
    if scale is Scale.LINEAR:  # accuracies lie within 0 and 100 %
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
