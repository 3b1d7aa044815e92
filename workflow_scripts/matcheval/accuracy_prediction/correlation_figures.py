"""Points and matrices: scores, errors and gaps against accuracies; correlations of all of these."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction import drawing
from matcheval.accuracy_prediction.drawing import Floats, Results
from matcheval.accuracy_prediction.errors import ALL, tabulate_rankings
from matcheval.accuracy_prediction.gaps import join
from matcheval.accuracy_prediction.predicting import DIRECT, PROCEDURE
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.accuracy_prediction.tables import how, place_name
from matcheval.figures.style import NOTE_SIZE, REFERENCE, grid_shape, shortened
from matcheval.io.text_tables import signed
from matcheval.statistics.lines import MIN_MODELS, fit_line
from matcheval.statistics.ranks import linear_correlation, rank_correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE, _COLUMNS = 1.65, 4  # inches; panels in a row


def plot_scores(results: Results, model: str = "") -> "Figure":
    """Draw scores against accuracies: P1, Figures 13 to 15; P2, Figures 2A, 7, 9 and 10."""
    rows = results.rows(model).drop_duplicates(["model", "dataset", "method", "variant", "seed"])

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["score"].to_numpy(), 100 * part["accuracy"].to_numpy()
        _line(axes, x, y)
        return f"r = {signed(linear_correlation(x, y), 2)}, {_rho(x, y)}"

    return _grid(
        results, rows, {"score": ("Score", 1), "accuracy": ("Accuracy (%)", 100)}, draw,
        f"{_subject(model)} on a set. Lines are fitted to all points; r is Pearson's correlation, "
        "ρ Spearman's.",
    )  # fmt: skip


def plot_predictions(results: Results, procedure: Sequence[str], model: str = "") -> "Figure":
    """Draw predicted against actual gaps: P1, Figures 1 and 16 to 19."""
    rows = results.rows(model, procedure)
    rows = rows.assign(
        predicted_gap=rows["accuracy_base"] - rows["predicted"],
        gap=rows["accuracy_base"] - rows["accuracy"],
    )

    labels = {"predicted_gap": ("Predicted gap (points)", 100), "gap": ("Gap (points)", 100)}

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = (100 * part[name].to_numpy() for name in labels)
        axes.axline((0, 0), slope=1, **REFERENCE)
        if np.ptp(x) == 0:  # otherwise the axis would be magnified without end
            half = max(np.ptp(y), 1) / 2
            axes.set_xlim(x[0] - half, x[0] + half)
        _line(axes, x, y)
        total = ((y - y.mean()) ** 2).sum()
        r_squared = 1 - ((y - x) ** 2).sum() / total if total > 0 else np.nan
        r = np.corrcoef(x, y)[0, 1] if np.ptp(x) > 0 and total > 0 else np.nan
        mae = np.abs(y - x).mean()
        squares = {"R²": r_squared, "r²": r**2}
        defined = [f"{name} = {signed(v, 2)}" for name, v in squares.items() if np.isfinite(v)]
        return ", ".join([f"MAE {mae:.1f}", *defined])

    return _grid(
        results, rows, labels, draw,
        f"{drawing.procedure_text(procedure)}. {_subject(model)} on a set. Dashed: equality; above "
        "it, the accuracy was overestimated. Solid: line fitted to the points. R² is that of the "
        "predictions, r² that of the line.",
    )  # fmt: skip


def plot_errors_by_accuracy(results: Results, procedure: Sequence[str]) -> "Figure":
    """Draw errors against accuracies: P2, Figures 2B and 12."""

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        return f"mean {100 * part['error'].mean():.1f}, {_rho(part['accuracy'], part['error'])}"

    return _grid(
        results, results.rows(procedure=procedure),
        {"accuracy": ("Accuracy (%)", 100), "error": ("Absolute error (points)", 100)}, draw,
        f"{drawing.procedure_text(procedure)}. {_subject()} on a set; ρ is Spearman's correlation.",
        sharex=True,
    )  # fmt: skip


def _subject(model: str = "") -> str:
    return f"A point is {model}" if model else "A point is a model"


def _rho(x: npt.ArrayLike, y: npt.ArrayLike) -> str:
    return f"ρ = {signed(rank_correlations(x, y)[0], 2)}"


def _grid(
    results: Results, rows: pd.DataFrame, series: Mapping[str, tuple[str, float]],
    draw: Callable[["Axes", pd.DataFrame], str], note: str, *, sharex: bool = False,
) -> "Figure":  # fmt: skip
    """Draw a panel per method, with what `draw` returns between its title and its points.

    `series` has label and scale of the columns that are drawn, x and y.
    """
    rows = rows[np.isfinite(rows[[*series]].to_numpy()).all(axis=1)]
    (xlabel, _), (ylabel, _) = series.values()
    x, y = ((name, scale) for name, (_, scale) in series.items())
    methods = rows["title"].unique()
    shape = n_rows, n_columns = grid_shape(len(methods), _COLUMNS)
    groups = {name: of for name, of in results.groups.items() if (rows["group"] == name).any()}
    note = note if len(methods) else f"{note} Nothing is predicted."
    width, height = max(_SIDE * n_columns + 0.3, 2 * _SIDE), (_SIDE + 0.15) * n_rows + 0.6
    with drawing.drawing(width, height, note) as figure:
        panels = drawing.add_panels(figure, len(methods), shape, xlabel, sharex=sharex, sharey=True)
        for axes, method in zip(panels, methods, strict=True):
            part = rows[rows["title"] == method]
            drawing.add_points(axes, groups, part, x, y, small_on_top=True)
            axes.set_title(method, pad=11)
            axes.annotate(
                draw(axes, part), (0.5, 1), xytext=(0, 2), textcoords="offset points", ha="center",
                va="bottom", xycoords="axes fraction", fontsize=NOTE_SIZE,
            )  # fmt: skip
            for name, side in zip(series, "xy", strict=True):
                if name == "accuracy":  # lines and margins end at 0 and 100 %
                    low, high = getattr(axes, f"get_{side}lim")()
                    axes.set(**{f"{side}lim": (max(low, 0), min(high, 100))})
        for axes in panels[::n_columns]:
            axes.set_ylabel(ylabel)
        if len(groups) > 1:
            drawing.add_legend(figure, panels[0], max(2, n_columns * 2))
    return figure


def _line(axes: "Axes", x: Floats, y: Floats) -> None:
    """Draw the line fitted to points, if they determine one."""
    if len(x) >= MIN_MODELS and np.ptp(x) > 0:
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, fit_line(x, y).at(ends), color="k", linewidth=0.9)


_CELL, _SMALL, _ROW = 0.28, 0.125, 0.17  # inches: a cell with its number, and without
_COLOUR_BAR, _CHARACTER = 0.8, 0.056  # inches; a character of a label
_WIDTH = 3.0  # inches, at least
_MOST_NUMBERS = 16  # columns with numbers
MAX_PLACES = 40  # with more, groups only
Place = tuple[str, str]


def plot_correlations(results: Results, model: str = "") -> "Figure":
    """Draw Spearman's correlations of scores and accuracies by group of sets: P2, Figure 11."""
    table = drawing.with_titles(results.of(results.correlations, model))
    table = table[table["view"] == WHOLE]
    means = table.groupby(["title", "group", "subgroup"], sort=False)["spearman"].mean()
    places = _few(list(dict.fromkeys(zip(table["group"], table["subgroup"], strict=True))))
    methods = list(dict.fromkeys(table["title"]))
    values = np.array([[means.get((m, *p), np.nan) for p in places] for m in methods])
    known = np.isfinite(values).any(axis=0)
    names = _names([place for place, is_known in zip(places, known, strict=True) if is_known])
    note = f"Scores and accuracies; {model or 'means over models'}. Empty: undefined."
    width = _room(methods) + _COLOUR_BAR + _side(names)
    size = max(width, _WIDTH), 0.5 + _room(names) + max(_ROW * len(methods), 0.9)
    return drawing.heat_map(
        values[:, known], names, methods, size, "Spearman's ρ", note,
        has_numbers=len(names) <= _MOST_NUMBERS,
    )  # fmt: skip


