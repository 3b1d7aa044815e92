"""Errors of predicted accuracies: by method, group, model and size of sets, and of two methods."""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.drawing import (
    COLORS,
    WAY,
    Results,
    add_heat_map,
    drawing,
    of_way,
    way_text,
    with_titles,
)
from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT, LEAVE_ONE_OUT
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.figures.many_models import point_options
from matcheval.figures.style import NOTE_SIZE, grid_shape, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR, _HEADS, _PANEL, _LABELS = 0.14, 0.75, 1.4, 1.2  # inches
_COLUMNS = 4  # panels in a row
_GREY, _BLUE = "#b5b5b5", "#0072B2"


def plot_errors(results: Results, way: Sequence[str]) -> "Figure":
    """Draw the mean absolute error of every method: P1, Figures 3, 6 to 8, 10 to 12, 21 to 23."""
    table = results.errors
    table = with_titles(table[(table["view"] == WHOLE) & (table["subgroup"] == ALL)])
    own = table[(table[WAY] == list(way)).all(axis=1)]
    predicted = own[np.isfinite(own["mae"])]
    groups = [group for group in dict.fromkeys(predicted["group"]) if group != ALL]
    if len(groups) > 1 and way[0] != CALIBRATED:
        groups.append(ALL)
    block = own if way[0] == DIRECT else pd.concat([table[table["protocol"] == DIRECT], own])
    block = block[block["group"].isin(groups)]
    keys = block[["protocol", "title"]].drop_duplicates()
    n_rows, n_columns = grid_shape(len(groups), _COLUMNS)
    text = f"{way_text(way)}. " if groups else f"{way_text(way)}: nothing is predicted. "
    if way[0] != DIRECT:
        text += "Grey: without a regression, on the same sets. "
    level = f"{100 * block['confidence'].iloc[0]:g} % " if len(block) else ""
    text += f"Lines: {level}bootstrap intervals over pairs of model and set. n: fewer sets."
    width, height = _LABELS + _PANEL * max(n_columns, 2), n_rows * (_BAR * len(keys) + _HEADS) + 0.3
    with drawing(width, height, text) as figure:
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True)
        for axes, group in zip(panels.flat, groups, strict=False):
            _panel(axes, keys.merge(block[block["group"] == group], how="left"), group)
        for axes in panels.flat[len(groups) :]:
            axes.remove()
    return figure


def _panel(axes: "Axes", rows: pd.DataFrame, group: str) -> None:
    position = np.arange(len(rows))
    error, low, high = (
        100 * rows[name].to_numpy(np.float64) for name in ("mae", "mae_rows_low", "mae_rows_high")
    )
    is_direct = (rows["protocol"] == DIRECT).to_numpy()
    color = np.where(is_direct & ~is_direct.all(), _GREY, _BLUE)
    axes.barh(position, error, color=color, height=0.7)
    sizes = np.nan_to_num([error - low, high - error])
    axes.errorbar(error, position, xerr=sizes.clip(0), fmt="none", ecolor="k", elinewidth=0.6)
    for row in np.flatnonzero(np.isnan(error)):
        axes.annotate("n/a", (0, row), xytext=(2, 0), textcoords="offset points", va="center",
                      fontsize=NOTE_SIZE, color="0.4")  # fmt: skip
    n_sets = rows["n_sets"].to_numpy(np.float64)
    for row in np.flatnonzero(np.isfinite(error) & (n_sets < np.nanmax(n_sets, initial=0))):
        axes.annotate(f"n = {n_sets[row]:g}", (error[row], row), xytext=(12, 0), va="center",
                      textcoords="offset points", fontsize=NOTE_SIZE, color="0.4")  # fmt: skip
    axes.set_yticks(position, list(rows["title"]))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_title("all sets" if group == ALL else shortened(group, 24) or "no group")
    axes.set_xlabel("Mean error (points)")
    axes.grid(visible=False, axis="y")


_ROW, _MARGIN = 0.17, 0.9  # inches
_MOST_NAMED = 45  # models
_MOST_VIEWS = 60  # in a figure


