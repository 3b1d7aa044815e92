"""What the gaps of models consist of, with intervals, and what matching makes of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.figures import style
from matcheval.figures.many_models import FEW_MODELS, Floats, point_options
from matcheval.figures.style import COLUMN_WIDTH, GAP, MATCHED_GAP, SETS, SeriesStyle, count
from matcheval.io.text_tables import counted
from matcheval.statistics.intervals import LEVEL, clopper_pearson, normal_factor, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUNNING_MEDIAN = 15  # models in the window
_MAX_SET_CHARACTERS = 20
_BARS: dict[str, Any] = {"markersize": 5, "elinewidth": 1.2, "capsize": 2, "zorder": 2}
_ZERO: dict[str, Any] = {"color": "#767676", "linewidth": 0.7, "zorder": 1}
_JOINED = "#9a9a9a"  # of lines that join two points
_GAPS = {"gap": GAP, "matched_gap": MATCHED_GAP}
_PARTS = {"confidence_part": SETS["original"][1], "conditional_part": SETS["replication"][0]}


def target_of(table: pd.DataFrame) -> str:
    """Return the origin of the target: `original` or `replication`."""
    first = table.iloc[0]
    return "replication" if first["source"] == first["original"] else "original"


def set_name(table: pd.DataFrame, origin: str, *, role: bool = False) -> str:
    """Return the name of a set, shortened, and its role in the matching if asked for."""
    name = style.shortened(str(table[origin].iloc[0]), _MAX_SET_CHARACTERS)
    return f"{name} ({'target' if origin == target_of(table) else 'source'})" if role else name


def matched_counts(table: pd.DataFrame) -> str:
    """Format the size of a matched subset: mean over seeds, range over models."""
    matched = table[f"n_{target_of(table)}"] * (1 - table["fraction_unmatched_mean"])
    low, high = count(matched.min()), count(matched.max())
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def title_of(table: pd.DataFrame, matching: str) -> str:
    """Return the title: pair, matching, ε, and numbers of models and seeds."""
    first, models = table.iloc[0], counted(len(table), "model")
    return f"{first['pair']}, {matching}\nε = {first['epsilon']:g}, {models}, {_seeds(table)}"


def _seeds(table: pd.DataFrame) -> str:
    least, most = int(table["n_seeds"].min()), int(table["n_seeds"].max())
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{number} seed{'s' * (most != 1)}"


def note_of(table: pd.DataFrame) -> str:
    """Explain points, lines and faint bars, and name models without matched pairs."""
    notes = []
    if len(table) > FEW_MODELS:
        notes.append(
            f"Points: models. Lines: running medians of {RUNNING_MEDIAN} models "
            "(of fewer at both ends)."
        )
    if table["n_seeds"].max() > 1:
        notes.append(
            f"Faint bars of accuracies and shares: ±1 SD over the {_seeds(table)} of the matching; "
            "they do not include the sampling error of the test sets."
        )
    undefined = table.loc[table["matched_gap_mean"].isna(), "model"].tolist()
    if undefined:
        named = ", ".join(map(style.shortened, undefined[:3])) + ", …" * (len(undefined) > 3)
        notes.append(
            f"No target was matched for {len(undefined)} of the {len(table)} models ({named}): "
            "their matched accuracies are undefined and left out."
        )
    return "\n".join(notes)


def by_accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Sort models from least to most accurate on the original set, as the paper's figures do."""
    return table.sort_values(["accuracy_original", "model"], ignore_index=True)


def sampling_range(table: pd.DataFrame, level: float = LEVEL) -> Floats:
    """Compute half the width of the sampling range of a gap between equally hard sets."""
    variance = np.zeros(len(table))
    for origin in SETS:
        accuracy = table[f"accuracy_{origin}"].to_numpy(dtype=np.float64)
        variance += accuracy * (1 - accuracy) / table[f"n_{origin}"].to_numpy(dtype=np.float64)
    return normal_factor(level) * np.sqrt(variance)


