"""The figure of the Gaussian model of difficulty: difficulties, skills and accuracies.

Recht et al. (2019), arXiv 1902.10811, section 5.3.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.analyses.difficulty.tables import Difficulty, expected_accuracy, skills
from matcheval.figures.many_models import point_options
from matcheval.figures.style import (
    COLUMN_WIDTH,
    FITTED,
    MODELS,
    ORIGINAL,
    REFERENCE,
    REPLICATION,
    SeriesStyle,
    legend_above,
    new_figure,
    set_title,
    shortened,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIMULATED = SeriesStyle("#009E73", "none", "x")
_REACH = 3.5  # half the width of a drawn density, in standard deviations


def plot_difficulty(results: pd.DataFrame, of_models: pd.DataFrame, row: pd.Series) -> "Figure":
    """Plot the difficulties of both sets, and observed accuracies against expected ones."""
    original, replication = (
        Difficulty(row[f"mu_{o}"], row[f"sigma_{o}"]) for o in ("original", "replication")
    )
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, COLUMN_WIDTH + 0.3)
        left, right = figure.subplots(1, 2)
        _draw_densities(
            left,
            {
                shortened(row["original"]): (original, ORIGINAL),
                shortened(row["replication"]): (replication, REPLICATION),
            },
        )
        left.plot(
            of_models["skill"], np.zeros(len(of_models)), "|", color=MODELS.color, label="skills",
            markersize=6, alpha=point_options(len(of_models))["alpha"], clip_on=False,
        )  # fmt: skip
        left.set(xlabel="Difficulty of an image, skill of a model", ylabel="Density")
        left.set_ylim(bottom=0)
        _draw_accuracies(right, results, of_models, original, replication)
        right.set(
            xlabel=f"Accuracy on {shortened(row['original'])} (%)",
            ylabel=f"Accuracy on {shortened(row['replication'])} (%)",
        )
        for axes in (left, right):
            legend_above(axes, ncols=2)
        set_title(
            figure,
            f"{row['pair']}: difficulties N({row['mu_replication']:.2f}, "
            f"{row['sigma_replication']:.2f}²) against N({row['mu_original']:g}, "
            f"{row['sigma_original']:g}²)",
        )
    return figure


def _draw_densities(axes: "Axes", sets: dict[str, tuple[Difficulty, SeriesStyle]]) -> None:
    for name, (difficulty, look) in sets.items():
        if not difficulty.sigma:  # all images are equally difficult
            axes.axvline(difficulty.mu, label=name, **look.line_options())
            continue
        x = difficulty.mu + difficulty.sigma * np.linspace(-_REACH, _REACH, 200)
        z = (x - difficulty.mu) / difficulty.sigma
        density = np.exp(-z * z / 2) / (difficulty.sigma * np.sqrt(2 * np.pi))
        axes.plot(x, density, label=name, **look.line_options())


def _draw_accuracies(
    axes: "Axes",
    results: pd.DataFrame,
    of_models: pd.DataFrame,
    original: Difficulty,
    replication: Difficulty,
) -> None:
    observed = 100 * results[["accuracy_original", "accuracy_replication"]].to_numpy(np.float64)
    low, high = max(observed.min() - 3, 0.1), min(observed.max() + 3, 99.9)
    axes.plot([low, high], [low, high], label="equal accuracy", **REFERENCE)
    x = np.linspace(low, high, 200)
    curve = 100 * expected_accuracy(skills(x / 100, original), replication)
    axes.plot(x, curve, label="model", **FITTED.line_options())
    # Rings around the crosses: simulated accuracies lie close to observed ones.
    look = point_options(len(results), size=7.0)
    size, alpha = look["markersize"], look["alpha"]
    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 0.11 * size}
    axes.plot(
        *observed.T, "o", color=MODELS.color, label="observed", markersize=size, alpha=alpha, **ring
    )
    simulated = 100 * of_models[["simulated_original", "simulated_replication"]].to_numpy()
    if np.isfinite(simulated).any():
        axes.plot(
            *simulated.T, _SIMULATED.marker, color=_SIMULATED.color, markersize=0.57 * size,
            markeredgewidth=0.11 * size, alpha=alpha, label="simulated",
        )  # fmt: skip
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
