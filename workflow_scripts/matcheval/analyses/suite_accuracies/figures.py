"""Figure of the accuracies on the sets of a suite."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.figures.many_models import draw_rows
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import (
    MODELS,
    NOTE_SIZE,
    REFERENCE,
    legend_above,
    new_figure,
    set_title,
    shortened,
    style,
)
from matcheval.io.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _LEAST_ROW = 0.16, 0.105  # inches per set: of few, and of many
_MARGIN = 1.4
_PAGE, _HIGHEST = 9.5, 40.0  # inches


def plot(table: pd.DataFrame) -> "Figure":
    """Draw the accuracy of every model on every set, with the mean over models."""
    sets = table.groupby("dataset", sort=False)
    first, means = sets.first(), sets["accuracy_set"].mean()
    models = table["model"].nunique()
    row_height = np.clip((_PAGE - _MARGIN) / len(first), _LEAST_ROW, _ROW)
    base = sets["accuracy_base"].mean()  # it differs between sets where members name classes
    with style():
        figure = new_figure(5.5, min(_MARGIN + row_height * len(first), _HIGHEST))
        axes = figure.add_subplot()
        several = models > 1
        if several:
            values = (100 * of_set.to_numpy(np.float64) for _, of_set in sets["accuracy_set"])
            draw_rows(axes, dict(enumerate(values)), MODELS.color)
        label = "mean over models" if several else "the model"
        axes.plot(100 * means, range(len(means)), "k|", markersize=65 * row_height, label=label)
        axes.plot(
            100 * base,
            range(len(base)),
            label=f"{'mean ' * several}on {shortened(first['base'].iloc[0], 20)}",
            **REFERENCE,
        )
        groups = first["group"].tolist()
        for row in range(1, len(groups)):
            if groups[row] != groups[row - 1]:
                axes.axhline(row - 0.5, color="0.5", linewidth=0.5)
        axes.set_yticks(
            range(len(first)), [shortened(name) for name in first.index], fontsize=NOTE_SIZE
        )
        axes.set_ylim(len(first) - 0.5, -0.5)
        axes.set_xlabel("Accuracy (%)")
        legend_above(axes, ncols=3)
        set_title(
            figure, f"{table['suite'].iloc[0]}: accuracy on its sets, {counted(models, 'model')}"
        )
        fix_layout(figure)
    return figure
