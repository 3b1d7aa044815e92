"""The figure of accuracy by selection frequency: a line per model, and their mean.

Recht et al. (2019), arXiv 1902.10811, appendix C.4.7.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.many_models import draw_curves
from matcheval.figures.style import (
    COLUMN_WIDTH,
    FITTED,
    MODELS,
    count,
    legend_above,
    new_figure,
    set_note,
    set_title,
    style,
)
from matcheval.io.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_UPRIGHT = 5  # labels of bins, with their sizes, that fit beside each other
FEW = 30  # bins with fewer datapoints have hollow markers


def plot(table: pd.DataFrame) -> "Figure":
    """Plot accuracies against selection frequency, by bins."""
    filled = table[table["n_bin"] > 0]
    if filled.empty:
        raise InputError("no datapoints with a selection frequency to plot")
    with style():
        figure = new_figure(COLUMN_WIDTH, 2.6)
        axes = figure.add_subplot()
        curves = 100 * filled.pivot_table("accuracy_bin", "model", "bin", dropna=False)
        models = len(curves)
        mean = filled.groupby("bin")[["frequency_low", "frequency_high", "n_bin", "accuracy_bin"]]
        low, high, n, accuracy = mean.mean().to_numpy(np.float64).T
        middles = (low + high) / 2
        if models > 1:  # a single model is the mean
            draw_curves(axes, middles, curves.to_numpy(np.float64), MODELS.color)
        label = "mean over models" if models > 1 else "the model"
        axes.plot(middles, 100 * accuracy, label=label, **FITTED.line_options())
        for is_few, face in ((n < FEW, "white"), (n >= FEW, FITTED.color)):
            axes.plot(
                middles[is_few], 100 * accuracy[is_few], "o", color=FITTED.color,
                markerfacecolor=face,
            )  # fmt: skip
        ends = zip(low, high, n, strict=True)
        axes.set_xticks(
            middles, [f"{a:g}–{b:g}\nn = {count(m)}" for a, b, m in ends],
            rotation=90 if len(middles) > _MOST_UPRIGHT else 0,
        )  # fmt: skip
        axes.set(xlim=(0, 1), xlabel="Selection frequency", ylabel="Accuracy (%)")
        dataset, n_models = filled["dataset"].iloc[0], counted(models, "model")
        set_title(figure, f"{dataset}: accuracy by selection frequency, {n_models}")
        legend_above(axes, ncols=2)
        if (n < FEW).any():
            set_note(figure, f"Hollow: fewer than {FEW} datapoints.")
    return figure
