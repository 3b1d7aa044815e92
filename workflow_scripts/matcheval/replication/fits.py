"""Linear fits of replication against original accuracy, with bootstrap confidence regions.

Recht et al. (2019), arXiv 1902.10811: linear in Fig. 1 and section 3.4, probit in appendix C.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field, field_validator

from matcheval.errors import InputError
from matcheval.names import ORIGINS
from matcheval.replication.tables import FITS, REGION
from matcheval.settings import Count, Fraction, Integer, ModelNames, Settings, Unique, UniqueItems
from matcheval.statistics import lines
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.lines import Scale


class Extremes(StrEnum):
    """How to treat models with an accuracy of 0 or 1, which is infinite on the probit scale."""

    LEAVE_OUT = "leave_out"
    CLIP = "clip"


class ModelsByScale(Settings):
    """Names of models, for each scale of a fit."""

    linear: ModelNames = Field((), description="Models left out of the linear fit")
    probit: ModelNames = Field((), description="Models left out of the probit fit")


def _for_both_scales(models: Any) -> Any:
    """Turn a list of models into the same list for each scale; return all else as it is."""
    return {"linear": models, "probit": models} if isinstance(models, list | tuple) else models


class ReplicationSettings(Settings):
    """How accuracies are tabulated, and lines are fitted through them."""

    top: Annotated[tuple[Count, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        (1,), description="A prediction is correct if the label is among the k top classes"
    )
    scales: Annotated[tuple[Scale, ...], Unique, UniqueItems] = Field(
        (Scale.LINEAR, Scale.PROBIT), description="Of the fits and their figures; [] for none"
    )
    resamples: Count = Field(100_000, description="Bootstrap resamples of the models, per fit")
    seed: Annotated[Integer, Field(ge=0, le=2**32 - 1)] = Field(
        720257663, description="Of the bootstrap; the number in the code of Recht et al."
    )
    extremes: Extremes = Field(
        Extremes.LEAVE_OUT,
        description="Accuracies of 0 or 1 are infinite on the probit scale: they are left out of "
        "that fit, or clipped to (k + 1/2) / (n + 1)",
    )
    fit_without: Annotated[
        ModelsByScale,
        BeforeValidator(_for_both_scales, json_schema_input_type=ModelNames | ModelsByScale),
    ] = Field(ModelsByScale(), description="Models that are tabulated and ranked, but not fitted")
    fit_range: tuple[Fraction, Fraction] = Field(
        (0.0, 1.0), description="Original accuracies of the models that are fitted"
    )
    range_without: ModelNames = Field(
        (), description="Models left out of the range that average changes are compared with"
    )

    @field_validator("fit_range")
    @classmethod
    def _check_order(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        low, high = bounds
        if low >= high:
            raise ValueError(f"{low:g} is not below {high:g}. Give the lowest accuracy first")
        return bounds

    def left_out(self, scale: Scale) -> tuple[str, ...]:
        """Return the models left out of the fit on a scale."""
        return getattr(self.fit_without, scale.value)


GRID_POINTS = 200
_MARGIN = 0.05  # by which the region exceeds the range of the fitted models, as a fraction of it


@dataclass(frozen=True)
class Fit:
    """A fit on one scale: its row of the table of fits, and its confidence region."""

    row: dict[str, Any]
    region: pd.DataFrame


def fit_replication(
    results: pd.DataFrame,
    scale: Scale,
    settings: ReplicationSettings,
    families: Mapping[str, str] | None = None,
) -> Fit:
    """Fit a line to the accuracies of all models on a pair, and bootstrap it over models."""
    frame, left_out, extreme = _select_fitted(results, scale, settings)
    x, y = (lines.to_scale(frame[f"accuracy_{o}"].to_numpy(np.float64), scale) for o in ORIGINS)
    try:
        line = lines.fit_line(x, y)
    except InputError as error:
        raise InputError(
            f"{error}; of {len(results)} models, {len(left_out)} are left out by replication."
            f"fit_range and fit_without, and {len(extreme)} have an accuracy of 0 or 1",
            file=f"{scale.value} fit of pair '{results['pair'].iloc[0]}'",
            remedy="Change these settings; for tables without fits, set replication.scales to []",
        ) from error
    resampled = lines.bootstrap_lines(x, y, settings.resamples, settings.seed)
    family = [(families or {}).get(name, "") for name in frame["model"]]
    n_families = len(set(family)) if all(family) else 0  # 0 if not all are known
    over_families = None
    if n_families > 1:
        over_families = lines.bootstrap_families(x, y, family, settings.resamples, settings.seed)
    first = results.iloc[0]
    confidence = float(first["confidence"])
    row = {
        **first[["pair", "top", "original", "replication"]], "scale": scale.value,
        "slope": line.slope, "offset": line.offset, "r_squared": line.r_squared,
        "residual_sd": line.residual_sd, "slopes_at_most_1": float((resampled.slope <= 1).mean()),
        **_line_bounds("", resampled, confidence), "n_families": n_families,
        **_line_bounds("family_", over_families, confidence), "n_models": len(x),
        "left_out": " ".join(left_out), "extreme": " ".join(extreme),
        "extremes": settings.extremes.value, "confidence": confidence,
        "resamples": settings.resamples, "n_degenerate": resampled.n_degenerate,
        "seed": settings.seed,
    }  # fmt: skip
    region = _tabulate_region(x, line, resampled, scale, confidence)
    return Fit({name: row[name] for name in FITS.names}, region)


def _select_fitted(
    results: pd.DataFrame, scale: Scale, settings: ReplicationSettings
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the rows to fit, the names left out by settings, and those with accuracy 0 or 1."""
    # Resamples draw positions. Sorted by name, they do not depend on the order of the rows.
    results = results.sort_values("model")
    left_out = results["model"].isin(settings.left_out(scale))
    left_out |= ~results["accuracy_original"].between(*settings.fit_range)
    frame, is_infinite = results[~left_out], pd.Series(False, results.index[~left_out])
    if scale is Scale.PROBIT:
        is_infinite = frame[[f"accuracy_{o}" for o in ORIGINS]].isin((0.0, 1.0)).any(axis=1)
    extreme = frame.loc[is_infinite, "model"].tolist()
    if settings.extremes is not Extremes.CLIP:
        frame = frame[~is_infinite]
    elif extreme:
        frame = frame.assign(**{f"accuracy_{o}": _clip_extremes(frame, o) for o in ORIGINS})
    return frame, results.loc[left_out, "model"].tolist(), extreme


