"""Scatter plots of accuracy on the replication against the original, a point for each model.

Recht et al. (2019), arXiv 1902.10811: Fig. 1 (CIFAR-10) and Fig. 2 (ImageNet), and the probit
axes of appendix C.2.
"""

from typing import Any

import numpy as np
import pandas as pd

from matcheval.errors import listed
from matcheval.figures import style
from matcheval.figures.forms import drawing, point_options, scatter, square
from matcheval.io.text_tables import counted
from matcheval.statistics.lines import Scale, from_scale, to_scale

_MARGIN = 0.04  # around points and intervals, as a fraction of their range on the scale
_MAX_NAMED = 6  # models, in the note
_MAX_TICKS = 8
_HOLLOW = {"markerfacecolor": "white", "markeredgewidth": 0.5}
# Possible ticks of probit axes, in percent; `_probit_ticks` selects among them.
_PROBIT_TICKS = (
    0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 99,
    99.5, 99.9, 99.99,
)  # fmt: skip


def plot_replication(
    results: pd.DataFrame, fit: pd.Series, region: pd.DataFrame, scale: Scale
) -> "style.Figure":
    """Plot replication against original accuracy, with intervals, fit and confidence region."""
    x, y = "accuracy_original", "accuracy_replication"
    drawn = results
    if scale is Scale.PROBIT:  # on which 0 and 1 have no finite coordinates
        drawn = results[results[[x, y]].gt(0).all(axis=1) & results[[x, y]].lt(1).all(axis=1)]
    excluded = set(f"{fit['left_out']} {fit['extreme']}".split())
    if fit["extremes"] == "clip":
        excluded -= set(fit["extreme"].split())
    line = region[region["scale"] == scale.value]
    look = style.FITTED.line_options()
    title = f"{results['pair'].iloc[0]}: {counted(len(results), 'model')}, a point each"
    note = _note(results, fit, len(results) - len(drawn))
    height = style.COLUMN_WIDTH + 0.75  # room for title, legend and note
    with drawing(style.COLUMN_WIDTH, height, title, note) as figure:
        axes = figure.add_subplot()
        set_scale(axes, drawn, x, y, scale)
        axes.fill_between(
            100 * line["accuracy_original"], 100 * line["low"], 100 * line["high"],
            color=style.FITTED.color, alpha=0.25, linewidth=0, zorder=2,
            label=f"{100 * fit['confidence']:g} % region of the line",
        )  # fmt: skip
        name = f"{fit['scale']} fit, slope {fit['slope']:.2f}"
        axes.plot(100 * line[x], 100 * line["fit"], label=name, zorder=4, **look)
        draw_models(axes, drawn, x, y, drawn["model"].isin(excluded).to_numpy())
        _label_axes(axes, results)
        style.legend_above(axes, ncols=2)
    return figure


def set_scale(axes: "style.Axes", table: pd.DataFrame, x: str, y: str, scale: Scale) -> None:
    """Set both axes to a scale with the same limits and ticks, and draw the diagonal."""
    if scale is Scale.PROBIT:
        _set_probit(axes)
    low, high = limits(table, x, y, scale)
    square(axes, low, high)
    _set_ticks(axes, scale, low, high)


def limits(table: pd.DataFrame, x: str, y: str, scale: Scale) -> tuple[float, float]:
    """Compute common limits of both axes, in percent: the range of points, bars and a margin."""
    columns = [f"{name}{end}" for name in (x, y) for end in ("", "_low", "_high")]
    shown = to_scale(table[[c for c in columns if c in table]].to_numpy(dtype=np.float64), scale)
    shown = shown[np.isfinite(shown)]
    margin = _MARGIN * max(float(np.ptp(shown)), 0.1)
    ends = np.array([shown.min() - margin, shown.max() + margin])
    low, high = 100 * from_scale(ends, scale)
    return float(low), float(high)


def _set_probit(axes: "style.Axes") -> None:
    """Set both axes to the probit scale; the data remain in percent."""

    def to_probit(percent: Any) -> Any:
        accuracy = np.clip(np.asarray(percent, np.float64) / 100, 1e-12, 1 - 1e-12)
        return to_scale(accuracy, Scale.PROBIT)

    def to_percent(value: Any) -> Any:
        return 100 * from_scale(value, Scale.PROBIT)

    for set_scale_of in (axes.set_xscale, axes.set_yscale):
        set_scale_of("function", functions=(to_probit, to_percent))


def draw_models(
    axes: "style.Axes", table: pd.DataFrame, x: str, y: str, is_hollow: Any,
    hollow_label: str = "not in the fit",
) -> None:  # fmt: skip
    """Plot a point with intervals per model, hollow where `is_hollow`, with labels for a legend."""
    size = point_options(len(table))
    for hollow, label in ((False, "models"), (True, hollow_label)):
        look: dict[str, Any] = _HOLLOW if hollow else {}
        if (chosen := table[is_hollow == hollow]).size:
            scatter(axes, chosen, x, y, style.MODELS, **size | look, label=label)


def _set_ticks(axes: "style.Axes", scale: Scale, low: float, high: float) -> None:
    """Set the ticks of both axes to round accuracies within their limits, in percent."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    if scale is Scale.LINEAR:
        ticks = MaxNLocator(7, steps=[1, 2, 5, 10]).tick_values(low, high)
    else:
        ticks = _probit_ticks(low, high)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _probit_ticks(low: float, high: float) -> list[float]:
    """Select round accuracies within the limits that are far enough apart on the probit scale."""
    ends = to_scale(np.array([low, high]) / 100, Scale.PROBIT)
    min_distance = float(np.ptp(ends)) / _MAX_TICKS
    ticks: list[float] = []
    for tick in _PROBIT_TICKS:
        adjacent = to_scale(np.array([*ticks[-1:], tick]) / 100, Scale.PROBIT)
        if low <= tick <= high and (not ticks or np.ptp(adjacent) >= min_distance):
            ticks.append(tick)
    return ticks


def _label_axes(axes: "style.Axes", results: pd.DataFrame) -> None:
    first = results.iloc[0]
    top = "Accuracy" if first["top"] == 1 else f"Top-{first['top']} accuracy"
    for origin, set_label in (("original", axes.set_xlabel), ("replication", axes.set_ylabel)):
        n = first[f"n_{origin}"]
        size = f", n = {style.count(n)}" if n else ""
        label = f"{top} on {style.shortened(first[origin])} (%{size})"
        is_long = "\n" in style.fit_text(label, style.COLUMN_WIDTH - 0.7, style.LABEL_SIZE)
        set_label(label.replace(" (%", "\n(%") if is_long else label)


def _note(results: pd.DataFrame, fit: pd.Series, n_hidden: int) -> str:
    """Return the note that names the models not fitted or not shown, and explains the bars."""
    parts = [f"Fitted: {fit['n_models']} models"]
    if left_out := fit["left_out"].split():
        parts[0] += f", without {listed(left_out, _MAX_NAMED)}"
    if extreme := fit["extreme"].split():
        is_clipped = fit["extremes"] == "clip"
        treatment = "clipped to (k + ½)/(n + 1)" if is_clipped else "left out of the fit"
        hidden = ", not shown" if n_hidden else ""
        parts.append(f"{listed(extreme, _MAX_NAMED)}, at 0 or 100 %, {treatment}{hidden}")
    if (results["n_original"] > 0).all() and (results["n_replication"] > 0).all():
        parts.append(f"bars: {100 * fit['confidence']:g} % Clopper-Pearson intervals")
    return f"{'; '.join(parts)}."
