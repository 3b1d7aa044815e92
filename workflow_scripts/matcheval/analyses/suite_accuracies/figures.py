"""Figure of the accuracies on the sets of a suite."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.figures.saving import fix_layout
from matcheval.figures.style import (
    MODELS,
    NOTE_SIZE,
    REFERENCE,
    legend_above,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.16  # inches per set
_MARGIN = 1.2
_HIGHEST = 40.0  # inches


def plot(table: pd.DataFrame) -> "Figure":
    """Draw the accuracy of every model on every set, with the mean over models.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, at least one row.

    Returns
    -------
    matplotlib.figure.Figure
        A row per set, in the order of the suite, groups separated by lines.
    """
    sets = table.groupby("dataset", sort=False)
    first, means = sets.first(), sets["accuracy_set"].mean()
    rows = table["dataset"].map({name: row for row, name in enumerate(first.index)})
    base = sets["accuracy_base"].mean()  # it differs between sets where members name classes
    with style():
        figure = new_figure(5.5, min(_MARGIN + _ROW * len(first), _HIGHEST))
        axes = figure.add_subplot()
        axes.plot(
            100 * table["accuracy_set"], rows, ".", color=MODELS.color, alpha=0.5, label="a model"
        )
        axes.plot(100 * means, range(len(means)), "k|", markersize=8, label="mean over models")
        axes.plot(
            100 * base, range(len(base)), label=f"mean on {first['base'].iloc[0]}", **REFERENCE
        )
        groups = first["group"].tolist()
        for row in range(1, len(groups)):
            if groups[row] != groups[row - 1]:
                axes.axhline(row - 0.5, color="0.5", linewidth=0.5)
        axes.set_yticks(range(len(first)), first.index.tolist(), fontsize=NOTE_SIZE)
        axes.set_ylim(len(first) - 0.5, -0.5)
        axes.set_xlabel("Accuracy (%)")
        legend_above(axes, ncols=3)
        fix_layout(figure)
    return figure
