"""Errors of predicted accuracies: by method, group, model and size of sets, and of two methods."""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction import drawing
from matcheval.accuracy_prediction.drawing import COLORS, Results
from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT, LEAVE_ONE_OUT, PROCEDURE
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.figures.many_models import point_options
from matcheval.figures.style import grid_shape, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR, _HEADS, _PANEL, _LABELS = 0.14, 0.75, 1.4, 1.2  # inches
_COLUMNS = 4  # panels in a row


def plot_errors(results: Results, procedure: Sequence[str]) -> "Figure":
    """Draw the mean absolute error of every method: P1, Figures 3, 6 to 8, 10 to 12, 21 to 23."""
    table = results.errors
    table = drawing.with_titles(table[(table["view"] == WHOLE) & (table["subgroup"] == ALL)])
    own = table[drawing.is_procedure(table, procedure)]
    is_direct = procedure[0] == DIRECT
    groups = [g for g in dict.fromkeys(own.loc[np.isfinite(own["mae"]), "group"]) if g != ALL]
    if len(groups) > 1 and procedure[0] != CALIBRATED:
        groups.append(ALL)
    block = own if is_direct else pd.concat([table[table["protocol"] == DIRECT], own])
    block = block[block["group"].isin(groups)]
    keys = block[["protocol", "title"]].drop_duplicates()
    shape = n_rows, n_columns = grid_shape(len(groups), _COLUMNS)
    text = drawing.procedure_text(procedure) + (". " if groups else ": nothing is predicted. ")
    if not is_direct:
        text += "Grey: without a regression, on the same sets. "
    level = f"{100 * block['confidence'].iloc[0]:g} % " if len(block) else ""
    text += f"Lines: {level}bootstrap intervals over pairs of model and set. n: fewer sets."
    width, height = _LABELS + _PANEL * max(n_columns, 2), n_rows * (_BAR * len(keys) + _HEADS) + 0.3
    with drawing.drawing(width, height, text) as figure:
        panels = drawing.add_panels(figure, len(groups), shape, sharey=True)
        for axes, group in zip(panels, groups, strict=True):
            _panel(axes, keys.merge(block[block["group"] == group], how="left"), group)
    return figure


def _panel(axes: "Axes", rows: pd.DataFrame, group: str) -> None:
    position, n_sets = np.arange(len(rows)), rows["n_sets"].to_numpy(np.float64)
    error, low, high = (
        100 * rows[name].to_numpy(np.float64) for name in ("mae", "mae_rows_low", "mae_rows_high")
    )
    is_direct = (rows["protocol"] == DIRECT).to_numpy()
    color = np.where(is_direct & ~is_direct.all(), drawing.GREY, COLORS[0])
    axes.barh(position, error, color=color, height=0.7)
    sizes = drawing.error_sizes(error, low, high)
    axes.errorbar(error, position, xerr=sizes, fmt="none", ecolor="k", elinewidth=0.6)
    notes = dict.fromkeys(np.flatnonzero(np.isnan(error)), (2, "n/a"))
    fewer = np.isfinite(error) & (n_sets < np.nanmax(n_sets, initial=0))
    notes |= {row: (12, f"n = {n_sets[row]:g}") for row in np.flatnonzero(fewer)}
    for row, (offset, text) in notes.items():
        place = (np.nan_to_num(error[row]), row)
        drawing.add_note(axes, text, place, xytext=(offset, 0), textcoords="offset points")
    drawing.add_names(axes, rows["title"])
    axes.set_xlim(left=0)
    axes.set_title("all sets" if group == ALL else shortened(group, 24) or "no group")
    axes.set_xlabel("Mean error (points)")
    axes.grid(visible=False, axis="y")


_ROW, _MARGIN = 0.17, 0.9  # inches
_MOST_NAMED = 45  # models
_MOST_VIEWS = 60  # in a figure


