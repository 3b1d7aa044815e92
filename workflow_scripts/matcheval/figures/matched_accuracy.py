"""Figures 3, 4, 6 and 7: accuracy and matched accuracy over models, and the gaps between sets."""

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
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
    legend_above,
    new_figure,
    set_note,
    set_round_ticks,
    style,
)
from matcheval.settings import Criterion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMED_MODELS = 30
_LONGEST_NAME = 34
_NOTE_CHARACTERS = 120  # in a line
_PANEL_HEIGHT = 2.75  # inches, without the models' names
_INCHES_PER_CHARACTER = 0.052
_ORIGINS = {
    "original": (ORIGINAL, MATCHED_ORIGINAL),
    "replication": (REPLICATION, MATCHED_REPLICATION),
}
_ONE_PAIR = ("pair", "criterion", "epsilon")


def plot_matched_accuracy(table: pd.DataFrame) -> "Figure":
    """Draw accuracy and matched accuracy of both sets over models, and their differences.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, one pair and criterion; rows in any order.

    Returns
    -------
    matplotlib.figure.Figure
        Left, accuracies in percent. Right, above: accuracy differences, original minus
        replication, in percentage points; below: the fraction of targets left unmatched in
        percent. Models from most to least accurate on the original set, by name if there are at
        most 30; ±1 standard deviation over seeds about what depends on them. Where nothing
        matched, the lines have gaps and a note names the models.

    Raises
    ------
    InputError
        If the table is empty, or mixes pairs, criteria or epsilons.
    """
    if table.empty:
        raise InputError("no models to draw", field="model")
    for column in _ONE_PAIR:
        if len(set(table[column])) != 1:
            raise InputError(f"several in one figure: {sorted(set(table[column]))}", field=column)
    table = table.sort_values(
        ["accuracy_original", "model"], ascending=[False, True], ignore_index=True
    )
    names = [_shortened(name) for name in table["model"]]
    is_named = len(table) <= MOST_NAMED_MODELS
    room = _INCHES_PER_CHARACTER * max(map(len, names)) if is_named else 0.0
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, _PANEL_HEIGHT + 0.35 + room)
        grid = figure.add_gridspec(3, 2)
        accuracies = figure.add_subplot(grid[:, 0])
        gaps = figure.add_subplot(grid[:2, 1])
        unmatched = figure.add_subplot(grid[2, 1], sharex=gaps)
        _draw_accuracies(accuracies, table)
        _draw_gaps(gaps, table)
        _draw_unmatched(unmatched, table)
        gaps.tick_params(axis="x", labelbottom=False)
        for axes in (accuracies, unmatched):
            _label_models(axes, table, names if is_named else None)
        figure.align_ylabels([gaps, unmatched])
        figure.suptitle(_title(table))
        set_note(figure, _note(table))
    return figure


def _draw_accuracies(axes: "Axes", table: pd.DataFrame) -> None:
    for origin, (series, matched_series) in _ORIGINS.items():
        name = table[origin].iloc[0]
        whole = f"{name}, all (n = {count(table[f'n_{origin}'].iloc[0])})"
        matched = f"{name}, matched ({_matched_counts(table)})"
        _draw(axes, table, f"accuracy_{origin}", series, whole)
        _draw(axes, table, f"matched_accuracy_{origin}", matched_series, matched, has_seeds=True)
    axes.set_ylabel("Accuracy (%)")
    legend_above(axes)
    set_round_ticks(axes, 7)


def _draw_gaps(axes: "Axes", table: pd.DataFrame) -> None:
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)
    _draw(axes, table, "gap", GAP, "accuracy difference, all points")
    _draw(axes, table, "matched_gap", MATCHED_GAP, "matched accuracy difference", has_seeds=True)
    axes.set_ylabel("Difference\n(percentage points)")
    legend_above(
        axes,
        title=f"{table['original'].iloc[0]} − {table['replication'].iloc[0]}",
        alignment="left",
        title_fontsize=6.5,
    )
    set_round_ticks(axes, 5)


def _draw_unmatched(axes: "Axes", table: pd.DataFrame) -> None:
    alone = replace(UNMATCHED, line="-")  # in a panel of its own
    _draw(axes, table, "fraction_unmatched", alone, "fraction unmatched", has_seeds=True)
    axes.set_ylabel("Unmatched\ntargets (%)")
    highest = 100 * table["fraction_unmatched_mean"].max()
    axes.set_ylim(0, 1.15 * max(highest, 1.0))
    set_round_ticks(axes, 3)


