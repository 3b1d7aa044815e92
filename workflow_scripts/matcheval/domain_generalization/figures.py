"""Figures of domain generalisation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.plots import COLORS, colors_and_markers, draw_line
from matcheval.accuracy_prediction.predicting import titles
from matcheval.domain_generalization import tables
from matcheval.domain_generalization.plan import ERM
from matcheval.figures import forms, style
from matcheval.figures.forms import Series, drawing, panels, point_options
from matcheval.io.text_tables import signed
from matcheval.statistics.lines import rank_correlations

_ROW = 0.17  # inches per algorithm
_MOST_PANELS = 3  # beside each other
_PANEL, _LINE = 2.25, 0.12  # inches: side of a panel, an algorithm in its legend
_FEW = 4  # algorithms; of more, one legend has the names, and tables the correlations


@dataclass(frozen=True)
class FigureData:
    """The tables that figures are drawn from, with the selection and algorithm to show."""

    runs: pd.DataFrame
    curves: pd.DataFrame
    results: pd.DataFrame
    gains: pd.DataFrame
    selection: str
    algorithm: str


def gain_by_set(data: FigureData) -> "style.Figure":
    """Plot the gain over ERM by ERM's accuracy, per target set (Sun et al. 2024, Figure 5A)."""
    gains = data.gains
    chosen = gains[(gains["selection"] == data.selection) & (gains["algorithm"] == data.algorithm)]
    # The targets of a design, one of each block, share a panel.
    panels = list(chosen.groupby(chosen["design"].where(chosen["design"] != "", chosen["block"])))
    looks = colors_and_markers(dict.fromkeys(gains["column"]))
    high, wide = style.grid_shape(len(panels), _MOST_PANELS)
    size = max(2.25 * wide, style.COLUMN_WIDTH), 0.4 + 2.2 * high
    with drawing(*size, "", legend_columns=4) as figure:
        places = figure.add_gridspec(high, wide)
        for number, (title, rows) in enumerate(panels):
            part = figure.add_subfigure(places[number])
            grid = part.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(1, 5))
            axes = part.add_subplot(grid[1, 0])
            x, y = 100 * rows["accuracy_erm"].to_numpy(), 100 * rows["gain"].to_numpy()
            for name, points in rows.groupby("column", sort=False):
                color, marker = looks[str(name)]
                axes.plot(
                    100 * points["accuracy_erm"], 100 * points["gain"], marker, color=color,
                    label=str(name), **point_options(len(rows)),
                )  # fmt: skip
            axes.axhline(0, **style.REFERENCE)
            axes.set_xlabel("Accuracy of ERM (%)")
            axes.set_ylabel(f"Gain of {tables.TITLES[data.algorithm]} (points)")
            above = part.add_subplot(grid[0, 0], sharex=axes)
            beside = part.add_subplot(grid[1, 1], sharey=axes)
            _draw_density(above, x, upright=True)
            _draw_density(beside, y, upright=False)
            above.set_title(str(title))
    return figure


def gain_by_algorithm(data: FigureData) -> "style.Figure":
    """Plot algorithms' gains over ERM, by block, for default and selected hyper-parameters."""
    means = tables.overall_rows(data.results)
    selections = list(dict.fromkeys(("default", data.selection)))
    shown = means["selection"].isin(selections) & means["gain"].notna()
    kept = means[(means["algorithm"] != ERM) & ~means["same_as_erm"] & shown]
    names = list(dict.fromkeys(kept["algorithm"]))
    blocks = list(kept.groupby(["design", "block"], sort=False))
    high, wide = style.grid_shape(len(blocks), _MOST_PANELS)
    size = 0.9 + 1.9 * wide, 0.4 + high * (0.6 + _ROW * 2 * max(1, len(names)))
    series = [
        Series(f"{name}/gain", style.SeriesStyle(color, "-", marker), name.replace("_", " "))
        for name, color, marker in zip(selections, COLORS, "os", strict=False)
    ]
    with drawing(*size, "", legend_columns=2) as figure:
        axes = panels(figure, len(blocks), _MOST_PANELS)
        for panel, ((design, block), rows) in zip(axes, blocks, strict=True):
            gains = rows.set_index("algorithm")[["gain", "gain_low", "gain_high"]]
            by_selection = [gains[(rows["selection"] == name).to_numpy()] for name in selections]
            beside = map(pd.DataFrame.add_prefix, by_selection, (f"{name}/" for name in selections))
            forms.intervals(panel, pd.concat([*beside], axis=1).reindex(names), series)
            panel.axvline(0, **style.REFERENCE)
            panel.set_title(str(design or block))
            panel.set_xlabel("Gain over ERM (points)")
            forms.name_rows(panel, [tables.TITLES[name] for name in names])
    return figure


