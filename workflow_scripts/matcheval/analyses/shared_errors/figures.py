"""The figure of shared errors: a similarity matrix of the models, in order of accuracy."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.analyses.shared_errors.tables import by_model
from matcheval.figures.style import COLUMN_WIDTH, new_figure, set_note, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMED = 40  # models that fit on the axes with their names


def plot(table: pd.DataFrame) -> "Figure":
    """Draw the matrix of the Jaccard indices of every two models' errors.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, of one dataset.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, the most accurate model at the top and on the left; the diagonal is empty.
    """
    models = by_model(table)["model"].tolist()
    at = {model: i for i, model in enumerate(models)}
    matrix = np.full((len(models), len(models)), np.nan)
    rows, columns = table["model"].map(at), table["other"].map(at)
    matrix[rows, columns] = matrix[columns, rows] = table["jaccard"]
    with style():
        figure = new_figure(1.4 * COLUMN_WIDTH, 1.3 * COLUMN_WIDTH)
        axes = figure.add_subplot()
        axes.grid(visible=False)
        low, high = 0.5, len(models) + 0.5
        image = axes.imshow(
            matrix, cmap="viridis", interpolation="nearest", extent=(low, high, high, low)
        )
        figure.colorbar(image, ax=axes, shrink=0.8, label="Jaccard index of the errors")
        ranks = range(1, len(models) + 1)
        if len(models) <= MOST_NAMED:
            axes.set_yticks(ranks, models)
            axes.set_xticks(ranks, models, rotation=90)
            axes.tick_params(labelsize=5, length=0)
        else:
            axes.set(xlabel="Rank of the model", ylabel="Rank of the model")
        figure.suptitle(f"{table['dataset'].iloc[0]}: {len(models)} models, most accurate first")
        mean, chance = table["jaccard"].mean(), table["jaccard_by_chance"].mean()
        set_note(figure, f"Mean over pairs of models {mean:.2f}, by chance {chance:.2f}.")
    return figure
