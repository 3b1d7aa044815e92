"""How errors vary: over models, over methods, with the size of the sets, without some classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.figures.results import COLORS, Results, with_titles
from matcheval.accuracy_prediction.predicting import DIRECT, LEAVE_ONE_OUT
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import NOTE_SIZE, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _MARGIN = 0.17, 0.7  # inches


def plot_models(results: Results) -> "Figure":
    """Draw every model's mean error, by method: P2, Figure 3A; and by model: Figure 4B.

    Parameters
    ----------
    results : Results

    Returns
    -------
    matplotlib.figure.Figure
        Left, boxes over models (quartiles, whiskers to 1.5 times their distance). Right, for every
        model mean and standard deviation over methods.
    """
    means = _mean_errors(results.whole)
    by_method = [(name, part.to_numpy()) for name, part in means.groupby("title", sort=False)]
    by_model = means.groupby("model", sort=False).agg(["mean", "std"])
    with style():
        height = _MARGIN + _ROW * max(len(by_method), len(by_model))
        figure = new_figure(7.0, height)
        left, right = figure.subplots(1, 2)
        left.boxplot(
            [values[np.isfinite(values)] for _, values in by_method], vert=False, widths=0.6,
            flierprops={"markersize": 2}, medianprops={"color": COLORS[1]},
        )  # fmt: skip
        left.set_yticks(np.arange(1, len(by_method) + 1), [name for name, _ in by_method])
        left.invert_yaxis()
        left.set_xlabel("Mean absolute error of a model (points)")
        position = np.arange(len(by_model))
        right.errorbar(
            by_model["mean"], position, xerr=by_model["std"].fillna(0), fmt="o", elinewidth=0.6
        )
        right.set_yticks(position, by_model.index.tolist())
        right.invert_yaxis()
        right.set_xlabel("Mean ± SD over methods (points)")
        fix_layout(figure)
    return figure


def plot_sizes(results: Results) -> "Figure":
    """Draw errors against the number of datapoints of the sets: P2, Figure 4A.

    Parameters
    ----------
    results : Results
        With views of the form `n=500`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = _one_way(with_titles(results.predicted))
    sizes = sorted({int(view[2:]) for view in rows["view"] if view.startswith("n=")})
    ticks = [*(f"n={size}" for size in sizes), WHOLE]
    return _lines(rows, ticks, [*map(str, sizes), "all"], "Datapoints per set")


def plot_missing_classes(results: Results) -> "Figure":
    """Draw how errors change when classes are missing from all sets: P2, Figure 3C.

    Parameters
    ----------
    results : Results
        With views of the form `without cat`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = _one_way(with_titles(results.predicted))
    views = [view for view in dict.fromkeys(rows["view"]) if view.startswith("without ")]
    errors = _by_view(rows)
    methods = list(dict.fromkeys(rows["title"]))
    with style():
        figure = new_figure(min(1.5 + 0.16 * len(views), 12.0), _MARGIN + _ROW * len(methods) + 0.8)
        axes = figure.add_subplot()
        change = np.array(
            [
                [errors[m].get(v, np.nan) - errors[m].get(WHOLE, np.nan) for v in views]
                for m in methods
            ]
        )
        limit = np.nanmax(np.abs(change)) if np.isfinite(change).any() else 1.0
        image = axes.imshow(change, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
        axes.set_xticks(
            np.arange(len(views)), [v.removeprefix("without ") for v in views], rotation=90,
            fontsize=NOTE_SIZE,
        )  # fmt: skip
        axes.set_yticks(np.arange(len(methods)), methods)
        axes.grid(visible=False)
        figure.colorbar(image, label="Change of the error (points)")
        axes.set_xlabel("Missing classes")
        fix_layout(figure)
    return figure


def _one_way(rows: pd.DataFrame) -> pd.DataFrame:
    """Return predictions left out one by one where there are any, else those without regression."""
    protocols = set(rows["protocol"])
    chosen = LEAVE_ONE_OUT if LEAVE_ONE_OUT in protocols else DIRECT
    return rows[rows["protocol"] == chosen]


def _mean_errors(rows: pd.DataFrame) -> "pd.Series[float]":
    """Mean error in points, by method and model."""
    means = _one_way(rows).groupby(["title", "model"], sort=False)["error"].mean()
    return 100 * means


def _by_view(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Mean error in points over sets, then models, by method, by view."""
    by_model = rows.groupby(["title", "view", "model"], sort=False)["error"].mean()
    means = 100 * by_model.groupby(level=["title", "view"], sort=False).mean()
    found: dict[str, dict[str, float]] = {}
    for row in means.reset_index().itertuples(index=False, name=None):
        title, view, value = row
        found.setdefault(title, {})[view] = float(value)
    return found


def _lines(rows: pd.DataFrame, views: Sequence[str], ticks: Sequence[str], label: str) -> "Figure":
    errors = _by_view(rows)
    with style():
        figure = new_figure(5.0, 3.0)
        axes = figure.add_subplot()
        for number, (method, by_view) in enumerate(errors.items()):
            axes.plot(
                range(len(views)), [by_view.get(view, np.nan) for view in views],
                color=COLORS[number % len(COLORS)], marker="osv^DPX"[number // len(COLORS) % 7],
                label=method,
            )  # fmt: skip
        axes.set_xticks(range(len(views)), list(ticks))
        axes.set_xlabel(label)
        axes.set_ylabel("Mean absolute error (points)")
        figure.legend(loc="outside right upper")
        fix_layout(figure)
    return figure