def plot_models(results: Results) -> "Figure":
    """Draw every model's mean error, by method: P2, Figure 3A; and by model: Figure 4B."""
    means = _mean_errors(results.rows())
    by_method = [(str(name), part.to_numpy()) for name, part in means.groupby("title", sort=False)]
    by_model = _mean_errors(results.whole).groupby("model", sort=False).agg(["mean", "std"])
    by_model = by_model.sort_values("mean", kind="stable")
    is_named = len(by_model) <= _MOST_NAMED
    counts = [len(by_method), len(by_model) if is_named else _MOST_NAMED]
    note = (
        f"{_procedure_of(results.whole)}. Left: quartiles over models; whiskers reach to the last "
        "model within 1.5 times their distance."
    )
    with drawing.drawing(6.8, _MARGIN + _ROW * max(counts), note) as figure:
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
        names = [shortened(str(name)) for name in by_model.index]
        *_, (bars,) = right.errorbar(
            by_model["mean"], np.arange(len(names)), xerr=by_model["std"].fillna(0), fmt="o",
            elinewidth=0.6, color=COLORS[0], **point_options(len(names)),
        )  # fmt: skip
        if is_named:
            drawing.add_names(right, names)
        else:
            right.set_ylim(len(names) - 0.4, -0.6)
            bars.set_alpha(0.3)
            right.set_ylabel("Model, by increasing mean error")
        right.set_xlabel("Mean ± SD over methods (points)")
        left.set_ylim(len(by_method) + 0.6, 0.4)
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
    compared = _on_sets_of(rows, ticks[-2]) if sizes else rows  # of the largest size
    errors = _by_view(compared).reindex(columns=ticks)
    note = f"{_procedure_of(rows)}. {compared['dataset'].nunique()} sets, the same at all sizes."
    with drawing.drawing(5.5, max(3.2, 0.14 * len(errors) + 0.6), note) as figure:
        axes = figure.add_subplot()
        for number, (method, by_view) in enumerate(errors.iterrows()):
            axes.plot(
                range(len(ticks)), by_view, color=COLORS[number % len(COLORS)],
                marker="osv^DPX"[number // len(COLORS) % 7],
                linestyle=("-", "--", ":")[number // len(COLORS) % 3], label=method,
            )  # fmt: skip
        axes.set_xticks(range(len(ticks)), [tick.removeprefix("n=") for tick in ticks])
        axes.set_xlabel("Datapoints per set")
        axes.set_ylabel("Mean error (points)")
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside right upper")
    return figure


def plot_missing_classes(results: Results) -> "Figure":
    """Draw how errors change when classes are missing from all sets: P2, Figure 3C."""
    rows = _counted(results)
    views = [view for view in dict.fromkeys(rows["view"]) if view.startswith("without ")]
    titles = list(rows["title"].unique())
    changes = []
    for view in views:
        errors = _by_view(_on_sets_of(rows, view)).reindex(titles)
        changes.append(errors[view] - errors[WHOLE])
    change = np.stack(changes, axis=1)
    sizes = np.abs(np.nan_to_num(change)).mean(axis=0)
    shown = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_VIEWS])
    note = f"{_procedure_of(rows)}. Errors without some classes minus errors with all."
    if len(shown) < len(views):
        note += f" The {len(shown)} of {len(views)} with the largest mean change."
    return drawing.heat_map(
        change[:, shown], [views[i].removeprefix("without ") for i in shown], titles,
        (2.6 + 0.13 * len(shown), 1.7 + max(_ROW * len(titles), 0.9)), "Change (points)", note,
        limit=np.abs(np.nan_to_num(change)).max(initial=0) or 1.0, xlabel="Missing classes",
    )  # fmt: skip


def _counted(results: Results) -> pd.DataFrame:
    """Return predictions on sets and on their parts by one protocol, of models in the means."""
    return _one_procedure(drawing.with_titles(results.of(results.predicted)))


def _on_sets_of(rows: pd.DataFrame, view: str) -> pd.DataFrame:
    """Select the sets for which a view exists; small or single-class sets may lack it."""
    return rows[rows["dataset"].isin(rows.loc[rows["view"] == view, "dataset"])]


