"""The figures of all models of a pair: their gaps, and accuracy against mean confidence."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.figures import style
from matcheval.figures.forms import (
    FEW_MODELS,
    JOINED,
    RUNNING_MEDIAN,
    Floats,
    Series,
    drawing,
    intervals,
    join,
    name_rows,
    scatter,
    square,
)
from matcheval.figures.style import COLUMN_WIDTH, GAP, MATCHED_GAP, SETS, SeriesStyle, count
from matcheval.io.text_tables import counted, level_text
from matcheval.statistics.intervals import LEVEL, clopper_pearson, normal_factor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_SET_CHARACTERS = 20
_GAPS = (Series("gap", GAP, "gap"), Series("matched_gap", MATCHED_GAP, "matched gap"))
_PARTS = (
    Series("confidence_part", SETS["original"][1], "explained by confidence"),
    Series("conditional_part", SETS["replication"][0], "at equal confidence"),
)


def target_origin(table: pd.DataFrame) -> str:
    """Return the origin of the target set: `original` or `replication`."""
    first = table.iloc[0]
    return "replication" if first["source"] == first["original"] else "original"


def set_name(table: pd.DataFrame, origin: str, *, role: bool = False) -> str:
    """Return the shortened name of a set; with `role`, also whether it is source or target."""
    name = style.shortened(str(table[origin].iloc[0]), _MAX_SET_CHARACTERS)
    return f"{name} ({'target' if origin == target_origin(table) else 'source'})" if role else name


def matched_size(table: pd.DataFrame) -> str:
    """Format the size of the matched subsets: mean over seeds, as a range over models."""
    matched = table[f"n_{target_origin(table)}"] * (1 - table["fraction_unmatched_mean"])
    low, high = count(matched.min()), count(matched.max())
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def figure_title(table: pd.DataFrame, matching: str) -> str:
    """Return a figure's title: sets, matching, ε, and numbers of models and seeds."""
    first, models = table.iloc[0], model_name_or_number(table["model"])
    return f"{sets_of(first)}, {matching}\nε = {first['epsilon']:g}, {models}, {_seeds_text(table)}"


def sets_of(row: pd.Series) -> str:
    """Return the names of the original set and its replication with an arrow between."""
    return " → ".join(style.shortened(str(row[origin])) for origin in SETS)


def model_name_or_number(models: pd.Series) -> str:
    """Return the name of the only model or, of several, their number."""
    return str(models.iloc[0]) if len(models) == 1 else counted(len(models), "model")


def _seeds_text(table: pd.DataFrame) -> str:
    least, most = int(table["n_seeds"].min()), int(table["n_seeds"].max())
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{number} seed{'s' * (most != 1)}"


def figure_note(table: pd.DataFrame, level: float) -> str:
    """Explain a figure's points, lines and bars, and name models without matched pairs."""
    notes = []
    if len(table) > FEW_MODELS:
        notes.append(
            f"Points: models. Lines: running medians of {RUNNING_MEDIAN} models "
            "(of fewer at both ends)."
        )
    else:
        notes.append(f"Bars of accuracies on all datapoints: {level_text(level)} intervals.")
    if table["n_seeds"].max() > 1:
        notes.append(
            f"Bars of matched accuracies and of shares: ±1 SD over the {_seeds_text(table)} of the "
            "matching; they do not include the sampling error of the test sets."
        )
    undefined = table.loc[table["matched_gap_mean"].isna(), "model"].tolist()
    if undefined:
        named = ", ".join(map(style.shortened, undefined[:3])) + ", …" * (len(undefined) > 3)
        notes.append(
            f"No target was matched for {len(undefined)} of the {len(table)} models ({named}): "
            "their matched accuracies are undefined and left out."
        )
    return "\n".join(notes)


def sort_by_accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Sort models from least to most accurate on the original set, as the paper's figures do."""
    return table.sort_values(["accuracy_original", "model"], ignore_index=True)


def sampling_range(table: pd.DataFrame, level: float = LEVEL) -> Floats:
    """Return, per model, how far from 0 chance alone puts a gap between equally hard sets."""
    variance = np.zeros(len(table))
    for origin in SETS:
        accuracy = table[f"accuracy_{origin}"].to_numpy(dtype=np.float64)
        variance += accuracy * (1 - accuracy) / table[f"n_{origin}"].to_numpy(dtype=np.float64)
    return normal_factor(level) * np.sqrt(variance)


# Inches: differences and unmatched targets, on the right; the panel on the left spans both.
_RIGHT_HEIGHTS = (1.7, 0.75)
_AROUND_PANELS = 1.75  # inches: titles, legends and labels
_INCHES_PER_LINE = 0.13
_ROW = 0.17  # inches of a model by itself


