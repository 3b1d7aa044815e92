"""Forms of plot that figures are made of; each draws a table into the axes it is given.

Columns of fractions are drawn in percent, with the bounds in `<column>_low` and `<column>_high`
where the table has them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
RUNNING_MEDIAN = 15  # models in the window
JOINED = "#9a9a9a"  # of lines that join two points


@dataclass(frozen=True)
class Series:
    """A column of a table and how it is drawn, with the bounds of its intervals, if any."""

    column: str
    look: style.SeriesStyle
    label: str = ""
    bounds: str = ""  # the columns of bounds without `_low` and `_high`, if other than the column

    def percent(self, table: "pd.DataFrame") -> tuple[Floats, Floats]:
        """Return values, shape (n,), and bounds, shape (2, n), in percent; NaN for no bounds."""
        value = 100 * table[self.column].to_numpy(np.float64)
        ends = [f"{self.bounds or self.column}_{end}" for end in ("low", "high")]
        if not set(ends) <= {*table}:
            return value, np.full((2, len(table)), np.nan)
        return value, 100 * table[ends].to_numpy(np.float64).T


@contextmanager
def drawing(
    width: float, height: float, title: str, note: str = "", legend_columns: int = 0
) -> "Iterator[Figure]":
    """Yield an empty figure to draw into, then add the title above and the note below the drawing.

    Sizes are in inches. With `legend_columns`, one legend for all panels follows the title.
    """
    with style.style():
        figure = style.new_figure(width, height)
        yield figure
        if legend_columns:
            style.set_title_and_legend(figure, title, ncols=legend_columns)
        else:
            style.set_title(figure, title)
        style.set_note(figure, note)


def panels(
    figure: "Figure", n: int, most_columns: int, xlabel: str = "", *, sharex: bool = True
) -> "list[Axes]":
    """Add n panels with common axes, in rows about equally long; the lowest name their x axis."""
    shape = style.grid_shape(n, most_columns)
    grid = figure.subplots(*shape, sharex=sharex, sharey=True, squeeze=False).ravel().tolist()
    for unused in grid[n:]:
        unused.set_axis_off()
    for lowest in grid[max(n - shape[1], 0) : n]:
        lowest.set_xlabel(xlabel)
        lowest.tick_params(labelbottom=True)
    return grid[:n]


def name_rows(axes: "Axes", names: Sequence[str], label: str = "", **text: Any) -> None:
    """Name the rows of the y axis, from the top; if there are over 30, only label the axis."""
    if len(names) <= FEW_MODELS or not label:
        axes.set_yticks(range(len(names)), [style.shortened(name) for name in names], **text)
    else:
        axes.set_ylabel(label)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)


def intervals(
    axes: "Axes",
    table: "pd.DataFrame",
    series: Sequence[Series],
    *,
    spread: float = 0.3,
    upright: bool = False,
    medians: int = 0,
    **options: Any,
) -> None:
    """Draw values with their intervals, a row for each row of a table; `upright`, a column.

    Series of a row lie beside each other, over `spread` rows. Of the first `medians` rows, running
    medians are drawn over faint points and bars. Options are those of matplotlib's `errorbar`.
    """
    shifts = np.linspace(-spread / 2, spread / 2, len(series)) if len(series) > 1 else [0.0]
    for drawn, shift in zip(series, shifts, strict=True):
        value, bounds = drawn.percent(table)
        at, lengths = np.arange(len(table)) + shift, _bar_lengths(value, bounds)
        x, y, bar = (at, value, "yerr") if upright else (value, at, "xerr")
        look: dict[str, Any] = {bar: lengths, "elinewidth": 0.8}
        look |= {"label": None if medians else drawn.label} | options
        if drawn.look.marker in "|_":  # which have no area
            look |= {"markeredgewidth": 0.8, "markersize": 2 if medians else 6}
        _, _, bars = axes.errorbar(
            x, y, fmt=drawn.look.marker, color=drawn.look.color,
            **point_options(len(table)) | look,
        )  # fmt: skip
        if medians:
            for of_series in bars:
                of_series.set(alpha=0.25, linewidth=0.6)
            median, rank = running_median(value[:medians], RUNNING_MEDIAN), np.arange(medians)
            axes.plot(rank, median, color="white", linewidth=2.6, zorder=2.9)
            axes.plot(rank, median, label=drawn.label, zorder=3, **drawn.look.line_options())


def _bar_lengths(value: Floats, bounds: Floats) -> Floats | None:
    """Return the lengths of error bars down and up: 0 for unknown bounds; None if all are."""
    return np.nan_to_num(np.abs(bounds - value)) if np.isfinite(bounds).any() else None


def join(axes: "Axes", table: "pd.DataFrame", columns: Sequence[str], **options: Any) -> None:
    """Draw a line between the values of two columns in each row; `upright` as in `intervals`."""
    draw = axes.vlines if options.pop("upright", False) else axes.hlines
    first, second = (100 * table[name].to_numpy(np.float64) for name in columns)
    look: dict[str, Any] = {"color": JOINED, "linewidth": 1.0, "zorder": 1}
    draw(range(len(table)), first, second, **look | options)


def running_median(value: Floats, window: int) -> Floats:
    """Compute a centred running median, in windows that shrink at the ends; NaN stays NaN."""
    half = [min(window // 2, i, len(value) - 1 - i) for i in range(len(value))]
    return np.array([
        np.nan if np.isnan(value[i]) else np.nanmedian(value[i - h : i + h + 1])
        for i, h in enumerate(half)
    ])  # fmt: skip


def curves(axes: "Axes", table: "pd.DataFrame", series: Sequence[Series], **options: Any) -> None:
    """Draw columns as lines over the index of a table, with bands between their bounds."""
    for drawn in series:
        value, bounds = drawn.percent(table)
        look = drawn.look.line_options() | {"label": drawn.label} | options
        axes.plot(table.index, value, **look)
        if np.isfinite(bounds).any():
            band: dict[str, Any] = {"color": drawn.look.color, "alpha": 0.2, "linewidth": 0}
            axes.fill_between(table.index, *bounds, **band)


def scatter(
    axes: "Axes", table: "pd.DataFrame", x: str, y: str, look: style.SeriesStyle, **options: Any
) -> None:
    """Draw a point per row of a table at columns `x` and `y`, with intervals along both axes."""
    (across, x_bounds), (up, y_bounds) = (Series(name, look).percent(table) for name in (x, y))
    points = point_options(len(table))
    drawn: dict[str, Any] = {"elinewidth": 0.17 * points["markersize"], "zorder": 3}
    axes.errorbar(
        across, up, xerr=_bar_lengths(across, x_bounds), yerr=_bar_lengths(up, y_bounds),
        fmt=look.marker, color=look.color, **points | drawn | options,
    )  # fmt: skip


def heat_map(
    axes: "Axes",
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    *,
    limit: float | None = None,
    number: Callable[[float], str] | None = None,
) -> None:
    """Draw a matrix in colours, with its colour bar; values that are not finite stay empty.

    Rows and columns whose name is empty are not named. With `limit`, colours go from blue for
    -limit by white to red for +limit, else from dark to light; `number` formats the values, which
    are otherwise not written.
    """
    colors: dict[str, Any] = {"cmap": "viridis"}
    if limit is not None:
        colors = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    shown = values if values.size else np.full((1, 1), np.nan)
    image = axes.imshow(shown, aspect="auto", interpolation="nearest", **colors)
    axes.set_xticks(range(len(columns)), columns, fontsize=style.NOTE_SIZE)
    axes.set_yticks(range(len(rows)), rows, fontsize=style.NOTE_SIZE)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    if number is not None:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                dark = limit is not None and abs(value) > 0.6 * limit
                look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.NOTE_SIZE}
                text = number(value)
                axes.text(column, row, text, color="white" if dark else "black", **look)
    axes.figure.colorbar(image, ax=axes, label=label, fraction=0.05)


def square(axes: "Axes", low: float, high: float, label: str = "equal accuracy") -> None:
    """Give both axes the same limits, and draw the diagonal, on which both values are equal."""
    axes.plot([low, high], [low, high], label=label, zorder=1, **style.REFERENCE)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")


_ROW, _REST = 0.25, 0.65  # inches
_LONGEST = 30  # characters of a name
Interval = tuple[str, float, float, float]  # name, value (NaN: none is drawn), lower, upper bound


def plot_intervals(
    rows: Sequence[Interval], label: str, *, zero: bool = False, ax: "Axes | None" = None
) -> "Figure":
    """Plot a few values in percent with their intervals, a row each; with `zero`, a line at 0."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=["name", "x", "x_low", "x_high"]).set_index("name") / 100
    with style.style():
        height = _ROW * len(rows) + _REST
        axes = ax or style.new_figure(style.COLUMN_WIDTH, height).add_subplot()
        join(axes, table, ("x_low", "x_high"), color=style.ORIGINAL.color)
        axes.plot(100 * table["x"], range(len(rows)), "o", color=style.ORIGINAL.color, markersize=4)
        if zero:
            style.draw_zero(axes, upright=True)
        name_rows(axes, [style.shortened(name, _LONGEST) for name in table.index])
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(label)
    return axes.figure  # type: ignore[return-value]


