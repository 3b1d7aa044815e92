"""A few values with their intervals, a row each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matcheval.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Interval = tuple[str, float, float, float]  # name, value (NaN: none is drawn), lower, upper bound
_ROW, _REST = 0.25, 0.65  # inches
_LONGEST = 30  # characters of a name


def plot_intervals(rows: Sequence[Interval], label: str, *, zero: bool = False) -> "Figure":
    """Draw values as points and intervals as lines; with `zero`, a line where both are equal."""
    names, values, low, high = zip(*rows, strict=True)
    places = range(len(rows))
    with style.style():
        figure = style.new_figure(style.COLUMN_WIDTH, _ROW * len(rows) + _REST)
        axes = figure.add_subplot()
        color = style.ORIGINAL.color
        axes.hlines(places, low, high, color=color, linewidth=1.1)
        axes.plot(values, places, style.ORIGINAL.marker, color=color, markersize=4)
        if zero:
            style.draw_zero(axes, upright=True)
        axes.set_yticks(places, [style.shortened(name, _LONGEST) for name in names])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(label)
    return figure
