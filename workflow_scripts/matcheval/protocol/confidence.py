"""Accuracy against mean confidence, one point per model and set.

Figure 1 of Anzaku et al. (2022), arXiv 2209.01848.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.figures.many_models import point_options
from matcheval.figures.style import (
    COLUMN_WIDTH,
    ORIGINAL,
    REFERENCE,
    REPLICATION,
    SeriesStyle,
    count,
    legend_above,
    new_figure,
    set_title,
    shortened,
    style,
)
from matcheval.io.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORIGINS = {"original": ORIGINAL, "replication": REPLICATION}
MAX_JOINED_MODELS = 60  # with more, the points of a model are not joined
_MARGIN = 2.0  # percentage points around the points
_MARGIN_BELOW = 0.05  # inches


def plot_confidence(table: pd.DataFrame) -> "Figure":
    """Draw each model's accuracy against its mean confidence on both sets of a pair."""
    with style():
        figure = new_figure(COLUMN_WIDTH, 1.4 * COLUMN_WIDTH)
        axes = figure.add_subplot(anchor="N")
        for origin, series in _ORIGINS.items():
            _scatter(axes, table, origin, series)
        if len(table) <= MAX_JOINED_MODELS:
            _join(axes, table)
        low, high = _limits(table)
        identity = "confidence = accuracy (below it: overconfident)"
        axes.plot([low, high], [low, high], label=identity, zorder=1, **REFERENCE)
        axes.set(
            xlabel="Mean confidence (%)",
            ylabel="Accuracy (%)",
            xlim=(low, high),
            ylim=(low, high),
            aspect="equal",
        )
        set_title(
            figure,
            f"{table['pair'].iloc[0]}: {counted(len(table), 'model')}, a point per model and set",
        )
        legend_above(axes)
        _trim_below(figure, axes)
    return figure


def _trim_below(figure: "Figure", axes: "Axes") -> None:
    """Cut off the empty space below the panel, which is square and need not fill the figure."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    drawn = axes.get_tightbbox()
    if drawn is not None:
        figure.set_size_inches(width, height - drawn.y0 / figure.dpi + _MARGIN_BELOW)


def _join(axes: "Axes", table: pd.DataFrame) -> None:
    """Join the two points of each model by a segment; all segments are one line with gaps."""
    x, y = (
        100 * table[[f"{kind}_{origin}" for origin in _ORIGINS]].assign(end=np.nan).to_numpy()
        for kind in ("confidence", "accuracy")
    )
    axes.plot(
        x.ravel(), y.ravel(), color="#9a9a9a", linewidth=0.5, zorder=2, label="the same model"
    )


def _scatter(axes: "Axes", table: pd.DataFrame, origin: str, series: SeriesStyle) -> None:
    look = point_options(len(table))
    name, n = shortened(str(table[origin].iloc[0])), count(table[f"n_{origin}"].iloc[0])
    axes.scatter(
        100 * table[f"confidence_{origin}"],
        100 * table[f"accuracy_{origin}"],
        s=look["markersize"] ** 2,
        marker=series.marker,
        facecolor=series.color,
        edgecolor="white",
        linewidth=0.3,
        alpha=look["alpha"],
        label=f"{name} (n = {n})",
        zorder=3,
    )


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Return the limits that both axes share, in percent: all points, with a margin around."""
    columns = [f"{kind}_{origin}" for kind in ("confidence", "accuracy") for origin in _ORIGINS]
    shown = 100 * table[columns].to_numpy(dtype=np.float64)
    return max(float(shown.min()) - _MARGIN, -1.0), min(float(shown.max()) + _MARGIN, 101.0)
