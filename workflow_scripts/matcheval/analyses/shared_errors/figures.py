"""The figure of shared errors: a similarity matrix of the models, in order of accuracy."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.analyses.shared_errors.tables import by_model
from matcheval.figures.style import (
    COLUMN_WIDTH,
    NOTE_SIZE,
    new_figure,
    set_note,
    set_title,
    shortened,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMED = 40  # models that fit on the axes with their names
_ROW, _LEAST, _MOST = 0.13, 1.2, 4.0  # inches: of a model's row, and of the matrix
_AROUND, _CHARACTER = 1.1, 0.05  # inches: colour bar and title; a character of a name


def plot(table: pd.DataFrame) -> "Figure":
    """Draw the matrix of the Jaccard indices of every two models' errors."""
    models = by_model(table)["model"].tolist()
    at = {model: i for i, model in enumerate(models)}
    matrix = np.full((len(models), len(models)), np.nan)
    rows, columns = table["model"].map(at), table["other"].map(at)
    matrix[rows, columns] = matrix[columns, rows] = table["jaccard"]
    is_named = len(models) <= MOST_NAMED
    names = [f"{shortened(model)}  {rank}" for rank, model in enumerate(models, 1)]
    side = float(np.clip(_ROW * len(models), _LEAST, _MOST))
    room = _CHARACTER * max(map(len, names)) if is_named else 0.4
    with style():
        figure = new_figure(max(side + room + _AROUND, COLUMN_WIDTH), side + _AROUND)
        axes = figure.add_subplot()
        axes.grid(visible=False)
        low, high = 0.5, len(models) + 0.5
        image = axes.imshow(
            matrix, cmap="viridis", interpolation="nearest", extent=(low, high, high, low)
        )
        figure.colorbar(image, ax=axes, shrink=0.8, label="Jaccard index of the errors")
        if is_named:
            axes.set_yticks(range(1, len(models) + 1), names, fontsize=NOTE_SIZE)
            axes.set_xticks(range(1, len(models) + 1, 1 + len(models) // 20))
            axes.tick_params(length=0)
        else:
            axes.set(ylabel="Rank of the model")
        axes.set_xlabel("Rank of the model")
        set_title(figure, f"{table['dataset'].iloc[0]}: {len(models)} models, most accurate first")
        mean, chance = table["jaccard"].mean(), table["jaccard_by_chance"].mean()
        set_note(figure, f"Mean over pairs of models {mean:.2f}, by chance {chance:.2f}.")
    return figure
