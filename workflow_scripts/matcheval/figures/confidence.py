"""Figure 1: accuracy against mean confidence, a point per model and set."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.style import (
    COLUMN_WIDTH,
    ORIGINAL,
    REFERENCE,
    REPLICATION,
    SeriesStyle,
    count,
    legend_above,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORIGINS = {"original": ORIGINAL, "replication": REPLICATION}
_ASIDE: dict[str, Any] = {"color": "#767676", "fontsize": 6.5, "style": "italic", "zorder": 1}
_MARGIN = 2.0  # percentage points around the points


def plot_confidence(table: pd.DataFrame) -> "Figure":
    """Draw each model's accuracy against its mean confidence on both sets of a pair.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, one pair; the matched quantities are not used.

    Returns
    -------
    matplotlib.figure.Figure
        One panel in percent; on the identity line a model is calibrated on average.

    Raises
    ------
    InputError
        If the table is empty.
    """
    if table.empty:
        raise InputError("no models to draw", field="model")
    with style():
        figure = new_figure(COLUMN_WIDTH, COLUMN_WIDTH + 0.65)  # room for the legend
        axes = figure.add_subplot()
        for origin, series in _ORIGINS.items():
            _scatter(axes, table, origin, series)
        low, high = _limits(table)
        axes.plot(
            [low, high], [low, high], label="confidence = accuracy", zorder=1, **REFERENCE
        )  # fmt: skip
        axes.set(
            xlabel="Mean confidence (%)",
            ylabel="Accuracy (%)",
            xlim=(low, high),
            ylim=(low, high),
            aspect="equal",
        )
        models = "1 model" if len(table) == 1 else f"{len(table)} models"
        axes.text(0.03, 0.97, "underconfident", transform=axes.transAxes, va="top", **_ASIDE)
        axes.text(0.97, 0.03, "overconfident", transform=axes.transAxes, ha="right", **_ASIDE)
        figure.suptitle(f"{table['pair'].iloc[0]}: {models}, a point per model and set")
        legend_above(axes)
    return figure


def _scatter(axes: "Axes", table: pd.DataFrame, origin: str, series: SeriesStyle) -> None:
    axes.scatter(
        100 * table[f"confidence_{origin}"],
        100 * table[f"accuracy_{origin}"],
        s=16 if len(table) <= 50 else 9,
        marker=series.marker,
        facecolor=series.color,
        edgecolor="white",
        linewidth=0.3,
        alpha=0.85,
        label=f"{table[origin].iloc[0]} (n = {count(table[f'n_{origin}'].iloc[0])})",
        zorder=3,
    )


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Give limits that both axes share, in percent: what is shown, with a margin."""
    columns = [f"{kind}_{origin}" for kind in ("confidence", "accuracy") for origin in _ORIGINS]
    shown = 100 * table[columns].to_numpy(dtype=np.float64)
    return max(float(shown.min()) - _MARGIN, -1.0), min(float(shown.max()) + _MARGIN, 101.0)
