"""Accuracy against mean confidence, one point per model and set.

Figure 1 of Anzaku et al. (2022), arXiv 2209.01848.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.figures import style
from matcheval.figures.forms import JOINED, drawing, scatter, square
from matcheval.protocol.gap_figures import name_or_number, sets_of

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
    points = "a point per set" if len(table) == 1 else "a point per model and set"
    title = f"{sets_of(table.iloc[0])}: {name_or_number(table['model'])}, {points}"
    with drawing(style.COLUMN_WIDTH, 1.4 * style.COLUMN_WIDTH, title) as figure:
        axes = figure.add_subplot(anchor="N")
        for origin, (look, _) in style.SETS.items():
            name, n = style.shortened(str(table[origin].iloc[0])), table[f"n_{origin}"].iloc[0]
            edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.3}
            label = f"{name} (n = {style.count(n)})"
            columns = f"confidence_{origin}", f"accuracy_{origin}"
            scatter(axes, table, *columns, look, label=label, **edge)
        if len(table) <= MAX_JOINED_MODELS:
            # The two points of each model are joined; all segments are one line with gaps.
            ends = (np.insert(values, 2, np.nan, axis=1).ravel() for values in (x, y))
            axes.plot(*ends, color=JOINED, linewidth=0.5, zorder=2, label="the same model")
        square(axes, low, high, "confidence = accuracy (below it: overconfident)")
        axes.set(xlabel="Mean confidence (%)", ylabel="Accuracy (%)")
        style.legend_above(axes)
    _trim_below(figure, axes)
    return figure


def _trim_below(figure: "Figure", axes: "Axes") -> None:
    """Cut off the empty space below the panel, which is square and need not fill the figure."""
    with style.style():
        figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    drawn = axes.get_tightbbox()
    if drawn is not None:
        figure.set_size_inches(width, height - drawn.y0 / figure.dpi + _MARGIN_BELOW)