def plot_models(results: Results) -> "Figure":
    """Draw every model's mean error, by method: P2, Figure 3A; and by model: Figure 4B."""
    means = _mean_errors(results.of())
    by_method = [(str(name), part.to_numpy()) for name, part in means.groupby("title", sort=False)]
    by_model = _mean_errors(results.whole).groupby("model", sort=False).agg(["mean", "std"])
    by_model = by_model.sort_values("mean", kind="stable")
    is_named = len(by_model) <= _MOST_NAMED
    counts = [len(by_method), len(by_model) if is_named else _MOST_NAMED]
    note = (
        f"{_way_of(results.whole)}. Left: quartiles over models; whiskers reach to the last model "
        "within 1.5 times their distance."
    )
    with drawing(6.8, _MARGIN + _ROW * max(counts), note) as figure:
        # Rows are of the same height in both panels; below the shorter one is nothing.
        ratios = [min(counts), max(counts) - min(counts)]
        grid = figure.add_gridspec(
            1 + bool(ratios[1]), 2, height_ratios=ratios[: 1 + bool(ratios[1])]
        )
        left, right = (
            figure.add_subplot(grid[0 if count == min(counts) else slice(None), column])
            for column, count in enumerate(counts)
        )
        thin = {"linewidth": 0.6}
        left.boxplot(
            [values[np.isfinite(values)] for _, values in by_method], widths=0.6, **_sideways(left),
            boxprops=thin, whiskerprops=thin, capprops=thin,
            flierprops={"markersize": 2, "markeredgewidth": 0.5},
            medianprops={"color": COLORS[1], "linewidth": 1.0},
        )  # fmt: skip
        left.set_yticks(np.arange(1, len(by_method) + 1), [name for name, _ in by_method])
        left.set_xlabel("Mean error of a model (points)")
        position = np.arange(len(by_model))
        *_, (bars,) = right.errorbar(
            by_model["mean"], position, xerr=by_model["std"].fillna(0), fmt="o", elinewidth=0.6,
            color=COLORS[0], **point_options(len(by_model)),
        )  # fmt: skip
        if is_named:
            right.set_yticks(position, [shortened(str(name)) for name in by_model.index])
        else:
            bars.set_alpha(0.3)
            right.set_ylabel("Model, by increasing mean error")
        right.set_xlabel("Mean ± SD over methods (points)")
        left.set_ylim(len(by_method) + 0.6, 0.4)
        right.set_ylim(len(by_model) - 0.4, -0.6)
    return figure


def _sideways(axes: "Axes") -> dict[str, Any]:
    """Return the argument that draws boxes sideways, which matplotlib renamed in 3.10."""
    if "orientation" in inspect.signature(axes.boxplot).parameters:
        return {"orientation": "horizontal"}
    return {"vert": False}


def plot_sizes(results: Results) -> "Figure":
    """Draw errors against the number of datapoints of the sets: P2, Figure 4A."""
    rows = _counted(results)
    sizes = sorted({int(view[2:]) for view in rows["view"] if view.startswith("n=")})
    ticks = [*(f"n={size}" for size in sizes), WHOLE]
    counts = rows.groupby("view")["dataset"].nunique()
    labels = [
        f"{name}\n({counts.get(view, 0)} sets)"
        for name, view in zip([*map(str, sizes), "all"], ticks, strict=True)
    ]
    errors = _by_view(rows)
    with drawing(5.5, max(3.2, 0.14 * len(errors) + 0.6), f"{_way_of(rows)}.") as figure:
        axes = figure.add_subplot()
        for number, (method, by_view) in enumerate(errors.items()):
            axes.plot(
                range(len(ticks)), [by_view.get(view, np.nan) for view in ticks],
                color=COLORS[number % len(COLORS)], marker="osv^DPX"[number // len(COLORS) % 7],
                linestyle=("-", "--", ":")[number // len(COLORS) % 3], label=method,
            )  # fmt: skip
        axes.set_xticks(range(len(ticks)), labels)
        axes.set_xlabel("Datapoints per set (sets that have more)")
        axes.set_ylabel("Mean error (points)")
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside right upper")
    return figure


def plot_missing_classes(results: Results) -> "Figure":
    """Draw how errors change when classes are missing from all sets: P2, Figure 3C."""
    rows = _counted(results)
    views = [view for view in dict.fromkeys(rows["view"]) if view.startswith("without ")]
    errors = _by_view(rows)
    methods = list(errors)
    change = np.array(
        [[errors[m].get(v, np.nan) - errors[m].get(WHOLE, np.nan) for v in views] for m in methods]
    )
    sizes = np.abs(np.nan_to_num(change)).mean(axis=0)
    shown = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_VIEWS])
    note = f"{_way_of(rows)}. Errors without some classes minus errors with all."
    if len(shown) < len(views):
        note += f" The {len(shown)} of {len(views)} with the largest mean change."
    with drawing(2.6 + 0.13 * len(shown), 1.7 + max(_ROW * len(methods), 0.9), note) as figure:
        add_heat_map(
            figure, change[:, shown], [views[i].removeprefix("without ") for i in shown], methods,
            np.abs(np.nan_to_num(change)).max(initial=0) or 1.0, "Change (points)",
        ).set_xlabel("Missing classes")  # fmt: skip
    return figure