def plot_rankings(results: Results, procedure: Sequence[str]) -> "Figure":
    """Draw how alike methods rank by their errors on every two groups of sets: P2, appendix A.2."""
    rankings = tabulate_rankings(results.errors[drawing.is_procedure(results.errors, procedure)])
    pairs = rankings[["group_1", "subgroup_1", "group_2", "subgroup_2"]]
    ends = [(tuple(row[:2]), tuple(row[2:])) for row in pairs.itertuples(index=False, name=None)]
    places = _few(list(dict.fromkeys(end for both in zip(*ends, strict=True) for end in both)))
    order = {place: number for number, place in enumerate(places)}
    values = np.full((len(places), len(places)), np.nan)
    for (one, other), rho, tau in zip(ends, rankings["spearman"], rankings["kendall"], strict=True):
        if one in order and other in order:
            low, high = sorted((order[one], order[other]))
            values[low, high], values[high, low] = rho, tau
    names = _names(places)
    note = (
        f"{drawing.procedure_text(procedure)}. Correlations of the methods' errors, above the "
        "diagonal Spearman's ρ, below Kendall's τ-b. Empty: not compared."
    )
    side = _side(names) + _room(names)
    return drawing.heat_map(
        values, names, names, (max(side + _COLOUR_BAR, _WIDTH), side + 0.6), "Correlation", note,
        has_numbers=len(names) <= _MOST_NUMBERS,
    )  # fmt: skip


