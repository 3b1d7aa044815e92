"""Panels of points, one per method: scores, predictions and errors against accuracies or gaps."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.figures.results import Results
from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.reading import how
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import FITTED, NOTE_SIZE, REFERENCE, new_figure, set_note, style
from matcheval.statistics.lines import MIN_MODELS, fit_line
from matcheval.statistics.ranks import rank_correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE, _COLUMNS = 1.75, 4  # inches; panels in a row
_KEYS = ["protocol", "regressor", "calibrated_on"]
Floats = npt.NDArray[np.float64]


def plot_scores(results: Results) -> "Figure":
    """Draw scores against accuracies: P1, Figures 13 to 15; P2, Figures 2A, 7, 9 and 10.

    Parameters
    ----------
    results : Results

    Returns
    -------
    matplotlib.figure.Figure
        A panel per method: a point per model and set, the line fitted to all, Pearson's r and
        Spearman's ρ over all points.
    """
    rows = results.whole.drop_duplicates(["model", "dataset", "method", "variant", "seed"])

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["score"].to_numpy(), 100 * part["accuracy"].to_numpy()
        _line(axes, x, y)
        pearson = np.corrcoef(x, y)[0, 1] if np.ptp(x) > 0 and np.ptp(y) > 0 else np.nan
        return f"r = {pearson:.2f}, ρ = {rank_correlations(x, y)[0]:.2f}"

    return _grid(
        results, rows, [("score", 1), ("accuracy", 100)], draw, ("Score", "Accuracy (%)"),
        "A point is a model on a set; the line is fitted to all points.",
    )  # fmt: skip


def plot_predictions(results: Results, way: Sequence[str]) -> "Figure":
    """Draw predicted against actual gaps: P1, Figures 1 and 16 to 19.

    Parameters
    ----------
    results : Results
    way : sequence of str
        `protocol`, `regressor` and `calibrated_on`.

    Returns
    -------
    matplotlib.figure.Figure
        A panel per method: the line of equality dashed, mean absolute error, and R² of the
        predictions, which may be negative. Above the line, accuracy was overestimated.
    """
    rows = _of_way(results.whole, way)
    rows = rows.assign(
        predicted_gap=rows["accuracy_base"] - rows["predicted"],
        gap=rows["accuracy_base"] - rows["accuracy"],
    )

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = 100 * part["predicted_gap"].to_numpy(), 100 * part["gap"].to_numpy()
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        axes.plot(ends, ends, **REFERENCE)
        _line(axes, x, y)
        total = ((y - y.mean()) ** 2).sum()
        r_squared = 1 - ((y - x) ** 2).sum() / total if total > 0 else np.nan
        return f"MAE {np.abs(y - x).mean():.1f}, R² = {r_squared:.2f}"

    return _grid(
        results, rows, [("predicted_gap", 100), ("gap", 100)], draw,
        ("Predicted gap (points)", "Gap (points)"),
        f"{how(rows.iloc[0].to_dict()).capitalize()}. Dashed: equality; above it, the accuracy "
        "was overestimated. R² is that of the predictions.",
    )  # fmt: skip


def plot_errors(results: Results, way: Sequence[str]) -> "Figure":
    """Draw errors against accuracies: P2, Figures 2B and 12.

    Parameters
    ----------
    results : Results
    way : sequence of str
        As for `plot_predictions`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = _of_way(results.whole, way)

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["accuracy"].to_numpy(), part["error"].to_numpy()
        return f"mean {100 * y.mean():.1f}, ρ = {rank_correlations(x, y)[0]:.2f}"

    return _grid(
        results, rows, [("accuracy", 100), ("error", 100)], draw,
        ("Accuracy (%)", "Absolute error (points)"), f"{how(rows.iloc[0].to_dict()).capitalize()}.",
    )  # fmt: skip


def ways(results: Results) -> list[tuple[str, str, str]]:
    """Return the ways of predicting that use a regression; direct predictions if there are none.

    Parameters
    ----------
    results : Results

    Returns
    -------
    list of tuple of str
        Protocol, regressor and groups calibrated on.
    """
    keys = results.predicted[_KEYS].drop_duplicates().itertuples(index=False, name=None)
    every = [(str(a), str(b), str(c)) for a, b, c in keys]
    return [way for way in every if way[0] != DIRECT] or every


def _of_way(rows: pd.DataFrame, way: Sequence[str]) -> pd.DataFrame:
    """Return predictions of one way, and those without a regression on the same sets."""
    own = rows[(rows[_KEYS] == list(way)).all(axis=1)]
    direct = rows[(rows["protocol"] == DIRECT) & rows["dataset"].isin(own["dataset"])]
    known = own[["method", "variant"]].drop_duplicates()
    is_own = direct.set_index(["method", "variant"]).index.isin(pd.MultiIndex.from_frame(known))
    return pd.concat([own, direct[~is_own]], ignore_index=True)


def _grid(
    results: Results,
    rows: pd.DataFrame,
    series: Sequence[tuple[str, float]],
    draw: Callable[["Axes", pd.DataFrame], str],
    labels: tuple[str, str],
    note: str,
) -> "Figure":
    """Draw a panel per method."""
    (x, x_scale), (y, y_scale) = series
    rows = rows[np.isfinite(rows[x]) & np.isfinite(rows[y])]
    methods = rows["title"].unique()
    n_columns = max(1, min(_COLUMNS, len(methods)))
    n_rows = max(1, -(-len(methods) // n_columns))
    with style():
        figure = new_figure(_SIDE * n_columns + 0.3, (_SIDE + 0.1) * n_rows + 0.5)
        panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes in panels[len(methods) :]:
            axes.set_visible(False)
        for axes, method in zip(panels, methods, strict=False):
            part = rows[rows["title"] == method]
            for group, (color, marker) in results.groups.items():
                of_group = part[part["group"] == group]
                axes.plot(
                    x_scale * of_group[x], y_scale * of_group[y], marker, color=color,
                    markersize=1.8, alpha=0.5, markeredgewidth=0, label=group or "no group",
                    rasterized=len(rows) > 5000,
                )  # fmt: skip
            text = draw(axes, part)
            axes.set_title(method)
            box = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 1}
            axes.annotate(
                text, (0.03, 0.03), xycoords="axes fraction", fontsize=NOTE_SIZE, bbox=box
            )
        figure.supxlabel(labels[0])
        figure.supylabel(labels[1])
        if len(results.groups) > 1:
            handles, names = panels[0].get_legend_handles_labels()
            legend = figure.legend(handles, names, loc="outside upper center", ncols=len(names))
            for handle in legend.legend_handles:
                handle.set(alpha=1, markersize=3)  # type: ignore[union-attr]
        figure.text(0.01, 0.0, note, fontsize=NOTE_SIZE, color="#444444", va="bottom")
        set_note(figure, "")
        fix_layout(figure)
    return figure


def _line(axes: "Axes", x: Floats, y: Floats) -> None:
    """Draw the line fitted to points, if they determine one."""
    if len(x) >= MIN_MODELS and np.ptp(x) > 0:
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, fit_line(x, y).at(ends), linewidth=0.8, **FITTED.line_options())
