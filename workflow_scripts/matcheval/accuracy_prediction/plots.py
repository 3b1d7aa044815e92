"""Drawings of many methods: bars, points, pairs, matrices and curves of the tables of a suite."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.errors import ALL, place_name
from matcheval.accuracy_prediction.predicting import DIRECT, PROCEDURE, titles
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.accuracy_prediction.tables import tabulate_rankings
from matcheval.figures import forms, style
from matcheval.figures.forms import FEW_MODELS, Series, drawing, name_rows
from matcheval.io.text_tables import signed
from matcheval.statistics.lines import MIN_MODELS, fit_line, linear_correlation, rank_correlations

Floats = npt.NDArray[np.float64]
# Of Okabe and Ito, for groups of sets; markers differ, too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#b5b5b5"
_MANY = 300  # points of a panel that are drawn as pixels
_ROW = 0.17  # inches
_COLUMNS = 4  # panels in a row


@dataclass(frozen=True)
class Results:
    """Tables of one suite, and the models that means over models leave out."""

    predicted: pd.DataFrame
    errors: pd.DataFrame
    correlations: pd.DataFrame
    excluded_from_mean: tuple[str, ...] = ()

    @property
    def whole(self) -> pd.DataFrame:
        """Predictions on whole sets, not subsets, with a column `title` of methods."""
        return _add_titles(self.predicted[self.predicted["view"] == WHOLE])

    def rows(self, model: str = "", procedure: Sequence[str] = ()) -> pd.DataFrame:
        """Return predictions on whole sets, of one model or all in means, by a procedure or all."""
        rows = self.of_model(self.whole, model)
        return _select_procedure(rows, procedure) if procedure else rows

    @property
    def groups(self) -> dict[str, tuple[str, str]]:
        """Colour and marker of every group of sets, in order."""
        return colors_and_markers(dict.fromkeys(self.predicted["group"]))

    def of_model(self, table: pd.DataFrame, model: str = "") -> pd.DataFrame:
        """Return the rows of one model, or if none is named, of all models that enter means."""
        models = table["model"]
        return table[models == model if model else ~models.isin(self.excluded_from_mean)]


def _add_titles(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `title`: what readers call each row's method."""
    return table.assign(title=titles(table))


def _has_procedure(rows: pd.DataFrame, procedure: Sequence[str]) -> "pd.Series[bool]":
    return (rows[PROCEDURE] == list(procedure)).all(axis=1)


def _select_procedure(rows: pd.DataFrame, procedure: Sequence[str]) -> pd.DataFrame:
    """Select predictions by a procedure, and direct ones of other methods on the same sets."""
    chosen = rows[_has_procedure(rows, procedure)]
    direct = rows[(rows["protocol"] == DIRECT) & rows["dataset"].isin(chosen["dataset"])]
    return pd.concat([chosen, direct[~direct["title"].isin(chosen["title"])]], ignore_index=True)


def _how(procedure: Sequence[str]) -> str:
    """Return in words how predictions were made, beginning with a capital."""
    text = predicting.procedure_label(*procedure)
    return text[:1].upper() + text[1:]