def _counted(results: Results) -> pd.DataFrame:
    """Return predictions of models that count, on all parts of sets, made in one way."""
    rows = results.predicted
    return _one_way(with_titles(rows[~rows["model"].isin(results.uncounted)]))


def _way_of(rows: pd.DataFrame) -> str:
    return "Leave one set out" if LEAVE_ONE_OUT in set(rows["protocol"]) else "No regression"


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


_PAIR, _PAIR_MARGIN, _WIDTH = 0.14, 0.95, 3.4  # inches
PAIRS = 50  # in a panel
BY = {"dataset": "set", "subgroup": "subgroup", "model": "model"}


def plot_two_methods(
    results: Results, first: str, second: str, by: str, way: Sequence[str]
) -> "Figure":
    """Draw the errors of two methods, joined by a line: the longer, the more they differ."""
    rows = of_way(results.whole if by == "model" else results.of(), way)
    errors, titles = _errors(rows, (first, second), by)
    n_panels = max(1, -(-len(errors) // PAIRS))
    size = -(-len(errors) // n_panels)
    direct = set(rows.loc[rows["protocol"] == DIRECT, "title"])
    plain = [title for title in titles if title in direct]
    note = f"{way_text(way)}."
    if way[0] != DIRECT and plain:
        note += f" {', '.join(plain)}: no regression."
    width, height = _WIDTH * n_panels + 0.9 * (n_panels == 1), _PAIR_MARGIN + _PAIR * size
    with drawing(width, height, f"{note} Both on the same sets and models.") as figure:
        panels = figure.subplots(1, n_panels, squeeze=False, sharex=True)[0]
        for number, axes in enumerate(panels):
            part = errors.iloc[number * size : (number + 1) * size]
            position, values = np.arange(len(part)), 100 * part.to_numpy()
            axes.hlines(position, *values.T, color="0.7", linewidth=0.8)
            for value, title, color, marker in zip(values.T, titles, COLORS, "os", strict=False):
                axes.plot(value, position, marker, color=color, label=title)
            axes.set_yticks(position, [shortened(str(name)) for name in part.index])
            axes.set_ylim(size - 0.4, -0.6)
            axes.set_xlabel(f"Mean error by {BY[by]} (points)")
        panels[0].set_xlim(0, 104 * errors.to_numpy().max(initial=0) or 1)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _errors(rows: pd.DataFrame, methods: Sequence[str], by: str) -> tuple[pd.DataFrame, list[str]]:
    """Return mean errors, a column per method, where both are known; and titles."""
    rows = rows[rows["method"].isin(methods) & (rows["variant"] == "") & rows["error"].notna()]
    titles = [rows.loc[rows["method"] == method, "title"].iloc[0] for method in methods]
    if by == "subgroup":
        names = rows["subgroup"].where(rows["subgroup"] != "", rows["group"])
        rows = rows.assign(subgroup=names.where(names != "", "no name"))
    keys = list(dict.fromkeys([by, "model", "dataset"]))
    cells = rows.pivot_table("error", keys, "method", sort=False).dropna()
    order = [name for name in dict.fromkeys(rows[by]) if name in cells.index.get_level_values(by)]
    return cells.groupby(level=by).mean().loc[order, list(methods)], titles
