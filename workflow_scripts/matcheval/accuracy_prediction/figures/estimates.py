"""Predicted accuracies of single sets with their intervals, beside the true ones."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.style import (
    FITTED,
    NOTE_SIZE,
    ORIGINAL,
    REFERENCE,
    grid_shape,
    new_figure,
    set_note,
    shortened,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _HEADS, _PANEL, _LABELS = 0.17, 0.85, 1.85, 1.25  # inches
_COLUMNS = 3  # panels in a row
_NOTE = (
    "Points: predicted accuracies, with 95 % intervals over datapoints. Dashed: accuracy on the "
    "base. Solid line: true accuracy, where it is known."
)


def plot_estimates(table: pd.DataFrame) -> "Figure":
    """Draw the accuracies that all methods predict on every set."""
    if table.empty:
        raise InputError("no predictions to plot", field="target")
    targets = list(dict.fromkeys(table["target"]))
    n_methods = int(table.groupby("target").size().max())
    n_rows, n_columns = grid_shape(len(targets), _COLUMNS)
    with style():
        width = _LABELS + _PANEL * max(n_columns, 1.1)
        figure = new_figure(width, n_rows * (_ROW * n_methods + _HEADS) + 0.3)
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
        for axes, target in zip(panels.flat, targets, strict=False):
            _panel(axes, table[table["target"] == target])
            axes.set_title(shortened(target, 28))
        for axes in panels.flat[len(targets) :]:
            axes.remove()
        for axes in panels.flat[max(len(targets) - n_columns, 0) : len(targets)]:
            axes.set_xlabel("Accuracy (%)")  # nothing is drawn below
            axes.tick_params(labelbottom=True)
        set_note(figure, _NOTE)
    return figure


def _panel(axes: "Axes", rows: pd.DataFrame) -> None:
    predicted, low, high = (
        100 * rows[f"predicted{end}"].to_numpy(np.float64) for end in ("", "_low", "_high")
    )
    position = np.arange(len(rows))
    sizes = np.nan_to_num([predicted - low, high - predicted]).clip(0)
    axes.errorbar(
        predicted, position, xerr=sizes, fmt=ORIGINAL.marker, color=ORIGINAL.color, markersize=3,
        elinewidth=0.8,
    )  # fmt: skip
    base, true = (100 * float(rows[name].iloc[0]) for name in ("accuracy_base", "accuracy"))
    axes.axvline(base, **REFERENCE)
    if np.isfinite(true):
        axes.axvline(true, color=FITTED.color, linewidth=0.9)
    for row in np.flatnonzero(np.isnan(predicted)):
        axes.annotate("n/a", (0.02, row), xycoords=("axes fraction", "data"), va="center",
                      fontsize=NOTE_SIZE, color="0.4")  # fmt: skip
    names = [
        f"{title} ({variant.replace('_', ' ')})" if variant else title
        for title, variant in zip(rows["title"], rows["variant"], strict=True)
    ]
    axes.set_yticks(position, names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
