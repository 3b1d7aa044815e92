"""Figure of matched gaps against ε."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.figures.many_models import draw_curves
from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    UNMATCHED,
    legend_above,
    new_figure,
    set_title,
    style,
)
from matcheval.io.text_tables import counted
from matcheval.protocol.compared_models import MEAN
from matcheval.protocol.settings import matching_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FAINT = 0.25


def plot(table: pd.DataFrame) -> "Figure":
    """Draw matched gaps, and below them the share of unmatched targets, against ε."""
    matchings = table["matching"].unique().tolist()
    with style():
        figure = new_figure(COLUMN_WIDTH * len(matchings), 3.6)
        panels = figure.subplots(
            2, len(matchings), sharex=True, sharey="row", squeeze=False, height_ratios=(2.2, 1)
        )
        for (upper, lower), matching in zip(panels.T, matchings, strict=True):
            of_matching = table[table["matching"] == matching]
            _draw_gaps(upper, of_matching, matching)
            _draw_models(lower, of_matching, "fraction_unmatched", UNMATCHED.color)
            mean = of_matching[of_matching["model"] == MEAN]
            lower.plot(
                mean["epsilon"], 100 * mean["fraction_unmatched"], **UNMATCHED.line_options()
            )
            lower.set_xscale("log")
            lower.xaxis.set_major_formatter("{x:g}")  # without formulas
            lower.set_xlabel("ε")
        panels[0, 0].set_ylabel("Matched gap (points)")
        panels[1, 0].set_ylabel("Unmatched (%)")
        models = counted(_n_models(table), "model")
        set_title(figure, f"{table['pair'].iloc[0]}: matched gap by ε, {models}")
    return figure


def _draw_gaps(axes: "Axes", table: pd.DataFrame, matching: str) -> None:
    _draw_models(axes, table, "matched_gap", MATCHED_GAP.color)
    of_mean = " of the mean" * (_n_models(table) > 1)
    mean = table[table["model"] == MEAN]
    axes.fill_between(
        mean["epsilon"], 100 * mean["matched_gap_low"], 100 * mean["matched_gap_high"],
        color=MATCHED_GAP.color, alpha=_FAINT, linewidth=0, label=f"95 % interval{of_mean}",
    )  # fmt: skip
    axes.plot(
        mean["epsilon"], 100 * mean["matched_gap"], color=MATCHED_GAP.color,
        marker=MATCHED_GAP.marker, label="matched gap" + ", mean over models" * bool(of_mean),
    )  # fmt: skip
    axes.plot(
        mean["epsilon"], 100 * mean["gap"], label="gap of all datapoints", linewidth=0.8,
        **GAP.line_options(),
    )  # fmt: skip
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)
    legend_above(axes, title=matching_label(matching))


def _n_models(table: pd.DataFrame) -> int:
    return len(set(table["model"]) - {MEAN})


def _draw_models(axes: "Axes", table: pd.DataFrame, column: str, color: str) -> None:
    """Draw a quantity in percent by model; a single model is its own mean."""
    if _n_models(table) > 1:
        of_models = table[table["model"] != MEAN]
        wide = 100 * of_models.pivot_table(column, "model", "epsilon", dropna=False)
        draw_curves(axes, wide.columns.to_numpy(np.float64), wide.to_numpy(np.float64), color)
