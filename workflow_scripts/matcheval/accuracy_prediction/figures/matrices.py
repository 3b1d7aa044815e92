"""Matrices: correlations by method and group of sets; rankings of methods on pairs of groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.consistency import tabulate_rankings
from matcheval.accuracy_prediction.figures.results import (
    WAY,
    Results,
    add_heat_map,
    way_text,
    with_titles,
)
from matcheval.accuracy_prediction.reading import place_name
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import new_figure, set_note, shortened, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    with style():
        names = [shortened(place_name(*p).removesuffix(" (points)")) for p in places]
        cell, digits = _cell(len(places))
        figure = new_figure(
            max(_room(methods) + _COLOUR_BAR + max(cell * len(places), 1.5), 3.0),
            0.5 + _room(names) + max(_ROW * len(methods), 0.9),
        )
        add_heat_map(figure, values, names, methods, 1.0, "Spearman's ρ", digits=digits)
        set_note(
            figure, f"Scores and accuracies; {model or 'means over models'}. Empty: undefined."
        )
        fix_layout(figure)
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
    with style():
        figure = new_figure(max(side + _room(names) + _COLOUR_BAR, 3.0), side + _room(names) + 0.6)
        add_heat_map(figure, values, names, names, 1.0, "Correlation", digits=digits)
        note = (
            "Correlations of the methods' errors, above the diagonal Spearman's ρ, below Kendall's "
            "τ-b. Empty: not compared."
        )
        set_note(figure, f"{way_text(way)}. {note}")
        fix_layout(figure)
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