def by_sources(data: FigureData) -> "style.Figure":
    """Plot each algorithm's mean accuracy by the number of sources (Sun et al. 2024, A.2.3)."""
    results = data.results
    rows = results[(results["column"] == tables.MEAN) & (results["selection"] == data.selection)]
    in_blocks = rows[rows["design"] == ""]  # designs have other target sets
    rows = in_blocks if len(in_blocks) else rows[rows["block"] == tables.AVERAGE]
    looks = colors_and_markers(dict.fromkeys(rows["algorithm"]))
    with drawing(style.COLUMN_WIDTH, style.COLUMN_WIDTH, "", legend_columns=4) as figure:
        axes = figure.add_subplot()
        for number, (name, (color, marker)) in enumerate(looks.items()):
            points = rows[rows["algorithm"] == name].sort_values("n_sources", kind="stable")
            shift = 0.5 * (number / max(1, len(looks) - 1) - 0.5)
            axes.errorbar(
                points["n_sources"] + shift, 100 * points["mean"],
                yerr=100 * points["sd"].fillna(0), fmt=marker, color=color, linewidth=0.6,
                label=tables.TITLES[name], fillstyle="full" if number < len(COLORS) else "none",
            )  # fmt: skip
        axes.set_xticks(sorted(set(rows["n_sources"])))
        axes.set_xlim(min(rows["n_sources"]) - 0.5, max(rows["n_sources"]) + 0.5)
        axes.set_xlabel("Number of source sets")
        axes.set_ylabel("Accuracy on target sets (%), ±1 SD")
    return figure


def learning_curves(data: FigureData) -> "style.Figure":
    """Plot validation accuracy by training step, mean over seeds of the default groups."""
    runs = data.runs
    default = runs[(runs["group"] == 0) & (runs["state"] == "trained")]
    default = default[default["purpose"] != "selection"]
    steps = default.merge(data.curves, on="model", suffixes=("_best", ""))
    by_sources = list(steps.groupby("sources", sort=False))
    names = list(dict.fromkeys(steps["algorithm"]))
    high, wide = style.grid_shape(len(by_sources), _MOST_PANELS)
    size = max(2.2 * wide, style.COLUMN_WIDTH), 0.5 + 1.9 * high
    with drawing(*size, "", legend_columns=4) as figure:
        axes = panels(figure, len(by_sources), _MOST_PANELS)
        for panel, (sources, source_steps) in zip(axes, by_sources, strict=True):
            for name, rows in source_steps.groupby("algorithm", sort=False):
                number = names.index(str(name))
                line = "-" if number < len(COLORS) else "--"
                look = style.SeriesStyle(COLORS[number % len(COLORS)], line, "")
                means = rows.groupby("step")[["validation_accuracy"]].mean()
                series = Series("validation_accuracy", look, tables.TITLES[str(name)])
                forms.curves(panel, means, [series])
            panel.set_title(style.shortened(str(sources), 40))
            panel.set(xlabel="Steps", ylabel="Validation accuracy (%)")
            panel.label_outer()
    return figure


