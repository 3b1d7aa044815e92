"""Figure of gaps beside their null distributions."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.figures.many_models import point_options
from matcheval.figures.style import (
    COLUMN_WIDTH,
    FITTED,
    MATCHED_GAP,
    NOTE_SIZE,
    new_figure,
    set_note,
    set_title_and_legend,
    shortened,
    style,
)
from matcheval.io.text_tables import counted
from matcheval.protocol.settings import matching_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _MARGIN = 0.14, 1.6  # inches: of a named model, and around the rows
_MOST_NAMED = 50  # models; more are drawn by rank, on a page
_HEIGHT = 4.5  # inches: of the rows of more models
_PANEL, _CHARACTER = 1.0, 0.046  # inches: of a panel, and of a character of a name
_LABELS = {
    "gap": "Gap\n(points)",
    "matched_gap": "Matched gap\n(points)",
    "fraction_unmatched": "Unmatched\n(%)",
}


def plot(table: pd.DataFrame) -> "Figure":
    """Draw observed values over their null distributions."""
    panels = table[["statistic", "matching"]].drop_duplicates()
    gaps = table[table["statistic"] == "gap"].set_index("model")["mean_over_seeds"]
    models = gaps.sort_values(kind="stable").index.tolist()
    is_named = len(models) <= _MOST_NAMED
    names = [shortened(model) for model in models]
    rows_height = _ROW * len(models) if is_named else _HEIGHT
    bar = 0.6 * 72 * rows_height / len(models)  # points: the bars of the rows leave gaps
    width = _PANEL * len(panels) + (0.2 + _CHARACTER * max(map(len, names)) if is_named else 0.5)
    from matplotlib.ticker import MaxNLocator

    with style():
        figure = new_figure(max(width, COLUMN_WIDTH), _MARGIN + rows_height)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for panel, (_, key) in zip(axes, panels.iterrows(), strict=True):
            chosen = (table["statistic"] == key["statistic"]) & (
                table["matching"] == key["matching"]
            )
            _draw(panel, table[chosen].set_index("model").loc[models], min(bar, 4.0))
            panel.set_xlabel(_LABELS[str(key["statistic"])])
            panel.xaxis.set_major_locator(MaxNLocator(3))
            title = shortened(matching_label(str(key["matching"])), 20) or "all datapoints"
            panel.set_title(title, fontsize=NOTE_SIZE)
        if is_named:
            axes[0].set_yticks(range(len(models)), names, fontsize=NOTE_SIZE)
        else:
            axes[0].set_ylabel("Model, by increasing gap")
        axes[0].set_ylim(len(models) - 0.5, -0.5)
        title = f"{table['pair'].iloc[0]}: beside random divisions of the datapoints"
        set_title_and_legend(figure, f"{title}, {counted(len(models), 'model')}", ncols=3)
        set_note(figure, "Black lines of matched gaps: 95 % intervals of the mean over seeds.")
    return figure


def _draw(axes: "Axes", rows: pd.DataFrame, bar: float) -> None:
    """Draw the rows of one statistic; `bar` is the thickness of a bar, in points."""
    at, many = np.arange(len(rows)), len(rows) > _MOST_NAMED
    axes.hlines(
        at, 100 * rows["null_low"], 100 * rows["null_high"], color="0.75", linewidth=bar,
        label="95 % of the null",
    )  # fmt: skip
    axes.hlines(
        at, 100 * rows["mean_low"], 100 * rows["mean_high"], color="black",
        linewidth=0.2 if many else 0.6,
    )  # fmt: skip
    axes.plot(
        100 * rows["mean_over_seeds"], at, "|", color="black", label="mean over seeds",
        markersize=1.5 if many else 4,
    )  # fmt: skip
    axes.plot(
        100 * rows["observed"], at, MATCHED_GAP.marker, color=FITTED.color,
        label="observed, one run", **point_options(len(rows)),
    )  # fmt: skip