def plot_matched_accuracy(
    table: pd.DataFrame, gaps: pd.DataFrame, title: str, level: float = LEVEL
) -> "Figure":
    """Plot models' accuracies and matched accuracies on both sets and, of many models, gaps."""
    bounds = gaps[["model", "matched_gap_low", "matched_gap_high"]]
    table = sort_by_accuracy(table.merge(bounds, on="model", validate="one_to_one"))
    table = _with_bounds(table, level)
    note, few = figure_note(table, level), len(table) <= FEW_MODELS
    lines = 1 + style.fit_text(note, 2 * COLUMN_WIDTH).count("\n")
    height = _ROW * max(len(table), 2) if few else sum(_RIGHT_HEIGHTS)
    heading = f"{_headline(table)}\n" * (few and len(table) > 1) + figure_title(table, title)
    size = 2 * COLUMN_WIDTH, height + _AROUND_PANELS + _INCHES_PER_LINE * lines
    with drawing(*size, heading, note) as figure:
        if few:
            _draw_few(figure, table.iloc[::-1])
        else:
            _draw_many(figure, table, level)
    return figure


def _with_bounds(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Add the ends of error bars: intervals of accuracies; ±1 SD over seeds of matched ones."""
    columns: dict[str, Any] = {"matched_gap": table["matched_gap_mean"]}
    names = [f"matched_accuracy_{origin}" for origin in SETS]
    for name in (*names, "fraction_unmatched"):
        mean, deviation = table[f"{name}_mean"], table[f"{name}_std"]
        columns |= {name: mean, f"{name}_low": mean - deviation, f"{name}_high": mean + deviation}
    for origin in SETS:
        n = table[f"n_{origin}"]
        bounds = clopper_pearson((table[f"accuracy_{origin}"] * n).round(), n, level)
        columns |= {f"accuracy_{origin}_low": bounds.low, f"accuracy_{origin}_high": bounds.high}
    return table.assign(**columns)


def _headline(table: pd.DataFrame) -> str:
    """Say how many models are less accurate on the replication, before and after matching."""
    whole, matched = (int((table[name] > 0).sum()) for name in ("gap", "matched_gap"))
    return (
        f"{whole} of {len(table)} models are less accurate on {set_name(table, 'replication')}, "
        f"{matched} on matched datapoints"
    )


def _draw_few(figure: "Figure", table: pd.DataFrame) -> None:
    """Draw a row per model: accuracies on both sets, matched accuracies and unmatched targets."""
    whole, matched, unmatched = figure.subplots(1, 3, sharey=True, width_ratios=(3, 3, 1.3))
    look: dict[str, Any] = {"markersize": 4, "alpha": 0.9}
    for axes, name, width, heading in (
        (whole, "accuracy", 0.8, "all"), (matched, "matched_accuracy", 3, "matched"),
    ):  # fmt: skip
        join(axes, table, (f"{name}_original", f"{name}_replication"), linewidth=1.2)
        series = [
            Series(f"{name}_{origin}", looks[0], f"{set_name(table, origin)} (n = {count(n)})")
            for origin, looks in SETS.items()
            for n in [table[f"n_{origin}"].iloc[0]]
        ]
        intervals(axes, table, series, spread=0, elinewidth=width, **look)
        axes.set_xlabel(f"Accuracy, {heading} datapoints (%)")
    matched.sharex(whole)
    style.legend_above(whole)
    share = Series("fraction_unmatched_mean", style.UNMATCHED)
    intervals(unmatched, table, [share], **look)
    unmatched.set_xlim(0, 110 * max(table["fraction_unmatched"].max(), 0.01))
    unmatched.set_xlabel("Unmatched\ntargets (%)")
    name_rows(whole, table["model"].tolist())


def _draw_many(figure: "Figure", table: pd.DataFrame, level: float) -> None:
    """Draw accuracies, gaps and unmatched targets as a point per model and running medians."""
    accuracies, gaps, unmatched = figure.subplot_mosaic(
        [["accuracies", "gaps"], ["accuracies", "unmatched"]], height_ratios=_RIGHT_HEIGHTS
    ).values()
    for origin, (whole, matched) in SETS.items():
        name, n = set_name(table, origin, role=True), count(table[f"n_{origin}"].iloc[0])
        label = f"{name}, matched ({matched_size(table)})"
        _draw_models(
            accuracies, table,
            Series(f"accuracy_{origin}", whole, f"{name}, all (n = {n})", "none"),
            Series(f"matched_accuracy_{origin}", matched, label),
        )  # fmt: skip
    _finish_panel(accuracies, "Accuracy (%)", 6)
    label = f"matched points, {level_text(level)} intervals"
    plain = Series("gap", GAP, "all points", "none")
    _draw_models(gaps, table, plain, Series("matched_gap", MATCHED_GAP, label))
    _draw_sampling_range(gaps, table, level)
    title = f"Accuracy on {set_name(table, 'original')} − on {set_name(table, 'replication')}"
    label = "Difference\n(percentage points)"
    _finish_panel(gaps, label, title=title, alignment="left", title_fontsize=6.5)
    target = target_origin(table)
    label = f"unmatched of {set_name(table, target)} (n = {count(table[f'n_{target}'].iloc[0])})"
    share = Series("fraction_unmatched", replace(style.UNMATCHED, line="-"), label)
    _draw_models(unmatched, table, share)
    highest = table["fraction_unmatched_high"].fillna(table["fraction_unmatched"]).max()
    unmatched.set_ylim(0, 110 * max(highest, 0.01))
    _finish_panel(unmatched, "Unmatched\ntargets (%)")
    for panel in (accuracies, gaps, unmatched):
        _number_models(panel, len(table))
        panel.set_xlabel(f"Model, by increasing accuracy on {set_name(table, 'original')}")
    gaps.tick_params(labelbottom=False)
    gaps.set_xlabel("")
    figure.align_ylabels([gaps, unmatched])


def _draw_models(axes: "Axes", table: pd.DataFrame, *series: Series) -> None:
    """Draw a point per model, and running medians as lines."""
    options = {"markersize": 1.6, "alpha": 0.55}
    intervals(axes, table, series, spread=0, upright=True, medians=len(table), **options)


def _draw_sampling_range(axes: "Axes", table: pd.DataFrame, level: float) -> None:
    half = 100 * sampling_range(table, level)
    band = axes.stairs(
        half, np.arange(len(table) + 1) - 0.5, baseline=-half, fill=True, color="#dcdcdc",
        linewidth=0, zorder=0.6,  # above the grid
        label=f"{level_text(level)} sampling range of no difference (all points)",
    )  # fmt: skip
    band.sticky_edges.y.clear()  # otherwise the axis would end at the upper edge of the band
    axes.update_datalim([(1, -half.max()), (1, half.max())])
    axes.autoscale_view()
    style.draw_zero(axes)


def _number_models(axes: "Axes", n: int, *, mean: bool = False) -> None:
    """Number models from 1 along the x axis, with their mean at the end if there is one."""
    step = 10 if n <= 120 else 25 * -(-n // 300)
    ticks = [1, *range(step, n + 1 - mean * step // 2, step)]
    labels = [*map(str, ticks), *["mean"] * mean]
    axes.set_xticks([tick - 1 for tick in ticks] + [n] * mean, labels)
    axes.set_xlim(-0.5 - 0.01 * n, n - 0.5 + 0.01 * n + mean)


def _finish_panel(axes: "Axes", ylabel: str, max_tick_intervals: int = 5, **legend: Any) -> None:
    """Add the label of the y axis, round ticks, and a legend above the panel."""
    axes.set_ylabel(ylabel)
    style.legend_above(axes, **legend)
    style.set_round_ticks(axes, max_tick_intervals)  # of fewer, only two might be visible


_PANEL_HEIGHT = 1.45  # inches
_AROUND = 1.3


def plot_gaps(
    table: pd.DataFrame, gaps: pd.DataFrame, mean: pd.Series, title: str, level: float = LEVEL
) -> "Figure":
    """Plot gaps, matched gaps, parts of the gaps, and narrowings, of models and their mean."""
    order, n = sort_by_accuracy(table[["model", "accuracy_original"]])["model"], len(gaps)
    shown, many = gaps.set_index("model").loc[order].reset_index(), n > FEW_MODELS
    if n > 1:
        mean_row = pd.DataFrame([mean]).assign(model="mean")
        shown = pd.concat([shown, mean_row], ignore_index=True)
    shown = shown if many else shown.iloc[::-1]
    reference = SeriesStyle("#000000", "-", "_" if many else "|")
    narrowings = (
        Series("same_size_narrowing", MATCHED_GAP, "reduction, in samples"),
        Series("reference_narrowing", reference, "if confidence explained nothing"),
    )
    columns = ["same_size_narrowing", "reference_narrowing"]
    kinds = [(_GAPS, "Percentage points"), (_PARTS, "Percentage points")]
    if shown[columns].notna().to_numpy().any():
        kinds.append((narrowings, "Narrowing (%)"))
    height = len(kinds) * _PANEL_HEIGHT if many else 1.2 * _ROW * max(len(shown), 2)
    models = model_name_or_number(gaps["model"])
    heading = f"{sets_of(mean)}, {title}\nε = {mean['epsilon']:g}, {models}"
    medians = f" Lines: running medians of {RUNNING_MEDIAN} models." * many
    size = 2 * COLUMN_WIDTH, height + _AROUND
    with drawing(*size, heading, _intervals_note(mean, level) + medians) as figure:
        shape: dict[str, Any] = {"nrows": len(kinds), "sharex": True}
        axes = figure.subplots(**shape if many else {"ncols": len(kinds), "sharey": True})
        for panel, (series, label) in zip(axes, kinds, strict=True):
            if series is narrowings:
                join(panel, shown, columns, upright=many, linewidth=0.3 if many else 0.8)
                intervals(panel, shown, series, spread=0, upright=many, medians=n * many)
            else:
                style.draw_zero(panel, upright=not many)
                intervals(panel, shown, series, upright=many, medians=n * many)
            if n > 1:  # apart from the mean
                (panel.axvline(n - 0.5, **_APART) if many else panel.axhline(0.5, **_APART))
            if many:
                _finish_panel(panel, label)
            else:
                panel.set_xlabel(label)
                style.legend_above(panel)
        if many:
            _number_models(axes[-1], n, mean=True)
            axes[-1].set_xlabel("Model, by increasing accuracy on the original, and mean")
        else:
            name_rows(axes[0], shown["model"].tolist())
        figure.align_labels(list(axes))
    return figure


_APART: dict[str, Any] = {"color": "#767676", "linewidth": 0.5}


def _intervals_note(mean: pd.Series, level: float) -> str:
    """Say what intervals account for, how large samples are, and which narrowings are missing."""
    sampled = "images, which both sets show" if mean["paired"] else "datapoints"
    if mean["n_groups"]:
        sampled = f"groups (at least {mean['n_groups']} in a set)"
    sizes = f"{mean['n_reference_original']:,} and {mean['n_reference_replication']:,} datapoints"
    return (
        f"Bars: {level_text(level)} intervals for the sampling of {sampled}. Samples: of {sizes}. "
        "Narrowings are left out where the gap is not positive or does not exceed twice its error."
    )


# --- accuracy against mean confidence, one point per model and set (Anzaku et al. 2022, Figure 1)

MAX_JOINED_MODELS = 60  # with more, the points of a model are not joined
_MARGIN = 2.0  # percentage points around the points
_MARGIN_BELOW = 0.05  # inches


def plot_confidence(table: pd.DataFrame) -> "Figure":
    """Draw each model's accuracy against its mean confidence on both sets of a pair."""
    x, y = (
        100 * table[[f"{kind}_{origin}" for origin in style.SETS]].to_numpy(np.float64)
        for kind in ("confidence", "accuracy")
    )
    # Limits that both axes share: all points, with a margin around.
    low = max(float(min(x.min(), y.min())) - _MARGIN, -1.0)
    high = min(float(max(x.max(), y.max())) + _MARGIN, 101.0)
    points = "a point per set" if len(table) == 1 else "a point per model and set"
    title = f"{sets_of(table.iloc[0])}: {model_name_or_number(table['model'])}, {points}"
    with drawing(style.COLUMN_WIDTH, 1.4 * style.COLUMN_WIDTH, title) as figure:
        axes = figure.add_subplot(anchor="N")
        for origin, (look, _) in style.SETS.items():
            name, n = style.shortened(str(table[origin].iloc[0])), table[f"n_{origin}"].iloc[0]
            edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.3}
            label = f"{name} (n = {style.count(n)})"
            columns = f"confidence_{origin}", f"accuracy_{origin}"
            scatter(axes, table, *columns, look, label=label, **edge)
        if len(table) <= MAX_JOINED_MODELS:
            # The two points of each model are joined; all segments are one line with gaps.
            ends = (np.insert(values, 2, np.nan, axis=1).ravel() for values in (x, y))
            axes.plot(*ends, color=JOINED, linewidth=0.5, zorder=2, label="the same model")
        square(axes, low, high, "confidence = accuracy (below it: overconfident)")
        axes.set(xlabel="Mean confidence (%)", ylabel="Accuracy (%)")
        style.legend_above(axes)
    _trim_below(figure, axes)
    return figure


def _trim_below(figure: "Figure", axes: "Axes") -> None:
    """Cut off the empty space below the panel, which is square and need not fill the figure."""
    with style.style():
        figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    drawn = axes.get_tightbbox()
    if drawn is not None:
        figure.set_size_inches(width, height - drawn.y0 / figure.dpi + _MARGIN_BELOW)
