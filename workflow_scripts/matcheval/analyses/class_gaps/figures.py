"""Figure of gaps by class."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.analyses.class_gaps.tables import ALL
from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    NOTE_SIZE,
    grid_shape,
    new_figure,
    set_note,
    set_title_and_legend,
    shortened,
    style,
)
from matcheval.io.text_tables import counted
from matcheval.protocol.settings import matching_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _MARGIN, _AROUND = 0.16, 0.75, 0.7  # inches: of a class, a row of panels, the figure
_COLUMNS = 4  # panels in a row
_MOST_CLASSES = 45  # rows of a panel that fit on a page


def plot(table: pd.DataFrame) -> "Figure":
    """Draw gaps and matched gaps of every class."""
    shown = table[table["reason"] == ""]
    classes, note = _chosen_classes(shown)
    panels = table[["matching", "kind"]].drop_duplicates().itertuples(index=False)
    keys = list(panels)
    n_rows, n_columns = grid_shape(len(keys), _COLUMNS)
    models = table["model"].nunique()
    with style():
        height = n_rows * (_MARGIN + _ROW * max(len(classes), 2)) + _AROUND
        figure = new_figure(0.5 * COLUMN_WIDTH * max(n_columns, 2), height)
        axes = figure.subplots(n_rows, n_columns, sharey=True, sharex=True, squeeze=False)
        for panel, (matching, kind) in zip(axes.flat, keys, strict=False):
            chosen = (shown["matching"] == matching) & (shown["kind"] == kind)
            _draw(panel, shown[chosen & shown["class"].isin(classes)], classes)
            panel.set_title(f"{shortened(matching_label(matching), 24)}\n{kind} class")
            panel.set_xlabel("Difference (points)")
            panel.tick_params(labelbottom=True)
        for panel in axes.flat[len(keys) :]:
            panel.set_axis_off()
        names = ["all" if k == ALL else f"{k}" for k in classes]
        for panel in axes[:, 0]:
            panel.set_yticks(range(len(classes)), names, fontsize=NOTE_SIZE)
            panel.set_ylim(max(len(classes), 1) - 0.5, -0.5)
            panel.set_ylabel("Class")
        bars = "Bars: 95 % intervals."
        if models > 1:
            bars = "Points: means over models; bars: lowest to highest model."
        title = f"{table['pair'].iloc[0]}: gaps by class, {counted(models, 'model')}"
        set_title_and_legend(figure, title, ncols=2)
        set_note(figure, f"{bars} {note}")
    return figure


def _chosen_classes(shown: pd.DataFrame) -> tuple[list[int], str]:
    """Return the classes with the largest matched gaps, as many as fit, and what was left out."""
    classes = sorted(shown["class"].unique())
    if set(classes) <= {ALL}:
        return classes, "No class has enough matched points."
    if len(classes) <= _MOST_CLASSES:
        return classes, "Classes with too few matched points are left out."
    sizes = shown.groupby("class")["matched_gap"].mean().abs().drop(ALL, errors="ignore")
    largest = sizes.nlargest(_MOST_CLASSES - 1).index
    note = f"The {len(largest)} of {len(sizes)} classes with the largest matched gaps."
    return [k for k in classes if k == ALL or k in largest], note


def _draw(axes: "Axes", table: pd.DataFrame, classes: list[int]) -> None:
    rows = table["class"].map({number: row for row, number in enumerate(classes)})
    one_model = len(set(table["model"])) == 1
    for column, look, label, shift in (
        ("gap", GAP, "all points", -0.15),
        ("matched_gap", MATCHED_GAP, "matched points", 0.15),
    ):
        groups = (100 * table[column]).groupby(rows)
        mean, low, high = groups.mean(), groups.min(), groups.max()
        if one_model and column == "matched_gap":
            low, high = (
                (100 * table[f"{column}_{end}"]).groupby(rows).first() for end in ("low", "high")
            )
        axes.hlines(mean.index + shift, low, high, color=look.color, linewidth=0.8)
        axes.plot(mean, mean.index + shift, look.marker, color=look.color, label=label)
    axes.axvline(0, color="#767676", linewidth=0.7, zorder=1)
