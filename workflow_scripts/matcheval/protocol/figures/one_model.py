"""One model on two sets: accuracies joined by their gap, and what the gap consists of."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    MATCHED_ORIGINAL,
    MATCHED_REPLICATION,
    ORIGINAL,
    REPLICATION,
    SeriesStyle,
    count,
    legend_above,
    new_figure,
    set_note,
    set_title,
    style,
)
from matcheval.protocol.figures.texts import matched_counts, role_of, set_name, title_of
from matcheval.protocol.words import verdict
from matcheval.statistics.intervals import clopper_pearson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 2.1  # inches
_SHIFTS = {"original": 0.12, "replication": -0.12}  # so that bars do not cover each other
_ORIGINS = {
    "original": (ORIGINAL, MATCHED_ORIGINAL),
    "replication": (REPLICATION, MATCHED_REPLICATION),
}
_GAPS: dict[str, tuple[str, SeriesStyle]] = {
    "gap": ("gap", GAP),
    "confidence_part": ("of it with confidence", MATCHED_ORIGINAL),
    "conditional_part": ("of it at equal confidence", REPLICATION),
    "matched_gap": ("matched gap", MATCHED_GAP),
}


def plot_one_model(table: pd.DataFrame, gaps: pd.DataFrame, title: str) -> "Figure":
    """Plot accuracies, matched accuracies and gaps of one model."""
    gap = gaps.set_index("model").loc[table["model"].iloc[0]]
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, _HEIGHT)
        left, right = figure.subplots(1, 2)
        _draw_accuracies(left, table)
        _draw_gaps(right, gap)
        set_title(figure, f"{table['model'].iloc[0]}: {title_of(table, title)}")
        share = 100 * table["fraction_unmatched_mean"].iloc[0]
        set_note(
            figure,
            "Bars: 95 % intervals; of matched accuracies ±1 SD over the random choices of the "
            f"matching. Unmatched targets: {share:.1f} %.\n"
            f"Matched gap: {verdict(gap) if pd.notna(gap['matched_gap']) else 'undefined'}.",
        )
    return figure


def plot_one_gap(gap: pd.Series, title: str, note: str) -> "Figure":
    """Plot what the gap of one model consists of, and by how much matching narrows it."""
    real, reference = (100 * float(gap[f"{name}_narrowing"]) for name in ("same_size", "reference"))
    has_narrowing = bool(np.isfinite([real, reference]).any())
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, _HEIGHT)
        panels = figure.subplots(1, 1 + has_narrowing, squeeze=False)[0]
        _draw_gaps(panels[0], gap)
        if has_narrowing:
            axes = panels[1]
            axes.plot([real, reference], [1, 0], color="#9a9a9a", linewidth=1.5, zorder=1)
            axes.plot([real], [1], MATCHED_GAP.marker, color=MATCHED_GAP.color, markersize=5)
            axes.plot([reference], [0], GAP.marker, color=GAP.color, markersize=5)
            axes.set_yticks([1, 0], ["in samples", "if confidence\ngives no warning"])
            axes.set_ylim(-0.6, 1.6)
            axes.margins(x=0.1)
            axes.set_xlabel("Narrowing of the gap by matching (%)")
        set_title(
            figure, f"{gap['model']}: {gap['pair']}, {title}\nε = {gap['epsilon']:g}, 1 model"
        )
        found = verdict(gap) if pd.notna(gap["matched_gap"]) else "undefined"
        set_note(figure, f"{note} Matched gap: {found}.")
    return figure


def _draw_accuracies(axes: "Axes", table: pd.DataFrame) -> None:
    row = table.iloc[0]
    for at, prefix in ((1, "accuracy_"), (0, "matched_accuracy_")):
        ends = [100 * _value(row, f"{prefix}{origin}") for origin in _ORIGINS]
        axes.plot(
            ends,
            [at + shift for shift in _SHIFTS.values()],
            color="#9a9a9a",
            linewidth=1.5,
            zorder=1,
        )
        for origin, value in zip(_ORIGINS, ends, strict=True):
            look = _ORIGINS[origin][at == 0]
            size = f"n = {count(row[f'n_{origin}'])}" if at else matched_counts(table)
            what = "all" if at else "matched"
            label = f"{set_name(table, origin)} ({role_of(table, origin)}), {what} ({size})"
            axes.errorbar(
                [value], [at + _SHIFTS[origin]], xerr=_lengths(row, f"{prefix}{origin}", origin),
                fmt=look.marker, color=look.color, markersize=5, elinewidth=1.2, capsize=2,
                zorder=2, label=label,
            )  # fmt: skip
    axes.set_yticks([1, 0], ["all points", "matched points"])
    axes.set_ylim(-0.6, 1.6)
    axes.set_xlabel("Accuracy (%)")
    legend_above(axes)


def _value(row: pd.Series, name: str) -> float:
    return float(row[name] if name in row else row[f"{name}_mean"])


def _lengths(row: pd.Series, name: str, origin: str) -> Any:
    """Return the lengths of an accuracy's bar to both sides, in percent."""
    if name not in row:
        return 100 * np.nan_to_num(float(row[f"{name}_std"]))
    n = int(row[f"n_{origin}"])
    found = clopper_pearson(round(float(row[name]) * n), n)
    return 100 * np.array([[row[name] - found.low], [found.high - row[name]]])


def _draw_gaps(axes: "Axes", gap: pd.Series) -> None:
    axes.axvline(0, color="#767676", linewidth=0.7, zorder=1)
    for at, (name, (label, look)) in enumerate(reversed(_GAPS.items())):
        low, value, high = (100 * float(gap[f"{name}{end}"]) for end in ("_low", "", "_high"))
        lengths = np.nan_to_num([[value - low], [high - value]])
        axes.errorbar(
            [value], [at], xerr=lengths, fmt=look.marker, color=look.color, markersize=5,
            elinewidth=1.2, capsize=2, zorder=2, label=label,
        )  # fmt: skip
    axes.set_yticks(range(len(_GAPS)), [label for label, _ in reversed(_GAPS.values())])
    axes.set_ylim(-0.6, len(_GAPS) - 0.4)
    axes.set_xlabel("Original − replication (percentage points)")
