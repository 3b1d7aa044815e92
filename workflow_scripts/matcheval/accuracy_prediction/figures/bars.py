"""Bar charts of mean absolute errors with intervals, by method and group of sets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.figures.results import (
    WAY,
    Results,
    way_text,
    with_titles,
)
from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import NOTE_SIZE, grid_shape, new_figure, set_note, shortened, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _HEADS, _PANEL, _LABELS = 0.14, 0.75, 1.4, 1.2  # inches
_COLUMNS = 4  # panels in a row
_GREY, _BLUE = "#b5b5b5", "#0072B2"


def plot(results: Results, way: Sequence[str]) -> "Figure":
    """Draw the mean absolute error of every method: P1, Figures 3, 6 to 8, 10 to 12, 21 to 23."""
    table = results.errors
    table = with_titles(table[(table["view"] == WHOLE) & (table["subgroup"] == ALL)])
    own = table[(table[WAY] == list(way)).all(axis=1)]
    predicted = own[np.isfinite(own["mae"])]
    groups = [group for group in dict.fromkeys(predicted["group"]) if group != ALL]
    if len(groups) > 1 and way[0] != CALIBRATED:
        groups.append(ALL)
    block = own if way[0] == DIRECT else pd.concat([table[table["protocol"] == DIRECT], own])
    block = block[block["group"].isin(groups)]
    keys = block[["protocol", "title"]].drop_duplicates()
    n_rows, n_columns = grid_shape(len(groups), _COLUMNS)
    with style():
        figure = new_figure(
            _LABELS + _PANEL * max(n_columns, 2), n_rows * (_ROW * len(keys) + _HEADS) + 0.3
        )
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True)
        for axes, group in zip(panels.flat, groups, strict=False):
            _panel(axes, keys.merge(block[block["group"] == group], how="left"), group)
        for axes in panels.flat[len(groups) :]:
            axes.remove()
        text = f"{way_text(way)}. " if groups else f"{way_text(way)}: nothing is predicted. "
        if way[0] != DIRECT:
            text += "Grey: without a regression, on the same sets. "
        set_note(figure, text + _intervals(block))
        fix_layout(figure)
    return figure


def _intervals(block: pd.DataFrame) -> str:
    level = f"{100 * block['confidence'].iloc[0]:g} % " if len(block) else ""
    return f"Lines: {level}bootstrap intervals over pairs of model and set. n: fewer sets."


def _panel(axes: "Axes", rows: pd.DataFrame, group: str) -> None:
    position = np.arange(len(rows))
    error, low, high = (
        100 * rows[name].to_numpy(np.float64) for name in ("mae", "mae_rows_low", "mae_rows_high")
    )
    is_direct = (rows["protocol"] == DIRECT).to_numpy()
    color = np.where(is_direct & ~is_direct.all(), _GREY, _BLUE)
    axes.barh(position, error, color=color, height=0.7)
    sizes = np.nan_to_num([error - low, high - error])
    axes.errorbar(error, position, xerr=sizes.clip(0), fmt="none", ecolor="k", elinewidth=0.6)
    for row in np.flatnonzero(np.isnan(error)):
        axes.annotate("n/a", (0, row), xytext=(2, 0), textcoords="offset points", va="center",
                      fontsize=NOTE_SIZE, color="0.4")  # fmt: skip
    n_sets = rows["n_sets"].to_numpy(np.float64)
    for row in np.flatnonzero(np.isfinite(error) & (n_sets < np.nanmax(n_sets, initial=0))):
        axes.annotate(f"n = {n_sets[row]:g}", (error[row], row), xytext=(12, 0), va="center",
                      textcoords="offset points", fontsize=NOTE_SIZE, color="0.4")  # fmt: skip
    axes.set_yticks(position, list(rows["title"]))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_title("all sets" if group == ALL else shortened(group, 24) or "no group")
    axes.set_xlabel("Mean error (points)")
    axes.grid(visible=False, axis="y")
