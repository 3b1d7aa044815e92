"""Two methods side by side: P1, Figures 4, 5, 9 and 20 (AC against DoC)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.figures.results import (
    COLORS,
    Results,
    of_way,
    way_text,
)
from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import new_figure, set_note, shortened, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _MARGIN, _WIDTH = 0.14, 0.95, 3.4  # inches
_ROWS = 50  # in a panel
BY = {"dataset": "set", "subgroup": "subgroup", "model": "model"}


def plot(results: Results, first: str, second: str, by: str, way: Sequence[str]) -> "Figure":
    """Draw the errors of two methods, joined by a line: the longer, the more they differ."""
    rows = of_way(results.whole if by == "model" else results.of(), way)
    errors, titles = _errors(rows, (first, second), by)
    n_panels = max(1, -(-len(errors) // _ROWS))
    size = -(-len(errors) // n_panels)
    with style():
        figure = new_figure(_WIDTH * n_panels + 0.9 * (n_panels == 1), _MARGIN + _ROW * size)
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
        set_note(figure, f"{_note(rows, titles, way)} Both on the same sets and models.")
        fix_layout(figure)
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


def _note(rows: pd.DataFrame, titles: Sequence[str], way: Sequence[str]) -> str:
    direct = set(rows.loc[rows["protocol"] == DIRECT, "title"])
    plain = [title for title in titles if title in direct]
    text = f"{way_text(way)}."
    return text if way[0] == DIRECT or not plain else f"{text} {', '.join(plain)}: no regression."
