"""Figure of gaps by class."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.analyses.class_gaps.tables import ALL
from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    NOTE_SIZE,
    legend_above,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.16  # inches per class
_MARGIN = 1.3
_HIGHEST = 40.0  # inches


def plot(table: pd.DataFrame) -> "Figure":
    """Draw gaps and matched gaps of every class.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, at least one row.

    Returns
    -------
    matplotlib.figure.Figure
        A panel per matching and kind of class, a row per class with enough matched points for a
        model. Points are means over these models, bars reach from the lowest to the highest; of a
        single model, bars are 95 % intervals of the matched gap.
    """
    shown = table[table["reason"] == ""]
    classes = sorted(shown["class"].unique())
    panels = table[["matching", "kind"]].drop_duplicates().itertuples(index=False)
    keys = list(panels)
    with style():
        figure = new_figure(
            0.6 * COLUMN_WIDTH * len(keys), min(_MARGIN + _ROW * len(classes), _HIGHEST)
        )
        axes = figure.subplots(1, len(keys), sharey=True, sharex=True, squeeze=False)[0]
        for panel, (matching, kind) in zip(axes, keys, strict=True):
            chosen = (shown["matching"] == matching) & (shown["kind"] == kind)
            _draw(panel, shown[chosen], classes)
            legend_above(panel, title=f"{matching}, {kind} class", fontsize=NOTE_SIZE)
            panel.set_xlabel("Difference (points)")
        names = ["all" if k == ALL else f"{k}" for k in classes]
        axes[0].set_yticks(range(len(classes)), names, fontsize=NOTE_SIZE)
        axes[0].set_ylim(max(len(classes), 1) - 0.5, -0.5)
        axes[0].set_ylabel("Class")
    return figure


def _draw(axes: "Axes", table: pd.DataFrame, classes: list[int]) -> None:
    rows = table["class"].map({number: row for row, number in enumerate(classes)})
    one_model = len(set(table["model"])) == 1
    for column, look, label, shift in (
        ("gap", GAP, "all points", -0.15),
        ("matched_gap", MATCHED_GAP, "matched points", 0.15),
    ):
        groups = (100 * table[column]).groupby(rows)
        mean, low, high = groups.mean(), groups.min(), groups.max()
        if one_model and column == "matched_gap":
            low, high = (
                (100 * table[f"{column}_{end}"]).groupby(rows).first() for end in ("low", "high")
            )
        axes.hlines(mean.index + shift, low, high, color=look.color, linewidth=0.8)
        axes.plot(mean, mean.index + shift, look.marker, color=look.color, label=label)
    axes.axvline(0, color="#767676", linewidth=0.7, zorder=1)
