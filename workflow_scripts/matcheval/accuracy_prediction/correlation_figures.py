"""Points and matrices: scores, errors and gaps against accuracies; correlations of all of these."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.drawing import (
    WAY,
    Floats,
    Results,
    add_heat_map,
    add_legend,
    add_points,
    drawing,
    of_way,
    way_text,
    with_titles,
)
from matcheval.accuracy_prediction.errors import ALL, tabulate_rankings
from matcheval.accuracy_prediction.gaps import join
from matcheval.accuracy_prediction.predicting import DIRECT
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
    rows = results.of(model).drop_duplicates(["model", "dataset", "method", "variant", "seed"])

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["score"].to_numpy(), 100 * part["accuracy"].to_numpy()
        _line(axes, x, y)
        spearman, _ = rank_correlations(x, y)
        return f"r = {signed(linear_correlation(x, y), 2)}, ρ = {signed(spearman, 2)}"

    return _grid(
        results, rows, (("score", 1), ("accuracy", 100)), draw, ("Score", "Accuracy (%)"),
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
        results, rows, (("predicted_gap", 100), ("gap", 100)), draw,
        ("Predicted gap (points)", "Gap (points)"),
        f"{way_text(way)}. {_subject(model)} on a set. Dashed: equality; above it, the accuracy "
        "was overestimated. Solid: line fitted to the points. R² is that of the predictions, r² "
        "that of the line.",
        sharey=True,
    )  # fmt: skip


def plot_errors_by_accuracy(results: Results, way: Sequence[str]) -> "Figure":
    """Draw errors against accuracies: P2, Figures 2B and 12."""
    rows = of_way(results.of(), way)

    def draw(axes: "Axes", part: pd.DataFrame) -> str:
        x, y = part["accuracy"].to_numpy(), part["error"].to_numpy()
        return f"mean {100 * y.mean():.1f}, ρ = {signed(rank_correlations(x, y)[0], 2)}"

    return _grid(
        results, rows, (("accuracy", 100), ("error", 100)), draw,
        ("Accuracy (%)", "Absolute error (points)"),
        f"{way_text(way)}. {_subject()} on a set; ρ is Spearman's correlation.",
        sharex=True, sharey=True,
    )  # fmt: skip


def _subject(model: str = "") -> str:
    return f"A point is {model}" if model else "A point is a model"


def _grid(
    results: Results,
    rows: pd.DataFrame,
    series: tuple[tuple[str, float], tuple[str, float]],
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
    note = note if len(methods) else f"{note} Nothing is predicted."
    width, height = max(_SIDE * n_columns + 0.3, 2 * _SIDE), (_SIDE + 0.15) * n_rows + 0.6
    with drawing(width, height, note) as figure:
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=sharex, sharey=sharey)
        for axes in panels.flat[len(methods) :]:
            axes.remove()
        for number, (axes, method) in enumerate(zip(panels.flat, methods, strict=False)):
            part = rows[rows["title"] == method]
            add_points(axes, groups, part, *series, small_on_top=True)
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
            add_legend(figure, panels[0, 0], max(2, n_columns * 2))
    return figure


def _line(axes: "Axes", x: Floats, y: Floats) -> None:
    """Draw the line fitted to points, if they determine one."""
    if len(x) >= MIN_MODELS and np.ptp(x) > 0:
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, fit_line(x, y).at(ends), color="k", linewidth=0.9)


_CELL, _SMALL, _ROW = 0.28, 0.125, 0.17  # inches: a cell with its number, and without
_COLOUR_BAR, _CHARACTER = 0.8, 0.056  # inches; a character of a label
_MOST_NUMBERS = 16  # columns with numbers
MAX_PLACES = 40  # with more, groups only
Place = tuple[str, str]


def plot_correlations(results: Results, model: str = "") -> "Figure":
    """Draw Spearman's correlations of scores and accuracies by group of sets: P2, Figure 11."""
    table = with_titles(results.correlations)
    own = table["model"] == model if model else ~table["model"].isin(results.uncounted)
    table = table[own & (table["view"] == WHOLE)]
    means = table.groupby(["title", "group", "subgroup"], sort=False)["spearman"].mean()
    places = _few(list(dict.fromkeys(zip(table["group"], table["subgroup"], strict=True))))
    methods = list(dict.fromkeys(table["title"]))
    values = np.array([[means.get((m, *p), np.nan) for p in places] for m in methods])
    known = np.isfinite(values).any(axis=0)
    places, values = (
        [p for p, is_known in zip(places, known, strict=True) if is_known],
        values[:, known],
    )
    names = [shortened(place_name(*p).removesuffix(" (points)")) for p in places]
    cell, digits = _cell(len(places))
    width = max(_room(methods) + _COLOUR_BAR + max(cell * len(places), 1.5), 3.0)
    height = 0.5 + _room(names) + max(_ROW * len(methods), 0.9)
    note = f"Scores and accuracies; {model or 'means over models'}. Empty: undefined."
    with drawing(width, height, note) as figure:
        add_heat_map(figure, values, names, methods, 1.0, "Spearman's ρ", digits=digits)
    return figure


