"""The figure of every model's accuracies before and after matching, and of its gaps.

Figures 3, 4, 6 and 7 of Anzaku et al. (2022), arXiv 2209.01848.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    MATCHED_ORIGINAL,
    MATCHED_REPLICATION,
    ORIGINAL,
    REPLICATION,
    UNMATCHED,
    SeriesStyle,
    count,
    fit_text,
    legend_above,
    new_figure,
    set_note,
    set_round_ticks,
    set_title,
    shortened,
    style,
)
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.figures.derived import by_accuracy, running_median, sampling_range
from matcheval.protocol.figures.one_model import plot_one_model
from matcheval.protocol.figures.texts import (
    RUNNING_MEDIAN,
    is_named,
    matched_counts,
    note_of,
    role_of,
    set_name,
    target_of,
    title_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: differences and unmatched targets, on the right; the panel on the left spans both.
_RIGHT_HEIGHTS = (1.7, 0.75)
_AROUND_PANELS = 1.75  # inches: titles, legends and labels, without the names of the models
_INCHES_PER_CHARACTER = 0.052
_INCHES_PER_LINE = 0.13
_NAME_SIZE = 6.0  # points
_FAINT = 0.3
_ORIGINS = {
    "original": (ORIGINAL, MATCHED_ORIGINAL),
    "replication": (REPLICATION, MATCHED_REPLICATION),
}
_SAME_IN_EVERY_ROW = (
    "pair",
    "criterion",
    "epsilon",
    "original",
    "replication",
    "source",
    "n_original",
    "n_replication",
)


def plot_matched_accuracy(
    table: pd.DataFrame, title: str = "", gaps: pd.DataFrame | None = None
) -> "Figure":
    """Plot accuracy and matched accuracy of both sets over models, and the gaps."""
    if table.empty:
        raise InputError("no models to plot", field="model")
    for column in _SAME_IN_EVERY_ROW:
        if len(set(table[column])) != 1:
            values = sorted(set(table[column]))
            raise InputError(f"one figure cannot show several values: {values}", field=column)
    if gaps is not None and len(table) == 1:
        return plot_one_model(
            table, gaps, title or Criterion(table["criterion"].iloc[0]).description
        )
    if gaps is not None:
        bounds = ["matched_gap_low", "matched_gap_high"]
        table = table.merge(gaps[["model", *bounds]], on="model", validate="one_to_one")
    table = by_accuracy(table)
    names = [shortened(name) for name in table["model"]] if is_named(table) else None
    note = note_of(table)
    lines = 1 + fit_text(note, 2 * COLUMN_WIDTH).count("\n")
    room = _AROUND_PANELS + _INCHES_PER_LINE * lines
    if names is not None:
        room += _INCHES_PER_CHARACTER * max(map(len, names))
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, sum(_RIGHT_HEIGHTS) + room)
        panels = figure.subplot_mosaic(
            [["accuracies", "gaps"], ["accuracies", "unmatched"]], height_ratios=_RIGHT_HEIGHTS
        )
        _draw_accuracies(panels["accuracies"], table)
        _draw_gaps(panels["gaps"], table)
        _draw_unmatched(panels["unmatched"], table)
        for panel in panels.values():
            _label_models(panel, table, names)
        panels["gaps"].tick_params(labelbottom=False)
        panels["gaps"].set_xlabel("")
        figure.align_ylabels([panels["gaps"], panels["unmatched"]])
        matching = title or Criterion(table["criterion"].iloc[0]).description
        set_title(figure, title_of(table, matching))
        set_note(figure, note)
    return figure


def _draw_accuracies(axes: "Axes", table: pd.DataFrame) -> None:
    matched = matched_counts(table)
    for origin, (series, matched_series) in _ORIGINS.items():
        name = f"{set_name(table, origin)} ({role_of(table, origin)})"
        n = count(table[f"n_{origin}"].iloc[0])
        _draw(axes, table, f"accuracy_{origin}", series, f"{name}, all (n = {n})")
        _draw(
            axes,
            table,
            f"matched_accuracy_{origin}",
            matched_series,
            f"{name}, matched ({matched})",
            has_seeds=True,
        )
    axes.set_ylabel("Accuracy (%)")
    legend_above(axes)
    set_round_ticks(axes, 6)


def _draw_gaps(axes: "Axes", table: pd.DataFrame) -> None:
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)
    _draw(axes, table, "gap", GAP, "all points")
    has_intervals = "matched_gap_low" in table
    _draw(
        axes, table, "matched_gap", MATCHED_GAP,
        "matched points" + ", 95 % intervals" * has_intervals, has_seeds=True,
    )  # fmt: skip
    half = 100 * sampling_range(table)
    band = axes.stairs(
        half,
        np.arange(len(table) + 1) + 0.5,
        baseline=-half,
        fill=True,
        color="#dcdcdc",
        linewidth=0,
        zorder=0.6,  # above the grid
        label="95 % sampling range of no difference (all points)",
    )
    band.sticky_edges.y.clear()  # otherwise the axis would end at the upper edge of the band
    axes.update_datalim([(1, -half.max()), (1, half.max())])
    axes.autoscale_view()
    axes.set_ylabel("Difference\n(percentage points)")
    legend_above(
        axes,
        title=f"Accuracy on {set_name(table, 'original')} − on {set_name(table, 'replication')}",
        alignment="left",
        title_fontsize=6.5,
    )
    set_round_ticks(axes, 5)


def _draw_unmatched(axes: "Axes", table: pd.DataFrame) -> None:
    series = replace(UNMATCHED, line="-")  # the only series of the panel needs no line style
    target = target_of(table)
    n = count(table[f"n_{target}"].iloc[0])
    label = f"unmatched of {set_name(table, target)} (n = {n})"
    _draw(axes, table, "fraction_unmatched", series, label, has_seeds=True)
    axes.set_ylabel("Unmatched\ntargets (%)")
    highest = table["fraction_unmatched_mean"] + table["fraction_unmatched_std"].fillna(0)
    axes.set_ylim(0, 1.1 * max(100 * highest.max(), 1.0))
    legend_above(axes)
    set_round_ticks(axes, 5)  # with fewer intervals, only two ticks could be visible


def _draw(
    axes: "Axes",
    table: pd.DataFrame,
    quantity: str,
    series: SeriesStyle,
    label: str,
    *,
    has_seeds: bool = False,
) -> None:
    """Plot a quantity over models in percent, with faint bars of ±1 SD if it depends on seeds."""
    rank = np.arange(1, len(table) + 1)
    value = 100 * table[f"{quantity}_mean" if has_seeds else quantity].to_numpy(dtype=np.float64)
    named = is_named(table)
    look: dict[str, Any] = series.line_options() | {"label": label, "markeredgewidth": 0}
    if named:
        axes.plot(rank, value, marker=series.marker, linewidth=1.1, **look)
    else:  # lines between many adjacent models would be unreadable
        points: dict[str, Any] = {"markersize": 1.6, "markeredgewidth": 0, "alpha": 0.55}
        axes.plot(rank, value, "o", color=series.color, zorder=1.8, **points)
        axes.plot(rank, running_median(value, RUNNING_MEDIAN), linewidth=1.3, **look)
    if has_seeds:
        deviation = 100 * table[f"{quantity}_std"].to_numpy(dtype=np.float64)
        if f"{quantity}_low" in table:
            bounds = 100 * table[[f"{quantity}_low", f"{quantity}_high"]].to_numpy(np.float64).T
            deviation = np.abs(bounds - value)
        faint: dict[str, Any] = {"color": series.color, "alpha": _FAINT, "zorder": 1.5}
        width = 4.0 if named else 0.8
        axes.errorbar(rank, value, deviation, fmt="none", elinewidth=width, **faint)


def _label_models(axes: "Axes", table: pd.DataFrame, names: list[str] | None) -> None:
    """Label the x axis with the names of the models, or with ranks if there are no names."""
    original, n = set_name(table, "original"), len(table)
    if names is not None:
        axes.set_xticks(range(1, n + 1), names, rotation=90, fontsize=_NAME_SIZE)
        axes.set_xlabel(f"Model, most accurate on {original} last")
    else:
        step = 10 if n <= 120 else 25 * -(-n // 300)
        axes.set_xticks([1, *range(step, n + 1, step)])
        axes.set_xlabel(f"Model, by increasing accuracy on {original}")
    axes.set_xlim(0.5 - 0.01 * n, 0.5 + 1.01 * n)