def colors_and_markers(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a marker for each name; no two names have the same pair."""
    n = len(COLORS)
    return {
        name: (COLORS[i % n], _MARKERS[(i + i // n) % len(_MARKERS)])
        for i, name in enumerate(names)
    }


def draw_methods(axes: "style.Axes", rows: pd.DataFrame, series: Series, **look: Any) -> None:
    """Draw a row per method: a value with its interval; `look` are options of `errorbar`."""
    forms.intervals(axes, rows, [series], **look)
    for row in np.flatnonzero(rows[series.column].isna()):
        _add_note(axes, "n/a", (0.02, row), xycoords=("axes fraction", "data"))
    name_rows(axes, titles(rows))
    axes.grid(visible=False, axis="y")


def _add_note(axes: "style.Axes", text: str, place: tuple[Any, Any], **options: Any) -> None:
    axes.annotate(text, place, va="center", fontsize=style.NOTE_SIZE, color="0.4", **options)


# --- Errors

_MEAN_ERROR = Series("mae", style.SeriesStyle("k", "-", "none"), bounds="mae_rows")


def plot_errors(results: Results, procedure: Sequence[str]) -> "style.Figure":
    """Draw bars of all methods' mean errors: P1, Figures 3, 6 to 8, 10 to 12, 21 to 23."""
    table = results.errors
    table = table[(table["view"] == WHOLE) & (table["subgroup"] == ALL)]
    own = table[_has_procedure(table, procedure)]
    is_direct = procedure[0] == DIRECT
    groups = [g for g in dict.fromkeys(own.loc[np.isfinite(own["mae"]), "group"]) if g != ALL]
    if len(groups) > 1 and procedure[0] != predicting.CALIBRATED:
        groups.append(ALL)
    block = own if is_direct else pd.concat([table[table["protocol"] == DIRECT], own])
    block = block[block["group"].isin(groups)]
    methods = block[["protocol", "method", "variant"]].drop_duplicates()
    n_rows, n_columns = style.grid_shape(len(groups), _COLUMNS)
    note = _how(procedure) + (". " if groups else ": nothing is predicted. ")
    if not is_direct:
        note += "Grey: without a regression, on the same sets. "
    level = f"{100 * block['confidence'].iloc[0]:g} % " if len(block) else ""
    note += f"Lines: {level}bootstrap intervals over pairs of model and set. n: fewer sets."
    width, height = 1.2 + 1.4 * max(n_columns, 2), n_rows * (0.14 * len(methods) + 0.75) + 0.3
    with drawing(width, height, "", note) as figure:
        panels = forms.panels(figure, len(groups), _COLUMNS, sharex=False)
        for axes, group in zip(panels, groups, strict=True):
            rows = methods.merge(block[block["group"] == group], how="left")
            draw_methods(axes, rows, _MEAN_ERROR, elinewidth=0.6)
            error = 100 * rows["mae"].to_numpy()
            is_grey = ~is_direct & (rows["protocol"] == DIRECT)
            colors = np.where(is_grey, GREY, COLORS[0])
            axes.barh(np.arange(len(rows)), error, color=colors, height=0.7)
            fewer = np.isfinite(error) & (rows["n_sets"] < rows["n_sets"].max())
            for row in np.flatnonzero(fewer):
                text, beside = f"n = {rows['n_sets'][row]:g}", {"textcoords": "offset points"}
                _add_note(axes, text, (error[row], row), xytext=(12, 0), **beside)
            axes.set_title("all sets" if group == ALL else style.shortened(group, 24) or "no group")
            axes.set_xlim(left=0)
            axes.set_xlabel("Mean error (points)")
    return figure


def plot_models(results: Results) -> "style.Figure":
    """Draw models' mean errors by method, and their means over methods: P2, Figures 3A, 4B."""
    means = _mean_errors(results.rows())
    by_method = {
        str(name): np.asarray(part, np.float64) for name, part in means.groupby("title", sort=False)
    }
    by_model = _mean_errors(results.whole).groupby("model", sort=False).agg(["mean", "std"])
    by_model = by_model.sort_values("mean", kind="stable")
    n_rows = max(len(by_method), min(len(by_model), FEW_MODELS))
    shown = "a point per model" if means.index.unique("model").size <= FEW_MODELS else forms.SPREAD
    note = f"{_default_how(results.whole)}. Left: {shown}."
    with drawing(6.8, 0.9 + _ROW * n_rows, "", note) as figure:
        left, right = figure.subplots(1, 2)
        forms.draw_rows(left, dict(enumerate(by_method.values())), COLORS[0])
        name_rows(left, list(by_method))
        left.set_xlabel("Mean error of a model (points)")
        right.errorbar(
            by_model["mean"], np.arange(len(by_model)), xerr=by_model["std"].fillna(0), fmt="o",
            elinewidth=0.6, color=COLORS[0], **forms.point_options(len(by_model)),
        )  # fmt: skip
        name_rows(right, list(by_model.index), "Model, by increasing mean error")
        right.set_xlabel("Mean ± SD over methods (points)")
    return figure


def plot_sizes(results: Results) -> "style.Figure":
    """Draw errors against the number of datapoints of the sets: P2, Figure 4A."""
    rows = _rows_with_subsets(results)
    sizes = sorted({int(view[2:]) for view in rows["view"] if view.startswith("n=")})
    ticks = [*(f"n={size}" for size in sizes), WHOLE]
    compared = _select_sets_with_view(rows, ticks[-2]) if sizes else rows  # of the largest size
    errors = _mean_errors_by_view(compared).reindex(columns=ticks)
    n_sets = compared["dataset"].nunique()
    note = f"{_default_how(rows)}. {n_sets} sets, the same at all sizes."
    with drawing(5.5, max(3.2, 0.14 * len(errors) + 0.6), "", note) as figure:
        axes = figure.add_subplot()
        for number, (method, by_view) in enumerate(errors.iterrows()):
            turn, color = divmod(number, len(COLORS))
            axes.plot(
                range(len(ticks)), by_view, color=COLORS[color], marker=_MARKERS[turn % 7],
                linestyle=("-", "--", ":")[turn % 3], label=method,
            )  # fmt: skip
        axes.set_xticks(range(len(ticks)), [tick.removeprefix("n=") for tick in ticks])
        axes.set(xlabel="Datapoints per set", ylabel="Mean error (points)")
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside right upper")
    return figure


def plot_missing_classes(results: Results) -> "style.Figure":
    """Draw a heat map: how each method's error changes without some classes; P2, Figure 3C."""
    rows = _rows_with_subsets(results)
    views = [view for view in dict.fromkeys(rows["view"]) if view.startswith("without ")]
    methods = list(rows["title"].unique())
    changes = []
    for view in views:
        errors = _mean_errors_by_view(_select_sets_with_view(rows, view)).reindex(methods)
        changes.append(errors[view] - errors[WHOLE])
    change = np.stack(changes, axis=1)
    note = f"{_default_how(rows)}. Errors without some classes minus errors with all."
    columns = [view.removeprefix("without ") for view in views]
    limit = np.abs(np.nan_to_num(change)).max(initial=0) or 1.0
    return _heat_map(change, columns, methods, "Change (points)", note, limit)


def _rows_with_subsets(results: Results) -> pd.DataFrame:
    """Return predictions on sets and their subsets by the default procedure, of models in means."""
    return _select_default_procedure(_add_titles(results.of_model(results.predicted)))


def _select_sets_with_view(rows: pd.DataFrame, view: str) -> pd.DataFrame:
    """Select the rows of sets that have a view; small or single-class sets may lack it."""
    return rows[rows["dataset"].isin(rows.loc[rows["view"] == view, "dataset"])]


def _select_default_procedure(rows: pd.DataFrame) -> pd.DataFrame:
    """Select leave-one-out predictions, or else direct ones, or else the first regression's."""
    for protocol in (predicting.LEAVE_ONE_OUT, DIRECT):
        if (is_shown := rows["protocol"] == protocol).any():
            return rows[is_shown]
    return rows[_has_procedure(rows, rows[PROCEDURE].iloc[0].tolist())]


def _default_how(rows: pd.DataFrame) -> str:
    """Return in words how the predictions by the default procedure were made."""
    return _how(_select_default_procedure(rows)[PROCEDURE].iloc[0].tolist())


def _mean_errors(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return mean errors in points by the default procedure, by method and model."""
    rows = _select_default_procedure(rows)
    return 100 * rows.groupby(["title", "model"], sort=False)["error"].mean()


def _mean_errors_by_view(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean errors in points over sets, then models: a row per method, a column per view."""
    by_model = rows.groupby(["title", "view", "model"], sort=False)["error"].mean()
    means = by_model.reset_index().pivot_table("error", "title", "view", sort=False)
    return 100 * means.reindex(rows["title"].unique())


_MOST_PAIRS = 50  # in a panel


def plot_two_methods(
    results: Results, first: str, second: str, by: str, procedure: Sequence[str]
) -> "style.Figure":
    """Draw two methods' mean errors as paired points, a row per set, subgroup or model.

    P1, Figures 4, 5, 9 and 20.
    """
    rows = _select_procedure(results.whole if by == "model" else results.rows(), procedure)
    errors = _paired_errors(rows, [first, second], by)
    n_panels = max(1, -(-len(errors) // _MOST_PAIRS))
    size = -(-len(errors) // n_panels)
    note = f"{_how(procedure)}. Both on the same sets and models."
    direct = set(rows.loc[rows["protocol"] == DIRECT, "title"])
    if procedure[0] != DIRECT and (plain := [str(name) for name in errors if name in direct]):
        note += f" {', '.join(plain)}: no regression."
    with drawing(3.4 * n_panels + 0.9 * (n_panels == 1), 0.95 + 0.14 * size, "", note) as figure:
        panels = figure.subplots(1, n_panels, squeeze=False, sharex=True)[0]
        for number, axes in enumerate(panels):
            part = errors.iloc[number * size : (number + 1) * size]
            position, values = np.arange(len(part)), 100 * part.to_numpy().T
            axes.hlines(position, *values, color="0.7", linewidth=0.8)
            for value, title, color, marker in zip(values, errors, COLORS, "os", strict=False):
                axes.plot(value, position, marker, color=color, label=title)
            name_rows(axes, list(part.index))
            axes.set_ylim(size - 0.4, -0.6)
            axes.set_xlabel(f"Mean error by {by.replace('dataset', 'set')} (points)")
        panels[0].set_xlim(0, 104 * errors.to_numpy().max(initial=0) or 1)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _paired_errors(rows: pd.DataFrame, methods: Sequence[str], by: str) -> pd.DataFrame:
    """Return mean errors on what both methods predict: a row per `by`, a column per method."""
    rows = rows[rows["method"].isin(methods) & (rows["variant"] == "")]
    title_of = dict(zip(rows["method"], rows["title"], strict=True))
    if by == "subgroup":
        names = rows["subgroup"].where(rows["subgroup"] != "", rows["group"])
        rows = rows.assign(subgroup=names.where(names != "", "no name"))
    keys = list(dict.fromkeys([by, "model", "dataset"]))
    columns = [title_of[method] for method in methods]
    errors = rows.pivot_table("error", keys, "title", sort=False).reindex(columns=columns).dropna()
    order = [name for name in dict.fromkeys(rows[by]) if name in errors.index.get_level_values(by)]
    return errors.groupby(level=by).mean().loc[order]


# --- Points against accuracies and gaps


def plot_scores(results: Results, model: str = "") -> "style.Figure":
    """Draw accuracies by score, a panel of points per method.

    P1, Figures 13 to 15; P2, Figures 2A, 7, 9 and 10.
    """
    rows = results.rows(model).drop_duplicates(["model", "dataset", "method", "variant", "seed"])

    def draw(axes: "style.Axes", x: Floats, y: Floats) -> str:
        """Draw the fitted line, and return the correlations as a text."""
        draw_line(axes, x, y)
        return f"r = {signed(linear_correlation(x, y), 2)}, {_rho(x, y)}"

    return _plot_points(
        results, rows, {"score": ("Score", 1), "accuracy": ("Accuracy (%)", 100)}, draw,
        f"{_begin_note(model)} on a set. Lines are fitted to all points; r is Pearson's "
        "correlation, ρ Spearman's.",
    )  # fmt: skip


def plot_predictions(results: Results, procedure: Sequence[str], model: str = "") -> "style.Figure":
    """Draw true gaps by predicted gap, a panel per method: P1, Figures 1 and 16 to 19."""
    rows = results.rows(model, procedure)
    rows = rows.assign(
        predicted_gap=rows["accuracy_base"] - rows["predicted"],
        gap=rows["accuracy_base"] - rows["accuracy"],
    )

    def draw(axes: "style.Axes", x: Floats, y: Floats) -> str:
        """Draw the diagonal and the fitted line, and return error, R² and r² as a text."""
        axes.axline((0, 0), slope=1, **style.REFERENCE)
        if np.ptp(x) == 0:  # otherwise the axis would be magnified without end
            half = max(np.ptp(y), 1) / 2
            axes.set_xlim(x[0] - half, x[0] + half)
        draw_line(axes, x, y)
        total = ((y - y.mean()) ** 2).sum()
        squares = {}
        if total > 0:
            squares["R²"] = 1 - ((y - x) ** 2).sum() / total
            if np.ptp(x) > 0:
                squares["r²"] = np.corrcoef(x, y)[0, 1] ** 2
        texts = [f"{name} = {signed(value, 2)}" for name, value in squares.items()]
        return ", ".join([f"MAE {np.abs(y - x).mean():.1f}", *texts])

    return _plot_points(
        results, rows,
        {"predicted_gap": ("Predicted gap (points)", 100), "gap": ("Gap (points)", 100)}, draw,
        f"{_how(procedure)}. {_begin_note(model)} on a set. Dashed: equality; above it, the "
        "accuracy was overestimated. Solid: line fitted to the points. R² is that of the "
        "predictions, r² that of the line.",
    )  # fmt: skip


def plot_errors_by_accuracy(results: Results, procedure: Sequence[str]) -> "style.Figure":
    """Draw absolute errors by accuracy, a panel per method: P2, Figures 2B and 12."""
    return _plot_points(
        results, results.rows(procedure=procedure),
        {"accuracy": ("Accuracy (%)", 100), "error": ("Absolute error (points)", 100)},
        lambda axes, x, y: f"mean {y.mean():.1f}, {_rho(x, y)}",
        f"{_how(procedure)}. {_begin_note()} on a set; ρ is Spearman's correlation.",
    )  # fmt: skip


def _begin_note(model: str = "") -> str:
    """Say that a point is a model, or which one if a figure is of one, to begin a note."""
    return f"A point is {model}" if model else "A point is a model"


def _rho(x: Floats, y: Floats) -> str:
    """Format Spearman's correlation of x and y."""
    return f"ρ = {signed(rank_correlations(x, y)[0], 2)}"


def draw_line(axes: "style.Axes", x: Floats, y: Floats, color: str = "k") -> None:
    """Draw the least-squares line of points, if they determine one."""
    if len(x) >= MIN_MODELS and np.ptp(x) > 0:
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, fit_line(x, y).at(ends), color=color, linewidth=0.9)


def _plot_points(
    results: Results, rows: pd.DataFrame, series: Mapping[str, tuple[str, float]],
    draw: Callable[["style.Axes", Floats, Floats], str], note: str,
) -> "style.Figure":  # fmt: skip
    """Draw a panel of points per method, with the text that `draw` returns below its title.

    `series` has label and scale of the columns that are drawn, x and y.
    """
    rows = rows[np.isfinite(rows[[*series]].to_numpy()).all(axis=1)]
    xlabel, ylabel = (label for label, _ in series.values())
    methods = rows["title"].unique()
    groups = {name: look for name, look in results.groups.items() if name in set(rows["group"])}
    n_rows, n_columns = style.grid_shape(len(methods), _COLUMNS)
    note = note if len(methods) else f"{note} Nothing is predicted."
    with drawing(max(1.65 * n_columns + 0.3, 3.3), 1.8 * n_rows + 0.6, "", note) as figure:
        is_shared = xlabel.startswith("Accuracy")
        panels = forms.panels(figure, len(methods), _COLUMNS, xlabel, sharex=is_shared)
        for axes, method in zip(panels, methods, strict=True):
            of_method = rows[rows["title"] == method]
            points = of_method[[*series]] * [scale for _, scale in series.values()]
            for group, (color, marker) in groups.items():
                part = points[of_method["group"] == group]
                axes.plot(
                    *part.to_numpy().T, marker, color=color, label=group or "no group",
                    rasterized=len(points) > _MANY, zorder=2 + 1 / (1 + len(part)),
                    **forms.point_options(len(points), 3.0),
                )  # fmt: skip
            axes.set_title(method, pad=11)
            axes.annotate(
                draw(axes, *points.to_numpy().T), (0.5, 1), xytext=(0, 2), ha="center",
                va="bottom", textcoords="offset points", xycoords="axes fraction",
                fontsize=style.NOTE_SIZE,
            )  # fmt: skip
            for name, side in zip(series, "xy", strict=True):
                if name == "accuracy":  # lines and margins end at 0 and 100 %
                    low, high = getattr(axes, f"get_{side}lim")()
                    axes.set(**{f"{side}lim": (max(low, 0), min(high, 100))})
        for axes in panels[::n_columns]:
            axes.set_ylabel(ylabel)
        if len(groups) > 1:
            handles, names = panels[0].get_legend_handles_labels()
            ncols = min(len(names), max(2, n_columns * 2))
            legend = figure.legend(handles, names, loc="outside upper center", ncols=ncols)
            style.enlarge_markers(legend)
    return figure


# --- Matrices of correlations

MAX_PLACES = 40  # with more, groups only
_MOST_NUMBERED = 16  # columns of a matrix with numbers
Place = tuple[str, str]


def plot_correlations(results: Results, model: str) -> "style.Figure":
    """Draw a heat map of Spearman's ρ of scores and accuracies, by group of sets: P2, Figure 11."""
    table = _add_titles(results.of_model(results.correlations, model))
    table = table[table["view"] == WHOLE]
    wide = table.pivot_table("spearman", "title", ["group", "subgroup"], sort=False)
    methods = list(dict.fromkeys(table["title"]))
    places = _limit_places(wide.columns)
    values = wide.reindex(index=methods, columns=places).to_numpy()
    note = f"Scores and accuracies; {model}. Empty: undefined."
    return _heat_map(values, _place_names(places), methods, "Spearman's ρ", note)


def plot_rankings(results: Results, procedure: Sequence[str]) -> "style.Figure":
    """Draw a heat map of rank correlations of methods' errors on every two groups: P2, A.2."""
    rankings = tabulate_rankings(results.errors[_has_procedure(results.errors, procedure)])
    firsts, seconds = (
        list(zip(rankings[f"group_{n}"], rankings[f"subgroup_{n}"], strict=True)) for n in (1, 2)
    )
    places = _limit_places(
        dict.fromkeys(place for pair in zip(firsts, seconds, strict=True) for place in pair)
    )
    order = {place: number for number, place in enumerate(places)}
    values = np.full((len(places), len(places)), np.nan)
    coefficients = rankings[["spearman", "kendall"]].to_numpy()
    for first, second, (rho, tau) in zip(firsts, seconds, coefficients, strict=True):
        if first in order and second in order:
            low, high = sorted((order[first], order[second]))
            values[low, high], values[high, low] = rho, tau
    note = (
        f"{_how(procedure)}. Correlations of the methods' errors, above the diagonal "
        "Spearman's ρ, below Kendall's τ-b. Empty: not compared."
    )
    return _heat_map(values, _place_names(places), _place_names(places), "Correlation", note)


def _limit_places(places: Any) -> list[Place]:
    """Return sorted places, groups before their subgroups; only groups if there are too many."""
    order = list(dict.fromkeys(group for group, _ in places))
    ordered = sorted(places, key=lambda place: (order.index(place[0]), place[1] != ALL))
    if len(ordered) <= MAX_PLACES:
        return ordered
    return [place for place in ordered if place[1] == ALL]


def _place_names(places: Sequence[Place]) -> list[str]:
    return [style.shortened(place_name(*place).removesuffix(" (points)")) for place in places]


def _heat_map(
    values: Floats, columns: Sequence[str], rows: Sequence[str], label: str, note: str,
    limit: float = 1.0,
) -> "style.Figure":  # fmt: skip
    """Draw a matrix in colours from blue to red, with its numbers if there are few columns."""
    is_numbered = len(columns) <= _MOST_NUMBERED
    across, down = (0.1 + 0.056 * max(map(len, names), default=0) for names in (rows, columns))
    width = across + 0.8 + max((0.28 if is_numbered else 0.125) * len(columns), 1.5)
    with drawing(max(width, 3.0), down + 0.6 + max(_ROW * len(rows), 0.9), "", note) as figure:
        axes = figure.add_subplot()
        number = (lambda value: signed(value, 2)) if is_numbered else None
        forms.heat_map(axes, values, rows, columns, label, limit=limit, number=number)
        axes.tick_params(axis="x", rotation=90)
    return figure
