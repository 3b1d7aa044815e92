"""Figure of gaps and their parts against severity."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.figures.style import (
    FITTED,
    GAP,
    MATCHED_GAP,
    MODELS,
    NOTE_SIZE,
    UNMATCHED,
    SeriesStyle,
    new_figure,
    set_title_and_legend,
    shortened,
    style,
)
from matcheval.io.text_tables import counted
from matcheval.protocol.compared_models import MEAN
from matcheval.protocol.settings import matching_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4
_BAND = 0.2  # opacity
_PARTS = (
    ("gap", "gap", GAP, "-"),
    ("confidence_part", "confidence", MODELS, "--"),
    ("conditional_part", "conditional", FITTED, "-."),
)
_LABELS = {
    "gap": "gap", "confidence_part": "confidence part", "conditional_part": "conditional part"
}  # fmt: skip
_MATCHED = (MATCHED_GAP, UNMATCHED)


def plot(table: pd.DataFrame) -> "Figure":
    """Draw gap, both parts of it and matched gaps against severity, as means over models."""
    means = table[(table["model"] == MEAN) & table["severity"].notna()]
    base = means[means["dataset"] == means["base"]]
    shifted = means[means["dataset"] != means["base"]]
    subgroups = shifted["subgroup"].unique().tolist()
    n_columns = min(_COLUMNS, len(subgroups))
    n_rows = -(-len(subgroups) // n_columns)
    with style():
        figure = new_figure(0.8 + 1.5 * max(n_columns, 3), 1.25 + 1.2 * n_rows)
        panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for panel, subgroup in zip(panels.flat, subgroups, strict=False):
            rows = pd.concat([base, shifted[shifted["subgroup"] == subgroup]])
            _draw(panel, rows.sort_values("severity", kind="stable"))
            panel.set_xticks(sorted(set(means["severity"])))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_title(shortened(subgroup, 20), fontsize=NOTE_SIZE)
        for panel in panels.flat[len(subgroups) :]:
            panel.set_axis_off()
        models = counted(len(set(table["model"]) - {MEAN}), "model")
        title = f"{table['suite'].iloc[0]}: gaps by severity, mean of {models}"
        set_title_and_legend(figure, title, ncols=2)
        figure.supxlabel("Severity", fontsize=NOTE_SIZE + 1)
        figure.supylabel("Percentage points", fontsize=NOTE_SIZE + 1)
    return figure


def _draw(axes: "Axes", table: pd.DataFrame) -> None:
    matchings = table["matching"].unique().tolist()
    first = table[table["matching"] == matchings[0]]
    for column, stem, look, line in _PARTS:
        _line(axes, first, column, stem, look, line, _LABELS[column])
    for number, matching in enumerate(matchings):
        rows = table[table["matching"] == matching]
        look = _MATCHED[number % len(_MATCHED)]
        label = f"matched gap, {matching_label(matching)}"
        _line(axes, rows, "matched_gap", "matched_gap", look, ":", label)
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)


def _line(
    axes: "Axes",
    table: pd.DataFrame,
    column: str,
    stem: str,
    look: SeriesStyle,
    line: str,
    label: str,
) -> None:
    """Draw means over the sets of equal severity, and the band of their intervals."""
    bounds = [f"{stem}_low", f"{stem}_high"]
    points = 100 * table.groupby("severity")[[column, *bounds]].mean()
    axes.plot(
        points.index, points[column], line, color=look.color, marker=look.marker, markersize=2,
        label=label,
    )  # fmt: skip
    axes.fill_between(
        points.index, points[bounds[0]], points[bounds[1]], color=look.color, alpha=_BAND,
        linewidth=0,
    )  # fmt: skip
