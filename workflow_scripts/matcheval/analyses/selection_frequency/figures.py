"""The figure of accuracy by selection frequency: a line per model, and their mean.

Recht et al. (2019), arXiv 1902.10811, appendix C.4.7.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.style import (
    COLUMN_WIDTH,
    FITTED,
    MODELS,
    count,
    legend_above,
    new_figure,
    set_note,
    style,
)
from matcheval.io.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 30  # bins with fewer datapoints have hollow markers


def plot(table: pd.DataFrame) -> "Figure":
    """Plot accuracies against selection frequency, by bins.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, of one dataset; empty bins are left out.

    Returns
    -------
    matplotlib.figure.Figure
        Accuracies in percent at the centres of the bins; tick labels have the numbers of
        datapoints. Markers of the mean are hollow in bins with fewer than `FEW` datapoints.

    Raises
    ------
    InputError
        If all bins are empty.
    """
    filled = table[table["n_bin"] > 0]
    if filled.empty:
        raise InputError("no datapoints with a selection frequency to plot")
    with style():
        figure = new_figure(COLUMN_WIDTH, 2.6)
        axes = figure.add_subplot()
        for i, (_, of_model) in enumerate(filled.groupby("model", sort=False)):
            middle = (of_model["frequency_low"] + of_model["frequency_high"]) / 2
            axes.plot(
                middle, 100 * of_model["accuracy_bin"], color=MODELS.color, alpha=0.35,
                linewidth=0.6, label="a model" if i == 0 else "_",
            )  # fmt: skip
        mean = filled.groupby("bin")[["frequency_low", "frequency_high", "n_bin", "accuracy_bin"]]
        low, high, n, accuracy = mean.mean().to_numpy(np.float64).T
        middles = (low + high) / 2
        axes.plot(middles, 100 * accuracy, label="mean", **FITTED.line_options())
        for is_few, face in ((n < FEW, "white"), (n >= FEW, FITTED.color)):
            axes.plot(
                middles[is_few], 100 * accuracy[is_few], "o", color=FITTED.color,
                markerfacecolor=face,
            )  # fmt: skip
        ends = zip(low, high, n, strict=True)
        axes.set_xticks(middles, [f"{a:g}–{b:g}\nn = {count(m)}" for a, b, m in ends])
        axes.set(xlim=(0, 1), xlabel="Selection frequency", ylabel="Accuracy (%)")
        models = filled["model"].nunique()
        figure.suptitle(f"{filled['dataset'].iloc[0]}: {counted(models, 'model')}")
        legend_above(axes, ncols=2)
        if (n < FEW).any():
            set_note(figure, f"Hollow: fewer than {FEW} datapoints.")
    return figure