def _side(columns: Sequence[str]) -> float:
    """Return the inches that the columns of a matrix take."""
    return max((_CELL if len(columns) <= _MOST_NUMBERS else _SMALL) * len(columns), 1.5)


def _names(places: Sequence[Place]) -> list[str]:
    return [shortened(place_name(*place).removesuffix(" (points)")) for place in places]


def _room(names: Sequence[str]) -> float:
    """Return about the inches that the longest label takes."""
    return 0.1 + _CHARACTER * max(map(len, names), default=0)


def _few(places: Sequence[tuple[str, ...]]) -> list[Place]:
    """Return places as pairs, groups before their subgroups, without subgroups if too many."""
    order = list(dict.fromkeys(group for group, _ in places))
    found = sorted(
        ((group, subgroup) for group, subgroup in places),
        key=lambda place: (order.index(place[0]), place[1] != ALL),
    )
    return found if len(found) <= MAX_PLACES else [place for place in found if place[1] == ALL]


_PROTOCOL_SIDE = 2.0  # inches
_PARTS = {
    "matched_gap": "Matched gap (points)",
    "confidence_part": "Confidence part (points)",
    "conditional_part": "Conditional part (points)",
}
_SHOWN = ("doc_feat", "doc", "atc_mc", "ms_aol")  # those that there are, at most three


def plot_protocol(results: Results) -> "Figure":
    """Draw matched gaps and parts of gaps against gaps, and errors against the conditional part."""
    assert results.gaps is not None
    gaps = results.of(results.gaps)
    joined = join(results.rows(), gaps)
    shown = [method for method in _SHOWN if method in set(joined["method"])][:3]
    n_rows = 1 + bool(shown)
    with drawing.drawing(3 * _PROTOCOL_SIDE + 0.4, n_rows * _PROTOCOL_SIDE + 0.5) as figure:
        panels = figure.subplots(n_rows, 3, squeeze=False)
        for axes, (part, label) in zip(panels[0], _PARTS.items(), strict=True):
            _protocol_points(axes, results, gaps, {"gap": "Gap (points)", part: label})
            ends = 100 * np.array([gaps["gap"].min(), gaps["gap"].max()])
            axes.plot(ends, ends, **REFERENCE)
        labels = {
            "conditional_part": _PARTS["conditional_part"],
            "underestimated": "Gap − predicted gap (points)",
        }
        for axes, method in zip(panels[-1], shown, strict=False):
            rows = _first_procedure(joined[joined["method"] == method])
            _protocol_points(axes, results, rows, labels)
            axes.axhline(0, **REFERENCE)
            axes.set_title(f"{rows['title'].iloc[0]}, {how(rows.iloc[0].to_dict())}")
        for axes in panels[-1][len(shown) :] if shown else ():
            axes.remove()
        if len(results.groups) > 1:
            drawing.add_legend(figure, panels[0][0], len(results.groups))
    return figure


def _first_procedure(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions of one method without regression, or else by its first procedure."""
    direct = rows[rows["protocol"] == DIRECT]
    if len(direct):
        return direct
    return rows.merge(rows[[*PROCEDURE, "variant"]].drop_duplicates().iloc[:1])


def _protocol_points(
    axes: "Axes", results: Results, rows: pd.DataFrame, labels: dict[str, str]
) -> None:  # fmt: skip
    (x, xlabel), (y, ylabel) = labels.items()
    known = rows[np.isfinite(rows[x]) & np.isfinite(rows[y])]
    drawing.add_points(axes, results.groups, known, (x, 100), (y, 100))
    axes.annotate(
        _rho(known[x], known[y]),
        (0.03, 0.94),
        xycoords="axes fraction",
        fontsize=NOTE_SIZE,
        va="top",
    )
    axes.set(xlabel=xlabel, ylabel=ylabel)
