"""Accuracy against mean confidence, one point per model and set.

Figure 1 of Anzaku et al. (2022), arXiv 2209.01848.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.figures import style
from matcheval.figures.many_models import point_options
from matcheval.io.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_JOINED_MODELS = 60  # with more, the points of a model are not joined
_MARGIN = 2.0  # percentage points around the points
_MARGIN_BELOW = 0.05  # inches


def plot_confidence(table: pd.DataFrame) -> "Figure":
    """Draw each model's accuracy against its mean confidence on both sets of a pair."""
    x, y = (
        100 * table[[f"{kind}_{origin}" for origin in style.SETS]].to_numpy(np.float64)
        for kind in ("confidence", "accuracy")
    )
    # Limits that both axes share: all points, with a margin around.
    low = max(float(min(x.min(), y.min())) - _MARGIN, -1.0)
    high = min(float(max(x.max(), y.max())) + _MARGIN, 101.0)
    look = point_options(len(table))
    with style.style():
        figure = style.new_figure(style.COLUMN_WIDTH, 1.4 * style.COLUMN_WIDTH)
        axes = figure.add_subplot(anchor="N")
        for i, (origin, (series, _)) in enumerate(style.SETS.items()):
            name, n = style.shortened(str(table[origin].iloc[0])), table[f"n_{origin}"].iloc[0]
            axes.scatter(
                x[:, i], y[:, i], s=look["markersize"] ** 2, marker=series.marker,
                facecolor=series.color, edgecolor="white", linewidth=0.3, alpha=look["alpha"],
                label=f"{name} (n = {style.count(n)})", zorder=3,
            )  # fmt: skip
        if len(table) <= MAX_JOINED_MODELS:
            # The two points of each model are joined; all segments are one line with gaps.
            ends = (np.insert(values, 2, np.nan, axis=1).ravel() for values in (x, y))
            axes.plot(*ends, color="#9a9a9a", linewidth=0.5, zorder=2, label="the same model")
        identity = "confidence = accuracy (below it: overconfident)"
        axes.plot([low, high], [low, high], label=identity, zorder=1, **style.REFERENCE)
        axes.set(
            xlabel="Mean confidence (%)", ylabel="Accuracy (%)", xlim=(low, high),
            ylim=(low, high), aspect="equal",
        )  # fmt: skip
        models = counted(len(table), "model")
        style.set_title(figure, f"{table['pair'].iloc[0]}: {models}, a point per model and set")
        style.legend_above(axes)
        _trim_below(figure, axes)
    return figure


def _trim_below(figure: "Figure", axes: "Axes") -> None:
    """Cut off the empty space below the panel, which is square and need not fill the figure."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    drawn = axes.get_tightbbox()
    if drawn is not None:
        figure.set_size_inches(width, height - drawn.y0 / figure.dpi + _MARGIN_BELOW)