def plot_rankings(results: Results, way: Sequence[str]) -> "Figure":
    """Draw how alike methods rank by their errors on every two groups of sets: P2, appendix A.2."""
    own = results.errors[(results.errors[WAY] == list(way)).all(axis=1)]
    rankings = tabulate_rankings(own)
    pairs = rankings[["group_1", "subgroup_1", "group_2", "subgroup_2"]]
    ends = [(tuple(row[:2]), tuple(row[2:])) for row in pairs.itertuples(index=False, name=None)]
    places = _few(list(dict.fromkeys(end for both in zip(*ends, strict=True) for end in both)))
    order = {place: number for number, place in enumerate(places)}
    values = np.full((len(places), len(places)), np.nan)
    for (one, other), rho, tau in zip(ends, rankings["spearman"], rankings["kendall"], strict=True):
        if one in order and other in order:
            low, high = sorted((order[one], order[other]))
            values[low, high], values[high, low] = rho, tau
    names = [shortened(place_name(*place)) for place in places]
    cell, digits = _cell(len(places))
    side = max(1.5, cell * len(places))
    note = (
        f"{way_text(way)}. Correlations of the methods' errors, above the diagonal Spearman's ρ, "
        "below Kendall's τ-b. Empty: not compared."
    )
    width, height = max(side + _room(names) + _COLOUR_BAR, 3.0), side + _room(names) + 0.6
    with drawing(width, height, note) as figure:
        add_heat_map(figure, values, names, names, 1.0, "Correlation", digits=digits)
    return figure


def _cell(n: int) -> tuple[float, int | None]:
    """Return the width of a cell, and the digits of its number, of which many have none."""
    return (_CELL, 2) if n <= _MOST_NUMBERS else (_SMALL, None)


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
    gaps = results.gaps[~results.gaps["model"].isin(results.uncounted)]
    joined = join(results.of(), gaps)
    shown = [method for method in _SHOWN if method in set(joined["method"])][:3]
    n_rows = 1 + bool(shown)
    with drawing(3 * _PROTOCOL_SIDE + 0.4, n_rows * _PROTOCOL_SIDE + 0.5) as figure:
        panels = figure.subplots(n_rows, 3, squeeze=False)
        for axes, (part, label) in zip(panels[0], _PARTS.items(), strict=True):
            _protocol_points(axes, results, gaps, "gap", part)
            ends = 100 * np.array([gaps["gap"].min(), gaps["gap"].max()])
            axes.plot(ends, ends, **REFERENCE)
            axes.set_xlabel("Gap (points)")
            axes.set_ylabel(label)
        for axes, method in zip(panels[-1], shown, strict=False):
            rows = _first_way(joined[joined["method"] == method])
            _protocol_points(axes, results, rows, "conditional_part", "underestimated")
            axes.axhline(0, **REFERENCE)
            axes.set_xlabel("Conditional part (points)")
            axes.set_ylabel("Gap − predicted gap (points)")
            axes.set_title(f"{rows['title'].iloc[0]}, {how(rows.iloc[0].to_dict())}")
        for axes in panels[-1][len(shown) :] if shown else ():
            axes.remove()
        if len(results.groups) > 1:
            add_legend(figure, panels[0][0], len(results.groups))
    return figure


def _first_way(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions of one method without regression, or else of its first way."""
    direct = rows[rows["protocol"] == DIRECT]
    if len(direct):
        return direct
    keys = ["protocol", "regressor", "calibrated_on", "variant"]
    return rows.merge(rows[keys].drop_duplicates().iloc[:1])


def _protocol_points(axes: "Axes", results: Results, rows: pd.DataFrame, x: str, y: str) -> None:
    known = rows[np.isfinite(rows[x]) & np.isfinite(rows[y])]
    add_points(axes, results.groups, known, (x, 100), (y, 100))
    text = f"ρ = {signed(rank_correlations(known[x], known[y])[0], 2)}"
    axes.annotate(text, (0.03, 0.94), xycoords="axes fraction", fontsize=NOTE_SIZE, va="top")