def _procedure_of(rows: pd.DataFrame) -> str:
    return drawing.procedure_text(_one_procedure(rows)[PROCEDURE].iloc[0].tolist())


def _one_procedure(rows: pd.DataFrame) -> pd.DataFrame:
    """Select leave-one-out predictions, or else direct ones, or else the first regression's."""
    for protocol in (LEAVE_ONE_OUT, DIRECT):
        if (is_shown := rows["protocol"] == protocol).any():
            return rows[is_shown]
    return rows[drawing.is_procedure(rows, rows[PROCEDURE].iloc[0].tolist())]


def _mean_errors(rows: pd.DataFrame) -> "pd.Series[float]":
    """Mean error in points, by method and model."""
    means = _one_procedure(rows).groupby(["title", "model"], sort=False)["error"].mean()
    return 100 * means


def _by_view(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean error in points over sets, then models: a row per method, a column per view."""
    by_model = rows.groupby(["title", "view", "model"], sort=False)["error"].mean()
    means = by_model.reset_index().pivot_table("error", "title", "view", sort=False)
    return 100 * means.reindex(rows["title"].unique())


_PAIR, _PAIR_MARGIN, _WIDTH = 0.14, 0.95, 3.4  # inches
PAIRS = 50  # in a panel
BY = {"dataset": "set", "subgroup": "subgroup", "model": "model"}


def plot_two_methods(
    results: Results, first: str, second: str, by: str, procedure: Sequence[str]
) -> "Figure":
    """Draw the mean errors of two methods as pairs of points joined by lines."""
    rows = drawing.by_procedure(results.whole if by == "model" else results.rows(), procedure)
    errors, titles = _errors(rows, (first, second), by)
    n_panels = max(1, -(-len(errors) // PAIRS))
    size = -(-len(errors) // n_panels)
    direct = set(rows.loc[rows["protocol"] == DIRECT, "title"])
    plain = [title for title in titles if title in direct]
    note = f"{drawing.procedure_text(procedure)}."
    if procedure[0] != DIRECT and plain:
        note += f" {', '.join(plain)}: no regression."
    width, height = _WIDTH * n_panels + 0.9 * (n_panels == 1), _PAIR_MARGIN + _PAIR * size
    with drawing.drawing(width, height, f"{note} Both on the same sets and models.") as figure:
        panels = figure.subplots(1, n_panels, squeeze=False, sharex=True)[0]
        for number, axes in enumerate(panels):
            part = errors.iloc[number * size : (number + 1) * size]
            position, values = np.arange(len(part)), 100 * part.to_numpy()
            axes.hlines(position, *values.T, color="0.7", linewidth=0.8)
            for value, title, color, marker in zip(values.T, titles, COLORS, "os", strict=False):
                axes.plot(value, position, marker, color=color, label=title)
            drawing.add_names(axes, [shortened(str(name)) for name in part.index], size)
            axes.set_xlabel(f"Mean error by {BY[by]} (points)")
        panels[0].set_xlim(0, 104 * errors.to_numpy().max(initial=0) or 1)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _errors(rows: pd.DataFrame, methods: Sequence[str], by: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the mean errors, a column per method, of rows that have both; and the titles."""
    rows = rows[rows["method"].isin(methods) & (rows["variant"] == "") & rows["error"].notna()]
    titles = [rows.loc[rows["method"] == method, "title"].iloc[0] for method in methods]
    if by == "subgroup":
        names = rows["subgroup"].where(rows["subgroup"] != "", rows["group"])
        rows = rows.assign(subgroup=names.where(names != "", "no name"))
    keys = list(dict.fromkeys([by, "model", "dataset"]))
    cells = rows.pivot_table("error", keys, "method", sort=False).dropna()
    order = [name for name in dict.fromkeys(rows[by]) if name in cells.index.get_level_values(by)]
    return cells.groupby(level=by).mean().loc[order, list(methods)], titles
