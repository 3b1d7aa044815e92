"""Panels of points, one per method: scores, predictions and errors against accuracies or gaps."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.figures.results import (
    Floats,
    Results,
    of_way,
    way_text,
)
from matcheval.figures.many_models import point_options
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import (
    NOTE_SIZE,
    REFERENCE,
    enlarge_markers,
    grid_shape,
    new_figure,
    set_note,
    style,
)
from matcheval.io.text_tables import signed
from matcheval.statistics.lines import MIN_MODELS, fit_line
from matcheval.statistics.ranks import linear_correlation, rank_correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE, _COLUMNS = 1.65, 4  # inches; panels in a row
_MANY = 300  # points of a panel that are drawn as pixels


def plot_scores(results: Results, model: str = "") -> "Figure":
    """Draw scores against accuracies: P1, Figures 13 to 15; P2, Figures 2A, 7, 9 and 10."""
    rows = results.of(model).drop_duplicates(["model", "dataset", "method", "variant", "seed"])

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["score"].to_numpy(), 100 * part["accuracy"].to_numpy()
        _line(axes, x, y)
        spearman, _ = rank_correlations(x, y)
        return f"r = {signed(linear_correlation(x, y), 2)}, ρ = {signed(spearman, 2)}"

    return _grid(
        results, rows, [("score", 1), ("accuracy", 100)], draw, ("Score", "Accuracy (%)"),
        f"{_subject(model)} on a set. Lines are fitted to all points; r is Pearson's correlation, "
        "ρ Spearman's.", sharey=True,
    )  # fmt: skip


def plot_predictions(results: Results, way: Sequence[str], model: str = "") -> "Figure":
    """Draw predicted against actual gaps: P1, Figures 1 and 16 to 19."""
    rows = of_way(results.of(model), way)
    rows = rows.assign(
        predicted_gap=rows["accuracy_base"] - rows["predicted"],
        gap=rows["accuracy_base"] - rows["accuracy"],
    )

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = 100 * part["predicted_gap"].to_numpy(), 100 * part["gap"].to_numpy()
        axes.axline((0, 0), slope=1, **REFERENCE)
        if np.ptp(x) == 0:  # otherwise the axis would be magnified without end
            half = max(np.ptp(y), 1) / 2
            axes.set_xlim(x[0] - half, x[0] + half)
        _line(axes, x, y)
        total = ((y - y.mean()) ** 2).sum()
        r_squared = 1 - ((y - x) ** 2).sum() / total if total > 0 else np.nan
        r = np.corrcoef(x, y)[0, 1] if np.ptp(x) > 0 and total > 0 else np.nan
        mae = np.abs(y - x).mean()
        return f"MAE {mae:.1f}, R² = {signed(r_squared, 2)}, r² = {signed(r**2, 2)}"

    return _grid(
        results, rows, [("predicted_gap", 100), ("gap", 100)], draw,
        ("Predicted gap (points)", "Gap (points)"),
        f"{way_text(way)}. {_subject(model)} on a set. Dashed: equality; above it, the accuracy "
        "was overestimated. Solid: line fitted to the points. R² is that of the predictions, r² "
        "that of the line.",
        sharey=True,
    )  # fmt: skip


def plot_errors(results: Results, way: Sequence[str]) -> "Figure":
    """Draw errors against accuracies: P2, Figures 2B and 12."""
    rows = of_way(results.of(), way)

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["accuracy"].to_numpy(), part["error"].to_numpy()
        return f"mean {100 * y.mean():.1f}, ρ = {signed(rank_correlations(x, y)[0], 2)}"

    return _grid(
        results, rows, [("accuracy", 100), ("error", 100)], draw,
        ("Accuracy (%)", "Absolute error (points)"),
        f"{way_text(way)}. {_subject()} on a set; ρ is Spearman's correlation.",
        sharex=True, sharey=True,
    )  # fmt: skip


def _subject(model: str = "") -> str:
    return f"A point is {model}" if model else "A point is a model"


def _grid(
    results: Results,
    rows: pd.DataFrame,
    series: Sequence[tuple[str, float]],
    draw: Callable[["Axes", pd.DataFrame], str],
    labels: tuple[str, str],
    note: str,
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> "Figure":
    """Draw a panel per method, with what `draw` returns between its title and its points."""
    rows = rows[np.isfinite(rows[series[0][0]]) & np.isfinite(rows[series[1][0]])]
    methods = rows["title"].unique()
    n_rows, n_columns = grid_shape(len(methods), _COLUMNS)
    groups = {name: of for name, of in results.groups.items() if (rows["group"] == name).any()}
    with style():
        figure = new_figure(max(_SIDE * n_columns + 0.3, 2 * _SIDE), (_SIDE + 0.15) * n_rows + 0.6)
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=sharex, sharey=sharey)
        for axes in panels.flat[len(methods) :]:
            axes.remove()
        for number, (axes, method) in enumerate(zip(panels.flat, methods, strict=False)):
            part = rows[rows["title"] == method]
            _points(axes, part, groups, series)
            axes.set_title(method, pad=11)
            axes.annotate(
                draw(axes, part), (0.5, 1), xytext=(0, 2), textcoords="offset points", ha="center",
                va="bottom", xycoords="axes fraction", fontsize=NOTE_SIZE,
            )  # fmt: skip
            if number + n_columns >= len(methods):  # nothing is drawn below
                axes.set_xlabel(labels[0])
                axes.tick_params(labelbottom=True)
            for (name, _), side in zip(series, "xy", strict=True):
                if name == "accuracy":  # lines and margins end at 0 and 100 %
                    low, high = getattr(axes, f"get_{side}lim")()
                    axes.set(**{f"{side}lim": (max(low, 0), min(high, 100))})
        for axes in panels[:, 0]:
            axes.set_ylabel(labels[1])
        if len(groups) > 1:
            handles, names = panels[0, 0].get_legend_handles_labels()
            ncols = min(len(names), max(2, n_columns * 2))
            legend = figure.legend(handles, names, loc="outside upper center", ncols=ncols)
            enlarge_markers(legend)
        set_note(figure, note if len(methods) else f"{note} Nothing is predicted.")
        fix_layout(figure)
    return figure


def _points(
    axes: "Axes",
    part: pd.DataFrame,
    groups: Mapping[str, tuple[str, str]],
    series: Sequence[tuple[str, float]],
) -> None:
    """Draw the points of one method, in the colours and markers of the groups."""
    (x, x_scale), (y, y_scale) = series
    for group, (color, marker) in groups.items():
        of_group = part[part["group"] == group]
        axes.plot(
            x_scale * of_group[x], y_scale * of_group[y], marker, color=color,
            label=group or "no group", rasterized=len(part) > _MANY,
            **point_options(len(part), 3.0),
            zorder=2 + 1 / (1 + len(of_group)),  # small groups above large ones
        )  # fmt: skip


def _line(axes: "Axes", x: Floats, y: Floats) -> None:
    """Draw the line fitted to points, if they determine one."""
    if len(x) >= MIN_MODELS and np.ptp(x) > 0:
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, fit_line(x, y).at(ends), color="k", linewidth=0.9)