def draw_scores(scored: pd.DataFrame, selection: str) -> "style.Figure":
    """Plot label-free scores against accuracies on target sets (Sun et al. 2024, Figure 5B)."""
    rows = scored[(scored["selection"] == selection) & np.isfinite(scored["score"])]
    keys = ["block", "method", "variant", "algorithm", "dataset"]
    means = rows.groupby(keys, sort=False)[["score", "accuracy"]].mean().reset_index()
    means["title"] = titles(means)
    blocks, methods = (list(dict.fromkeys(means[name])) for name in ("block", "title"))
    algorithms = list(dict.fromkeys(means["algorithm"]))
    few = len(algorithms) <= _FEW
    height = _PANEL + few * _LINE * len(algorithms)
    size = _PANEL * max(2, len(methods)), 0.2 + height * max(1, len(blocks))
    title = "" if few else "Scores against accuracies on target sets"
    with drawing(*size, title, legend_columns=0 if few else 5) as figure:
        panels = figure.subplots(max(1, len(blocks)), max(1, len(methods)), squeeze=False)
        for row, block in zip(panels, blocks, strict=False):
            for axes, method in zip(row, methods, strict=True):
                part = means[(means["block"] == block) & (means["title"] == method)]
                _draw_method(axes, part, algorithms, with_rank=few)
                title = f"{style.shortened(str(block), 20)}: {method}"
                if few:
                    style.legend_above(axes, title=title, title_fontsize=style.LABEL_SIZE)
                else:
                    axes.set_title(title)
                axes.set_xlabel("Score")
                axes.set_ylabel("Accuracy (%)")
    return figure


def _draw_method(
    axes: "style.Axes", part: pd.DataFrame, algorithms: list[str], *, with_rank: bool
) -> None:
    """Plot one method's scores against accuracies, with a line per algorithm."""
    looks = colors_and_markers(algorithms)
    for name, rows in part.groupby("algorithm", sort=False):
        color, marker = looks[str(name)]
        x, y = rows["score"].to_numpy(), 100 * rows["accuracy"].to_numpy()
        rank = rank_correlations(x, y)[0]
        label = tables.TITLES[str(name)] + f", ρ = {signed(rank, 2)}" * with_rank
        axes.plot(x, y, marker, color=color, label=label, **point_options(len(part), 3.0))
        draw_line(axes, x, y, color)


def _draw_density(
    axes: "style.Axes", values: Sequence[float] | np.ndarray, *, upright: bool
) -> None:
    """Draw a kernel density estimate of values beside a panel; nothing if all are equal."""
    from scipy.stats import gaussian_kde

    axes.set_axis_off()
    if len(values) < 3 or np.ptp(values) == 0:
        return
    margin = 0.1 * np.ptp(values)
    grid = np.linspace(np.min(values) - margin, np.max(values) + margin, 200)
    height = gaussian_kde(values)(grid)
    fill = axes.fill_between if upright else axes.fill_betweenx
    fill(grid, height, color=COLORS[0], alpha=0.3, linewidth=0)


KINDS: Mapping[str, Callable[[FigureData], "style.Figure"]] = {
    "gain_by_set": gain_by_set,
    "gain_by_algorithm": gain_by_algorithm,
    "by_sources": by_sources,
    "learning_curves": learning_curves,
}


def plot_results(
    *, kind: str, selection: str, algorithm: str, runs: Path, curves: Path, results: Path,
    gains: Path, outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Read the tables of results, and draw and save one of the figures `KINDS`."""
    data = FigureData(
        tables.RUNS.read(runs).to_pandas(), tables.CURVES.read(curves).to_pandas(),
        tables.RESULTS.read(results).to_pandas(), tables.GAINS.read(gains).to_pandas(),
        selection, algorithm,
    )  # fmt: skip
    style.save_figure(KINDS[kind](data), *outputs)