def _draw(
    axes: "Axes",
    table: pd.DataFrame,
    quantity: str,
    series: SeriesStyle,
    label: str,
    *,
    has_seeds: bool = False,
) -> None:
    """Draw a quantity over models in percent, with a faint ±1 SD if it depends on seeds."""
    rank = np.arange(1, len(table) + 1)
    value = 100 * table[f"{quantity}_mean" if has_seeds else quantity].to_numpy(dtype=np.float64)
    is_named = len(table) <= MOST_NAMED_MODELS
    marked = rank - 1 if is_named else _alone(value)
    axes.plot(
        rank,
        value,
        label=label,
        marker=series.marker if len(marked) else None,
        markevery=marked.tolist(),
        markeredgewidth=0,
        linewidth=1.1 if is_named else 0.8,
        **series.line_options(),
    )
    if not has_seeds:
        return
    deviation = 100 * table[f"{quantity}_std"].to_numpy(dtype=np.float64)
    faint: dict[str, Any] = {"color": series.color, "alpha": 0.25, "zorder": 1.5}
    if is_named:  # a band needs neighbours; a bar also shows under a model by itself
        axes.errorbar(rank, value, deviation, fmt="none", elinewidth=4, **faint)
    else:
        axes.fill_between(rank, value - deviation, value + deviation, linewidth=0, **faint)


def _alone(value: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Positions of values between two NaN, where a line without markers would show nothing."""
    is_value = np.pad(~np.isnan(value), 1)
    return np.flatnonzero(is_value[1:-1] & ~is_value[:-2] & ~is_value[2:])


def _label_models(axes: "Axes", table: pd.DataFrame, names: list[str] | None) -> None:
    """Label the x axis with the models' names, or if those are not given with their ranks."""
    original, n = table["original"].iloc[0], len(table)
    if names is not None:
        axes.set_xticks(range(1, n + 1), names, rotation=90, fontsize=6.0)
        axes.set_xlabel(f"Model, most accurate on {original} first")
    else:
        step = 10 if n <= 60 else 20 if n <= 120 else 50 * -(-n // 300)
        axes.set_xticks([1, *range(step, n + 1, step)])
        axes.set_xlabel(f"Model, by rank in accuracy on {original}")
    axes.set_xlim(0.5 - 0.01 * n, 0.5 + 1.01 * n)


def _shortened(name: str) -> str:
    """Cut the middle out of a very long name; both ends tell models apart."""
    if len(name) <= _LONGEST_NAME:
        return name
    half = _LONGEST_NAME // 2
    return f"{name[: half - 1]}…{name[-half:]}"


def _matched_counts(table: pd.DataFrame) -> str:
    """Write the size of a matched subset: mean over seeds, range over models."""
    first = table.iloc[0]
    role = "replication" if first["source"] == first["original"] else "original"
    matched = table[f"n_{role}"] * (1 - table["fraction_unmatched_mean"])
    low, high = count(matched.min()), count(matched.max())
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def _title(table: pd.DataFrame) -> str:
    first = table.iloc[0]
    least, most = int(table["n_seeds"].min()), int(table["n_seeds"].max())
    models = "1 model" if len(table) == 1 else f"{len(table)} models"
    seeds = f"{least}" if least == most else f"{least} to {most}"
    spread = "; faint: ±1 SD over seeds" if most > 1 else ""
    return (
        f"{first['pair']}, {Criterion(first['criterion']).description}\n"
        f"ε = {first['epsilon']:g}, {models}, {seeds} seed{'s' * (most != 1)}{spread}"
    )


def _note(table: pd.DataFrame) -> str:
    undefined = table.loc[table["matched_gap_mean"].isna(), "model"].tolist()
    if not undefined:
        return ""
    named = ", ".join(map(_shortened, undefined[:3])) + (", …" if len(undefined) > 3 else "")
    note = (
        f"No target was matched for {len(undefined)} of the {len(table)} models ({named}): "
        "their matched accuracies are undefined and left out."
    )
    return textwrap.fill(note, _NOTE_CHARACTERS)
