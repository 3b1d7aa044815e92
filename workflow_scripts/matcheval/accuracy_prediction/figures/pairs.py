"""Two methods side by side: P1, Figures 4, 5, 9 and 20 (AC against DoC)."""

from typing import TYPE_CHECKING

import numpy as np

from matcheval.accuracy_prediction.figures.results import COLORS, Results
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import legend_above, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _MARGIN, _HIGHEST = 0.14, 0.8, 20.0  # inches
BY = {"dataset": "set", "subgroup": "subgroup", "model": "model"}


def plot(results: Results, first: str, second: str, by: str) -> "Figure":
    """Draw the errors of two methods, joined by a line: the longer, the more they differ.

    Parameters
    ----------
    results : Results
    first, second : str
        Methods, of which predictions without regression, or else those of the first way are shown.
    by : str
        `dataset`, `subgroup` or `model`: what a row is; errors are means over the rest.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = results.whole
    parts = {}
    for method in (first, second):
        of_method = rows[(rows["method"] == method) & (rows["variant"] == "")]
        way = of_method[["protocol", "regressor", "calibrated_on"]].drop_duplicates().iloc[:1]
        of_way = of_method.merge(way)
        parts[method] = 100 * of_way.groupby(by, sort=False)["error"].mean()
    names = [name for name in parts[first].index if name in parts[second].index]
    position = np.arange(len(names))
    with style():
        figure = new_figure(4.5, min(_MARGIN + _ROW * len(names), _HIGHEST))
        axes = figure.add_subplot()
        values = [part.reindex(names).to_numpy(np.float64) for part in parts.values()]
        axes.hlines(position, values[0], values[1], color="0.7", linewidth=0.8)
        for method, value, color, marker in zip(parts, values, COLORS, "os", strict=False):
            title = rows.loc[rows["method"] == method, "title"].iloc[0]
            axes.plot(value, position, marker, color=color, label=title)
        axes.set_yticks(position, [str(name) or "no name" for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(f"Mean absolute error by {BY[by]} (points)")
        axes.set_xlim(left=0)
        legend_above(axes, ncols=2)
        fix_layout(figure)
    return figure
