"""Figure of matched gaps against ε."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    UNMATCHED,
    legend_above,
    new_figure,
    style,
)
from matcheval.protocol.compared_models import MEAN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FAINT = 0.25


def plot(table: pd.DataFrame) -> "Figure":
    """Draw matched gaps, and below them the share of unmatched targets, against ε.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, at least one row.

    Returns
    -------
    matplotlib.figure.Figure
        A column of panels per matching. Faint lines are models, bold ones the mean over models
        with its 95 % interval; the horizontal line is the mean gap of all datapoints.
    """
    matchings = table["matching"].unique().tolist()
    with style():
        figure = new_figure(COLUMN_WIDTH * len(matchings), 3.6)
        panels = figure.subplots(
            2, len(matchings), sharex=True, sharey="row", squeeze=False, height_ratios=(2.2, 1)
        )
        for (upper, lower), matching in zip(panels.T, matchings, strict=True):
            of_matching = table[table["matching"] == matching]
            _draw_gaps(upper, of_matching, matching)
            for model, rows in of_matching.groupby("model", sort=False):
                lower.plot(
                    rows["epsilon"], 100 * rows["fraction_unmatched"],
                    alpha=1 if model == MEAN else _FAINT, **UNMATCHED.line_options(),
                )  # fmt: skip
            lower.set_xscale("log")
            lower.xaxis.set_major_formatter("{x:g}")  # without formulas
            lower.set_xlabel("ε")
        panels[0, 0].set_ylabel("Matched gap (points)")
        panels[1, 0].set_ylabel("Unmatched (%)")
    return figure


def _draw_gaps(axes: "Axes", table: pd.DataFrame, matching: str) -> None:
    for model, rows in table.groupby("model", sort=False):
        if model != MEAN:
            axes.plot(
                rows["epsilon"], 100 * rows["matched_gap"], color=MATCHED_GAP.color, alpha=_FAINT,
                linewidth=0.6,
            )  # fmt: skip
    mean = table[table["model"] == MEAN]
    axes.fill_between(
        mean["epsilon"], 100 * mean["matched_gap_low"], 100 * mean["matched_gap_high"],
        color=MATCHED_GAP.color, alpha=_FAINT, linewidth=0, label="95 % interval of the mean",
    )  # fmt: skip
    axes.plot(
        mean["epsilon"], 100 * mean["matched_gap"], color=MATCHED_GAP.color,
        marker=MATCHED_GAP.marker, label="matched gap, mean over models",
    )  # fmt: skip
    axes.plot(
        mean["epsilon"], 100 * mean["gap"], label="gap of all datapoints", linewidth=0.8,
        **GAP.line_options(),
    )  # fmt: skip
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)
    legend_above(axes, title=matching)