# --- a few models one by one, of many the ranges that hold half and 90 % of them


FEW_MODELS = 30  # up to as many are named, and drawn one by one
_SIZE, _LEAST_SIZE, _LEAST_OPACITY = 4.0, 1.4, 0.35
_BOUNDS = (0.05, 0.25, 0.75, 0.95)  # quantiles: the ends of what is drawn of many
SPREAD = "50 and 90 % of models"  # its label


def point_options(n: int, size: float = _SIZE) -> dict[str, Any]:
    """Return matplotlib's options for points, which are smaller and fainter the more there are."""
    crowd = min(1.0, FEW_MODELS / max(n, 1))
    return {
        "markersize": max(size * crowd**0.3, _LEAST_SIZE),
        "alpha": max(crowd**0.25, _LEAST_OPACITY),
        "markeredgewidth": 0,
    }


def draw_rows(axes: "Axes", rows: Mapping[int, Floats], color: str) -> None:
    """Draw models' values in rows: as dots or, of over 30 models, bars over 50 and 90 % of them."""
    finite = {at: values[np.isfinite(values)] for at, values in rows.items()}
    if max(map(len, finite.values()), default=0) <= FEW_MODELS:
        places = np.repeat(list(finite), [len(values) for values in finite.values()])
        axes.plot(
            np.concatenate([[], *finite.values()]), places, "o", color=color, markersize=2.6,
            alpha=0.6, markeredgewidth=0, label="a model",
        )  # fmt: skip
        return
    filled = {at: values for at, values in finite.items() if len(values)}
    ends = [np.quantile(values, _BOUNDS) for values in filled.values()]
    low, quarter, three_quarters, high = np.transpose(ends)
    at = list(filled)
    axes.hlines(at, low, high, color=color, linewidth=0.8, zorder=2)
    axes.hlines(
        at, quarter, three_quarters, color=color, linewidth=3.5, alpha=0.5, zorder=2, label=SPREAD
    )


def draw_curves(axes: "Axes", x: Floats, curves: Floats, color: str) -> None:
    """Draw a thin line per model or, of over 30 models, bands that hold 50 and 90 % of them."""
    if len(curves) <= FEW_MODELS:
        lines = axes.plot(x, curves.T, color=color, alpha=0.4, linewidth=0.6)
        for line in lines[:1]:  # one entry of the legend stands for all
            line.set_label("a model")
        return
    finite = np.isfinite(curves).any(axis=0)
    ends = np.nanquantile(curves[:, finite], _BOUNDS, axis=0)
    axes.fill_between(x[finite], ends[0], ends[3], color=color, alpha=0.18, linewidth=0)
    axes.fill_between(
        x[finite], ends[1], ends[2], color=color, alpha=0.35, linewidth=0, label=SPREAD
    )