def running_median(value: Floats, window: int) -> Floats:
    """Compute a centred running median."""
    half = [min(window // 2, i, len(value) - 1 - i) for i in range(len(value))]
    return np.array(
        [
            np.nan if np.isnan(value[i]) else np.nanmedian(value[i - h : i + h + 1])
            for i, h in enumerate(half)
        ]
    )


def _with_bars(rows: pd.Series | pd.DataFrame, name: str) -> tuple[Any, Any]:
    """Return values in percent, and the lengths of their bars down and up."""
    low, value, high = (
        100 * np.asarray(rows[f"{name}{end}"], np.float64) for end in ("_low", "", "_high")
    )
    return value, np.nan_to_num(np.abs(np.stack([low, high]) - value))


# --- One model

_HEIGHT = 2.1  # inches


def plot_one_model(
    table: pd.DataFrame, gaps: pd.DataFrame, title: str, level: float = LEVEL
) -> "Figure":
    """Plot accuracies, matched accuracies and gaps of one model."""
    row = table.iloc[0]
    gap = gaps.set_index("model").loc[row["model"]]
    with style.style():
        figure = style.new_figure(2 * COLUMN_WIDTH, _HEIGHT)
        left, right = figure.subplots(1, 2)
        _draw_accuracies(left, table, level)
        _draw_gaps(right, gap)
        style.set_title(figure, f"{row['model']}: {title_of(table, title)}")
        style.set_note(
            figure,
            f"Bars: {percent(level)} intervals; of matched accuracies ±1 SD over the random "
            "choices of the matching. Unmatched targets: "
            f"{100 * row['fraction_unmatched_mean']:.1f} %.",
        )
    return figure


def plot_one_gap(gap: pd.Series, title: str, note: str) -> "Figure":
    """Plot what the gap of one model consists of, and by how much matching narrows it."""
    real, reference = (100 * float(gap[f"{name}_narrowing"]) for name in ("same_size", "reference"))
    has_narrowing = bool(np.isfinite([real, reference]).any())
    with style.style():
        figure = style.new_figure(2 * COLUMN_WIDTH, _HEIGHT)
        panels = figure.subplots(1, 1 + has_narrowing, squeeze=False)[0]
        _draw_gaps(panels[0], gap)
        if has_narrowing:
            axes = panels[1]
            axes.plot([real, reference], [1, 0], color=_JOINED, linewidth=1.5, zorder=1)
            for at, value, look in ((1, real, MATCHED_GAP), (0, reference, GAP)):
                axes.plot([value], [at], look.marker, color=look.color, markersize=5)
            axes.set_yticks([1, 0], ["in samples", "if confidence\ngives no warning"])
            axes.set_ylim(-0.6, 1.6)
            axes.margins(x=0.1)
            axes.set_xlabel("Narrowing of the gap by matching (%)")
        subject = f"{gap['model']}: {gap['pair']}, {title}"
        style.set_title(figure, f"{subject}\nε = {gap['epsilon']:g}, 1 model")
        style.set_note(figure, note)
    return figure


def _draw_accuracies(axes: "Axes", table: pd.DataFrame, level: float) -> None:
    row, shifts = table.iloc[0], (0.12, -0.12)  # so that bars do not cover each other
    for at, what, name in ((1, "all", "accuracy_{}"), (0, "matched", "matched_accuracy_{}_mean")):
        ends = [100 * float(row[name.format(origin)]) for origin in SETS]
        heights = [at + shift for shift in shifts]
        axes.plot(ends, heights, color=_JOINED, linewidth=1.5, zorder=1)
        for origin, value, height in zip(SETS, ends, heights, strict=True):
            size, n = matched_counts(table), int(row[f"n_{origin}"])
            lengths: Any = 100 * np.nan_to_num(float(row[f"matched_accuracy_{origin}_std"]))
            if at:
                accuracy, size = row[f"accuracy_{origin}"], f"n = {count(n)}"
                found = clopper_pearson(round(float(accuracy) * n), n, level)
                lengths = 100 * np.array([[accuracy - found.low], [found.high - accuracy]])
            look = SETS[origin][at == 0]
            axes.errorbar(
                [value], [height], xerr=lengths, fmt=look.marker, color=look.color,
                label=f"{set_name(table, origin, role=True)}, {what} ({size})", **_BARS,
            )  # fmt: skip
    axes.set_yticks([1, 0], ["all points", "matched points"])
    axes.set_ylim(-0.6, 1.6)
    axes.set_xlabel("Accuracy (%)")
    style.legend_above(axes)


def _draw_gaps(axes: "Axes", gap: pd.Series) -> None:
    axes.axvline(0, **_ZERO)
    labels = ["matched gap", "of it at equal confidence", "of it with confidence", "gap"]
    names = ("matched_gap", "conditional_part", "confidence_part", "gap")
    for at, (name, label) in enumerate(zip(names, labels, strict=True)):
        look, (value, lengths) = (_GAPS | _PARTS)[name], _with_bars(gap, name)
        axes.errorbar(
            [value], [at], xerr=lengths[:, None], fmt=look.marker, color=look.color, label=label,
            **_BARS,
        )  # fmt: skip
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.set_xlabel("Original − replication (percentage points)")


# --- Accuracies and gaps of several models

# Inches: differences and unmatched targets, on the right; the panel on the left spans both.
_RIGHT_HEIGHTS = (1.7, 0.75)
_AROUND_PANELS = 1.75  # inches: titles, legends and labels
_INCHES_PER_LINE = 0.13
_ROW = 0.17  # inches of a model by itself
_FAINT = 0.3


def plot_matched_accuracy(
    table: pd.DataFrame, gaps: pd.DataFrame, title: str, level: float = LEVEL
) -> "Figure":
    """Plot accuracy and matched accuracy of both sets over models, and of many the gaps."""
    if len(table) == 1:
        return plot_one_model(table, gaps, title, level)
    bounds = gaps[["model", "matched_gap_low", "matched_gap_high"]]
    table = by_accuracy(table.merge(bounds, on="model", validate="one_to_one"))
    note = note_of(table)
    lines = 1 + style.fit_text(note, 2 * COLUMN_WIDTH).count("\n")
    room = _AROUND_PANELS + _INCHES_PER_LINE * lines
    with style.style():
        if len(table) <= FEW_MODELS:
            figure = style.new_figure(2 * COLUMN_WIDTH, _ROW * len(table) + room)
            _draw_few(figure, table)
        else:
            figure = style.new_figure(2 * COLUMN_WIDTH, sum(_RIGHT_HEIGHTS) + room)
            _draw_many(figure, table, level)
        message = f"{_message(table)}\n" if len(table) <= FEW_MODELS else ""
        style.set_title(figure, message + title_of(table, title))
        style.set_note(figure, note)
    return figure


def _message(table: pd.DataFrame) -> str:
    """Say how many models are less accurate on the replication."""
    whole, matched = (int((table[name] > 0).sum()) for name in ("gap", "matched_gap_mean"))
    return (
        f"{whole} of {len(table)} models are less accurate on {set_name(table, 'replication')}, "
        f"{matched} on matched datapoints"
    )


def _draw_few(figure: "Figure", table: pd.DataFrame) -> None:
    """Draw a model in each row: both accuracies, of all datapoints and of matched ones."""
    whole, matched, unmatched = figure.subplots(1, 3, sharey=True, width_ratios=(3, 3, 1.3))
    rows = np.arange(len(table))
    for axes, name, deviation, heading in (
        (whole, "accuracy_{}", "", "all datapoints"),
        (matched, "matched_accuracy_{}_mean", "matched_accuracy_{}_std", "matched datapoints"),
    ):
        values = {origin: 100 * table[name.format(origin)].to_numpy(np.float64) for origin in SETS}
        axes.hlines(rows, *values.values(), color=_JOINED, linewidth=1.2, zorder=1)
        for origin, value in values.items():
            look, spread = SETS[origin][0], deviation.format(origin)
            axes.errorbar(
                value, rows, xerr=100 * table[spread].to_numpy(np.float64) if spread else None,
                fmt=look.marker, color=look.color, markersize=4, elinewidth=3, alpha=0.9,
                label=f"{set_name(table, origin)} (n = {count(table[f'n_{origin}'].iloc[0])})",
            )  # fmt: skip
        axes.set_xlabel(f"Accuracy, {heading} (%)")
    matched.sharex(whole)
    style.legend_above(whole)
    share = 100 * table["fraction_unmatched_mean"].to_numpy(np.float64)
    unmatched.plot(share, rows, style.UNMATCHED.marker, color=style.UNMATCHED.color, markersize=4)
    unmatched.set_xlim(0, 1.1 * max(share.max(), 1.0))
    unmatched.set_xlabel("Unmatched\ntargets (%)")
    whole.set_yticks(rows, [style.shortened(name) for name in table["model"]])


def _draw_many(figure: "Figure", table: pd.DataFrame, level: float) -> None:
    """Draw points of models, and running medians of their accuracies, gaps and unmatched shares."""
    panels = figure.subplot_mosaic(
        [["accuracies", "gaps"], ["accuracies", "unmatched"]], height_ratios=_RIGHT_HEIGHTS
    )
    _draw_all_accuracies(panels["accuracies"], table)
    _draw_all_gaps(panels["gaps"], table, level)
    _draw_unmatched(panels["unmatched"], table)
    original, n = set_name(table, "original"), len(table)
    for panel in panels.values():
        panel.set_xticks([1, *range(_step(n), n + 1, _step(n))])
        panel.set_xlabel(f"Model, by increasing accuracy on {original}")
        panel.set_xlim(0.5 - 0.01 * n, 0.5 + 1.01 * n)
    panels["gaps"].tick_params(labelbottom=False)
    panels["gaps"].set_xlabel("")
    figure.align_ylabels([panels["gaps"], panels["unmatched"]])


def _step(n: int) -> int:
    """Return how many of n models lie between ticks."""
    return 10 if n <= 120 else 25 * -(-n // 300)


def _draw_all_accuracies(axes: "Axes", table: pd.DataFrame) -> None:
    for origin, (series, matched_series) in SETS.items():
        name, n = set_name(table, origin, role=True), count(table[f"n_{origin}"].iloc[0])
        _draw(axes, table, f"accuracy_{origin}", series, f"{name}, all (n = {n})")
        label = f"{name}, matched ({matched_counts(table)})"
        _draw(axes, table, f"matched_accuracy_{origin}", matched_series, label, has_seeds=True)
    _finish(axes, "Accuracy (%)", 6)


def _draw_all_gaps(axes: "Axes", table: pd.DataFrame, level: float) -> None:
    axes.axhline(0, **_ZERO)
    _draw(axes, table, "gap", GAP, "all points")
    label = f"matched points, {percent(level)} intervals"
    _draw(axes, table, "matched_gap", MATCHED_GAP, label, has_seeds=True)
    half = 100 * sampling_range(table, level)
    band = axes.stairs(
        half, np.arange(len(table) + 1) + 0.5, baseline=-half, fill=True, color="#dcdcdc",
        linewidth=0, zorder=0.6,  # above the grid
        label=f"{percent(level)} sampling range of no difference (all points)",
    )  # fmt: skip
    band.sticky_edges.y.clear()  # otherwise the axis would end at the upper edge of the band
    axes.update_datalim([(1, -half.max()), (1, half.max())])
    axes.autoscale_view()
    title = f"Accuracy on {set_name(table, 'original')} − on {set_name(table, 'replication')}"
    label = "Difference\n(percentage points)"
    _finish(axes, label, title=title, alignment="left", title_fontsize=6.5)


def _draw_unmatched(axes: "Axes", table: pd.DataFrame) -> None:
    series = replace(style.UNMATCHED, line="-")  # the only series of the panel
    target = target_of(table)
    label = f"unmatched of {set_name(table, target)} (n = {count(table[f'n_{target}'].iloc[0])})"
    _draw(axes, table, "fraction_unmatched", series, label, has_seeds=True)
    highest = table["fraction_unmatched_mean"] + table["fraction_unmatched_std"].fillna(0)
    axes.set_ylim(0, 1.1 * max(100 * highest.max(), 1.0))
    _finish(axes, "Unmatched\ntargets (%)")


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
    look: dict[str, Any] = series.line_options() | {"label": label, "markeredgewidth": 0}
    points: dict[str, Any] = {"markersize": 1.6, "markeredgewidth": 0, "alpha": 0.55}
    axes.plot(rank, value, "o", color=series.color, zorder=1.8, **points)
    axes.plot(rank, running_median(value, RUNNING_MEDIAN), linewidth=1.3, **look)
    if has_seeds:
        deviation = 100 * table[f"{quantity}_std"].to_numpy(dtype=np.float64)
        if f"{quantity}_low" in table:
            bounds = 100 * table[[f"{quantity}_low", f"{quantity}_high"]].to_numpy(np.float64).T
            deviation = np.abs(bounds - value)
        axes.errorbar(
            rank, value, deviation, fmt="none", elinewidth=0.8, color=series.color, alpha=_FAINT,
            zorder=1.5,
        )  # fmt: skip


def _finish(axes: "Axes", ylabel: str, intervals: int = 5, **legend: Any) -> None:
    """Add label, legend and ticks; with fewer intervals, only two ticks could be visible."""
    axes.set_ylabel(ylabel)
    style.legend_above(axes, **legend)
    style.set_round_ticks(axes, intervals)


# --- What the gaps of several models consist of

_PANEL_HEIGHT = 1.45  # inches
_AROUND = 1.3
_SHIFT = 0.16  # of two series at one model, so that their bars lie beside each other


def plot_gaps(
    table: pd.DataFrame, gaps: pd.DataFrame, mean: pd.Series, title: str, level: float = LEVEL
) -> "Figure":
    """Plot gap and matched gap, the parts of the gap, and narrowings, for models and their mean."""
    if len(gaps) == 1:
        return plot_one_gap(gaps.iloc[0], title, _note(mean, level))
    order = by_accuracy(table[["model", "accuracy_original"]])["model"]
    shown = pd.concat(
        [gaps.set_index("model").loc[order].reset_index(), pd.DataFrame([mean])], ignore_index=True
    )
    names = [*map(style.shortened, order), "mean"]
    narrowings = shown[["same_size_narrowing", "reference_narrowing"]].to_numpy(np.float64)
    n_panels, many = 2 + bool(np.isfinite(narrowings).any()), len(gaps) > FEW_MODELS
    height = n_panels * _PANEL_HEIGHT if many else 1.2 * _ROW * len(names)
    with style.style():
        figure = style.new_figure(2 * COLUMN_WIDTH, height + _AROUND)
        shape: dict[str, Any] = {"nrows": n_panels, "sharex": True}
        panels = figure.subplots(**shape if many else {"ncols": n_panels, "sharey": True})
        _draw_two(panels[0], shown, _GAPS, ("gap", "matched gap"))
        _draw_two(panels[1], shown, _PARTS, ("goes with confidence", "at equal confidence"))
        if n_panels > 2:
            _draw_narrowings(panels[2], 100 * narrowings)
        _label(panels[-1] if many else panels[0], names)
        for panel in panels:
            line = panel.axvline if many else panel.axhline
            line(len(gaps) + 0.5, color="#767676", linewidth=0.5)
        figure.align_labels(list(panels))
        models = counted(len(gaps), "model")
        style.set_title(figure, f"{mean['pair']}, {title}\nε = {mean['epsilon']:g}, {models}")
        medians = f" Lines: running medians of {RUNNING_MEDIAN} models." * many
        style.set_note(figure, _note(mean, level) + medians)
    return figure


def _draw_two(
    axes: "Axes", shown: pd.DataFrame, series: Mapping[str, SeriesStyle], labels: tuple[str, str]
) -> None:
    """Plot two quantities with their intervals, beside each other at every model."""
    many = len(shown) > FEW_MODELS + 1
    (axes.axhline if many else axes.axvline)(0, **_ZERO)
    for (name, look), label, shift in zip(series.items(), labels, (-_SHIFT, _SHIFT), strict=True):
        value, lengths = _with_bars(shown, name)
        at = np.arange(1, len(shown) + 1) + (shift if many else -shift)
        x, y, bar = (at, value, "yerr") if many else (value, at, "xerr")
        _, _, (bars,) = axes.errorbar(
            x, y, **{bar: lengths}, fmt=look.marker, color=look.color, elinewidth=0.8, label=label,
            **point_options(len(shown)),
        )  # fmt: skip
        if many:  # bars of many models would hide points and medians
            bars.set(alpha=0.2, linewidth=0.5)
            _draw_median(axes, value, look)
    _finish_gaps(axes, "Percentage points", many=many)


def _finish_gaps(axes: "Axes", label: str, *, many: bool) -> None:
    if many:
        _finish(axes, label)
    else:
        axes.set_xlabel(label)
        style.legend_above(axes)


def _draw_median(axes: "Axes", value: Floats, look: SeriesStyle) -> None:
    """Draw the running median over the models, without their mean at the end."""
    median, rank = running_median(value[:-1], RUNNING_MEDIAN), np.arange(1, len(value))
    axes.plot(rank, median, color="white", linewidth=2.6, zorder=2.9)
    axes.plot(rank, median, color=look.color, zorder=3, linewidth=1.4)


def _draw_narrowings(axes: "Axes", narrowings: Floats) -> None:
    """Join the narrowing of each model to that of its reference, its columns, in percent."""
    rank, many = np.arange(1, len(narrowings) + 1), len(narrowings) > FEW_MODELS + 1
    real, reference = narrowings.T
    ends = np.insert(narrowings, 2, np.nan, axis=1).ravel()

    def plot(values: Floats, at: npt.NDArray[np.number], *args: Any, **look: Any) -> None:
        axes.plot(*((at, values) if many else (values, at)), *args, **look)

    width = 0.3 if many else 0.8
    plot(ends, np.repeat(rank, 3), color=_JOINED, linewidth=width, zorder=1)
    plot(
        real, rank, MATCHED_GAP.marker, color=MATCHED_GAP.color, label="narrower by, in samples",
        **point_options(len(rank)),
    )  # fmt: skip
    plot(
        reference, rank, "_" if many else "|", color="#000000", markersize=2 if many else 6,
        alpha=0.6 if many else 1, label="if confidence gives no warning",
    )  # fmt: skip
    if many:
        _draw_median(axes, real, MATCHED_GAP)
        _draw_median(axes, reference, GAP)
    _finish_gaps(axes, "Narrowing (%)", many=many)


def _label(axes: "Axes", names: list[str]) -> None:
    n = len(names)
    if n - 1 <= FEW_MODELS:
        axes.set_yticks(range(1, n + 1), names)
        axes.set_ylim(0.4, n + 0.6)
        return
    ticks = [1, *range(_step(n), n - _step(n) // 2, _step(n))]
    axes.set_xticks([*ticks, n], [*map(str, ticks), "mean"])
    axes.set_xlabel("Model, by increasing accuracy on the original, and mean over models")
    axes.set_xlim(0.4, n + 0.6)


def _note(mean: pd.Series, level: float) -> str:
    """Say what intervals are of."""
    sampled = "images, which both sets show" if mean["paired"] else "datapoints"
    if mean["n_groups"]:
        sampled = f"groups (at least {mean['n_groups']} in a set)"
    sizes = f"{mean['n_reference_original']:,} and {mean['n_reference_replication']:,} datapoints"
    return (
        f"Bars: {percent(level)} intervals for the sampling of {sampled}. Samples: of {sizes}. "
        "Narrowings are left out where the gap is not positive or does not exceed twice its error."
    )
