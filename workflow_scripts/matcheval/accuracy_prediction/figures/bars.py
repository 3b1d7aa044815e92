"""Errors as bars with intervals: methods side by side, by group of sets."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.figures.results import Results, with_titles
from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.reading import how
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import NOTE_SIZE, new_figure, set_note, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _HEADS, _PANEL = 0.14, 0.9, 1.9  # inches
_WIDEST = 12.0
_KEYS = ["protocol", "regressor", "calibrated_on"]


def plot(results: Results) -> "Figure":
    """Draw the mean absolute error of every method: P1, Figures 3, 6 to 8, 10 to 12, 21 to 23.

    A row of panels per way of predicting (a calibration, or leaving sets out), with the methods
    that need no regression in each; a panel per group of sets. Bars are intervals over models and
    sets.

    Parameters
    ----------
    results : Results

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = results.errors
    table = with_titles(table[(table["view"] == WHOLE) & (table["subgroup"] == ALL)])
    direct = table[table["protocol"] == DIRECT]
    ways = [part for key, part in table.groupby(_KEYS, sort=False) if key[0] != DIRECT] or [direct]
    groups = [g for g in dict.fromkeys(table["group"]) if g != ALL]
    groups = groups if len(groups) > 1 else [ALL]
    blocks = [way if way is direct else pd.concat([direct, way], ignore_index=True) for way in ways]
    heights = [block["title"].nunique() * _ROW + _HEADS for block in blocks]
    with style():
        figure = new_figure(min(1.6 + _PANEL * len(groups), _WIDEST), sum(heights) + 0.2)
        rows = figure.subplots(
            len(blocks), len(groups), squeeze=False, sharex="col", height_ratios=heights
        )
        for axes_row, block, way in zip(rows, blocks, ways, strict=True):
            for axes, group in zip(axes_row, groups, strict=True):
                _panel(axes, block[block["group"] == group], group, block["title"].unique())
            axes_row[0].set_ylabel(how(way.iloc[0].to_dict()))
            for axes in axes_row[1:]:
                axes.set_yticklabels([])
        for axes in rows[-1]:
            axes.set_xlabel("Mean absolute error (points)")
        set_note(
            figure,
            "Bars: 95 % bootstrap intervals over pairs of model and set. Grey: no regression.",
        )
        fix_layout(figure)
    return figure


def _panel(axes: "Axes", part: pd.DataFrame, group: str, methods: np.ndarray) -> None:
    first = part.groupby("title", sort=False).first().reindex(methods)
    position = np.arange(len(first))
    error = 100 * first["mae"].to_numpy(np.float64)
    bounds = [100 * first[f"mae_rows_{side}"].to_numpy(np.float64) for side in ("low", "high")]
    is_direct = (first["protocol"] == DIRECT).to_numpy()
    axes.barh(position, error, color=np.where(is_direct, "#b5b5b5", "#0072B2"), height=0.7)
    sizes = np.nan_to_num([error - bounds[0], bounds[1] - error])
    axes.errorbar(error, position, xerr=sizes.clip(0), fmt="none", ecolor="k", elinewidth=0.6)
    for row in np.flatnonzero(np.isnan(error)):
        axes.annotate("n/a", (0, row), xytext=(2, 0), textcoords="offset points", va="center",
                      fontsize=NOTE_SIZE, color="0.4")  # fmt: skip
    axes.set_yticks(position, list(methods))
    axes.set_ylim(len(first) - 0.4, -0.6)
    axes.set_title("all sets" if group == ALL else group or "no group")
    axes.grid(visible=False, axis="y")