def _clip_extremes(frame: pd.DataFrame, origin: str) -> FloatArray:
    """Return the accuracies on a set, 0 and 1 replaced by (correct + ½) / (n + 1)."""
    accuracy = frame[f"accuracy_{origin}"].to_numpy(np.float64)
    is_extreme = np.isin(accuracy, (0.0, 1.0))
    n, correct = (frame[f"{name}_{origin}"].to_numpy(np.int64) for name in ("n", "n_correct"))
    if (n[is_extreme] == 0).any():
        raise InputError(
            f"the accuracy of {frame['model'].to_numpy()[is_extreme & (n == 0)][0]} cannot be "
            "clipped: the number of datapoints is unknown", field="replication.extremes",
            remedy="Give 'n' with the accuracies, or set it to leave_out",
        )  # fmt: skip
    return np.where(is_extreme, lines.clipped_accuracy(correct, n), accuracy)


def _line_bounds(
    prefix: str, resampled: lines.BootstrapLines | None, confidence: float
) -> dict[str, float]:
    """Return the bounds of slope and offset by column name; NaN without resamples."""
    bounds: dict[str, float] = {}
    for name in ("slope", "offset"):
        low = high = np.nan
        if resampled is not None:
            low, high = lines.percentile_interval(getattr(resampled, name), confidence)
        bounds |= {f"{prefix}{name}_low": low, f"{prefix}{name}_high": high}
    return bounds


def _tabulate_region(
    x: FloatArray, line: lines.Line, resampled: lines.BootstrapLines, scale: Scale, level: float
) -> pd.DataFrame:
    """Return the line with its confidence region on a grid of accuracies, as rows of `REGION`."""
    reach = _MARGIN * np.ptp(x)
    low, high = x.min() - reach, x.max() + reach
    if scale is Scale.LINEAR:  # accuracies lie within 0 and 100 %
        low, high = max(low, 0.0), min(high, 100.0)
    grid = np.linspace(low, high, GRID_POINTS)
    bounds = lines.confidence_region(resampled, grid, level)
    values = (grid, line.at(grid), bounds.low, bounds.high)
    columns = [lines.from_scale(points, scale) for points in values]
    return pd.DataFrame(dict(zip(REGION.names, (scale.value, *columns), strict=True)))
