"""What the gaps of models consist of, with intervals, and what matching makes of them."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.many_models import FEW_MODELS, point_options
from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    MATCHED_ORIGINAL,
    REPLICATION,
    SeriesStyle,
    legend_above,
    new_figure,
    set_note,
    set_round_ticks,
    set_title,
    shortened,
    style,
)
from matcheval.io.text_tables import counted
from matcheval.protocol.figures.derived import by_accuracy, running_median
from matcheval.protocol.figures.one_model import plot_one_gap
from matcheval.protocol.figures.texts import RUNNING_MEDIAN
from matcheval.protocol.words import verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_HEIGHT = 1.45  # inches
_AROUND = 1.3
_INCHES_PER_CHARACTER = 0.055
_SHIFT = 0.16  # of two series at one model, so that their bars lie beside each other


def plot_gaps(table: pd.DataFrame, gaps: pd.DataFrame, mean: pd.Series, title: str) -> "Figure":
    """Plot gap and matched gap, the parts of the gap, and narrowings, for models and their mean."""
    if gaps.empty:
        raise InputError("no models to plot", field="model")
    if len(gaps) == 1:
        return plot_one_gap(gaps.iloc[0], title, _note(mean))
    order = by_accuracy(table[["model", "accuracy_original"]])["model"]
    shown = pd.concat(
        [gaps.set_index("model").loc[order].reset_index(), pd.DataFrame([mean])], ignore_index=True
    )
    names = [*map(shortened, order), "mean"]
    characters = max(map(len, names)) if len(gaps) <= FEW_MODELS else 4
    narrowings = shown[["same_size_narrowing", "reference_narrowing"]].to_numpy(np.float64)
    n_panels = 2 + bool(np.isfinite(narrowings).any())
    height = n_panels * _PANEL_HEIGHT + _AROUND + _INCHES_PER_CHARACTER * characters
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, height)
        panels = figure.subplots(n_panels, 1, sharex=True)
        _draw_pairs(panels[0], shown, {"gap": GAP, "matched_gap": MATCHED_GAP},
                    ("gap", f"matched gap; its mean is {verdict(mean)}"))  # fmt: skip
        _draw_pairs(
            panels[1], shown,
            {"confidence_part": MATCHED_ORIGINAL, "conditional_part": REPLICATION},
            ("part of the gap that goes with confidence", "part at equal confidence"),
        )  # fmt: skip
        if n_panels > 2:
            _draw_narrowings(panels[2], 100 * narrowings)
        _label(panels[-1], names)
        for panel in panels:
            panel.axvline(len(gaps) + 0.5, color="#767676", linewidth=0.5)
        figure.align_ylabels(list(panels))
        models = counted(len(gaps), "model")
        set_title(figure, f"{mean['pair']}, {title}\nε = {mean['epsilon']:g}, {models}")
        medians = f" Lines: running medians of {RUNNING_MEDIAN} models." * (len(gaps) > FEW_MODELS)
        set_note(figure, _note(mean) + medians)
    return figure


def _draw_pairs(
    axes: "Axes", shown: pd.DataFrame, series: dict[str, SeriesStyle], labels: tuple[str, str]
) -> None:
    """Plot two quantities with their intervals, beside each other at every model."""
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)
    for (name, look), label, shift in zip(series.items(), labels, (-_SHIFT, _SHIFT), strict=True):
        low, value, high = (
            100 * shown[f"{name}{end}"].to_numpy(np.float64) for end in ("_low", "", "_high")
        )
        rank = np.arange(1, len(shown) + 1) + shift
        lengths = np.nan_to_num(np.abs(np.stack([low, high]) - value))
        _, _, (bars,) = axes.errorbar(
            rank, value, lengths, fmt=look.marker, color=look.color, elinewidth=0.8, label=label,
            **point_options(len(shown)),
        )  # fmt: skip
        if len(shown) > FEW_MODELS + 1:  # bars of many models would hide points and medians
            bars.set(alpha=0.2, linewidth=0.5)
            _draw_median(axes, value, look)
    axes.set_ylabel("Percentage points")
    legend_above(axes)
    set_round_ticks(axes, 5)


def _draw_median(axes: "Axes", value: npt.NDArray[np.float64], look: SeriesStyle) -> None:
    """Draw the running median over the models, without their mean at the end."""
    median = running_median(value[:-1], RUNNING_MEDIAN)
    axes.plot(np.arange(1, len(value)), median, color="white", linewidth=2.6, zorder=2.9)
    axes.plot(np.arange(1, len(value)), median, color=look.color, zorder=3, linewidth=1.4)


def _draw_narrowings(axes: "Axes", narrowings: npt.NDArray[np.float64]) -> None:
    """Join the narrowing of each model to that of its reference, its columns, in percent."""
    rank = np.arange(1, len(narrowings) + 1)
    real, reference = narrowings.T
    ends = np.stack([real, reference, np.full(len(rank), np.nan)], axis=1)
    many = len(rank) > FEW_MODELS + 1
    axes.plot(
        np.repeat(rank, 3), ends.ravel(), color="#9a9a9a", linewidth=0.3 if many else 0.8, zorder=1
    )
    axes.plot(
        rank, real, MATCHED_GAP.marker, color=MATCHED_GAP.color, label="narrower by, in samples",
        **point_options(len(rank)),
    )  # fmt: skip
    axes.plot(
        rank, reference, "_", color="#000000", markersize=2 if many else 6,
        alpha=0.6 if many else 1,
        label="narrower by, if confidence gives no warning",
    )  # fmt: skip
    if many:
        _draw_median(axes, real, MATCHED_GAP)
        _draw_median(axes, reference, GAP)
    axes.set_ylabel("Narrowing (%)")
    legend_above(axes)
    set_round_ticks(axes, 5)


def _label(axes: "Axes", names: list[str]) -> None:
    n = len(names)
    if n - 1 <= FEW_MODELS:
        axes.set_xticks(range(1, n + 1), names, rotation=90, fontsize=6.0)
    else:
        step = 10 if n <= 120 else 25 * -(-n // 300)
        ticks = [1, *range(step, n - step // 2, step)]
        axes.set_xticks([*ticks, n], [*map(str, ticks), "mean"])
    axes.set_xlabel("Model, by increasing accuracy on the original, and mean over models")
    axes.set_xlim(0.4, n + 0.6)


def _note(mean: pd.Series) -> str:
    """Say what intervals are of."""
    sampled = "datapoints"
    if mean["n_groups"]:
        sampled = f"groups (at least {mean['n_groups']} in a set)"
    elif mean["paired"]:
        sampled = "images, which both sets show"
    sizes = f"{mean['n_reference_original']:,} and {mean['n_reference_replication']:,} datapoints"
    return (
        f"Bars: 95 % intervals for the sampling of {sampled}. Samples: of {sizes}. Narrowings are "
        "left out where the gap is not positive or does not exceed twice its error."
    )
