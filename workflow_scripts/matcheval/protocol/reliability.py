"""Reliability diagram and confidences of one model on the subsets of a matching.

Figures 5 and 8 of Anzaku et al. (2022), arXiv 2209.01848.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.figures.style import (
    COLUMN_WIDTH,
    MATCHED_ORIGINAL,
    MATCHED_REPLICATION,
    ORIGINAL,
    REFERENCE,
    REPLICATION,
    UNMATCHED,
    SeriesStyle,
    count,
    new_figure,
    set_title,
    shortened,
    style,
)
from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

FEW = 10  # datapoints per seed; the accuracy of a bin with fewer is considered unreliable
DENSITY_BINS = 25
_CONFIDENCE = "Confidence (predicted probability)"
_LIMITS = (-0.02, 1.02)


@dataclass(frozen=True)
class ReliabilityCurve:
    """Accuracy and mean confidence in equal-width bins of the confidence."""

    edges: Floats
    confidence: Floats
    accuracy: Floats
    count: npt.NDArray[np.int64]

    @property
    def density(self) -> Floats:
        """Probability density of the confidences, shape (bins,): integrates to 1."""
        n = int(self.count.sum())
        if n == 0:
            return np.full(len(self.count), np.nan)
        return self.count / (n * np.diff(self.edges))


def reliability_curve(
    probability: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 10
) -> ReliabilityCurve:
    """Bin datapoints by confidence into equal-width bins."""
    p = np.asarray(probability, dtype=np.float64)
    is_correct = np.asarray(correct, dtype=np.float64)
    edges = np.arange(bins + 1) / bins  # each is the double nearest to k / bins
    which = np.maximum(np.searchsorted(edges, p, side="left") - 1, 0)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin gives the intended NaN
        confidence = np.bincount(which, weights=p, minlength=bins) / count
        accuracy = np.bincount(which, weights=is_correct, minlength=bins) / count
    return ReliabilityCurve(edges, confidence, accuracy, count.astype(np.int64))


class Role(StrEnum):
    """Role of a subset in the matching; the values are labels in the figure."""

    SOURCE = "source"
    TARGET = "target"
    MATCHED_SOURCE = "matched source"
    MATCHED_TARGET = "matched target"
    UNMATCHED_TARGET = "unmatched target"

    @property
    def is_pooled(self) -> bool:
        """Whether the subset depends on the seed, so that those of several seeds are pooled."""
        return self not in (Role.SOURCE, Role.TARGET)


@dataclass(frozen=True)
class Subset:
    """A subset of a dataset; the subsets of several seeds are concatenated."""

    role: Role
    dataset: str
    probability: npt.NDArray[np.float64]
    correct: npt.NDArray[np.bool_]
    n_seeds: int = 1

    @property
    def n_per_seed(self) -> float:
        """Mean number of datapoints per seed."""
        return len(self.probability) / self.n_seeds


@dataclass(frozen=True)
class ReliabilityData:
    """Data of the reliability figure: the subsets of one model, pair and matching."""

    comparison: Comparison
    title: str
    epsilon: float
    subsets: tuple[Subset, ...]


def reliability_data(
    comparison: Comparison, pairs: pa.Table, title: str, epsilon: float, seeds: Sequence[int]
) -> ReliabilityData:
    """Split the predictions of a comparison into the five subsets, pooled over seeds."""
    sides = {"source": comparison.source, "target": comparison.target}
    names = {"source": comparison.source_name, "target": comparison.target_name}
    rows = {side: _rows(one, pairs[f"{side}_index"].to_numpy()) for side, one in sides.items()}
    is_unmatched = np.ones((len(seeds), len(comparison.target)), dtype=np.bool_)
    order = {seed: position for position, seed in enumerate(seeds)}
    is_unmatched[[order[s] for s in pairs["seed"].to_pylist()], rows["target"]] = False

    def subset(role: Role, side: str, chosen: Any, n_seeds: int = 1) -> Subset:
        probability = sides[side].probability[chosen].astype(np.float64)
        return Subset(role, names[side], probability, sides[side].correct[chosen], n_seeds)

    subsets = (
        subset(Role.SOURCE, "source", slice(None)),
        subset(Role.TARGET, "target", slice(None)),
        subset(Role.MATCHED_SOURCE, "source", rows["source"], len(seeds)),
        subset(Role.MATCHED_TARGET, "target", rows["target"], len(seeds)),
        subset(Role.UNMATCHED_TARGET, "target", np.nonzero(is_unmatched)[1], len(seeds)),
    )
    return ReliabilityData(comparison, title, epsilon, subsets)


def _rows(predictions: Predictions, index: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Look up the rows of datapoints by their indices."""
    rows = np.searchsorted(predictions.index, index)
    found = predictions.index[np.minimum(rows, len(predictions) - 1)] == index
    if not found.all():
        raise InputError(
            f"the matched pairs contain datapoint {index[~found][0]}, which has no prediction",
            remedy="They were matched on other predictions: delete them and match again",
        )
    return rows


@dataclass(frozen=True)
class _Weight:
    """Sizes in points and drawing order, chosen so that coinciding curves remain visible."""

    line: float
    marker: float
    zorder: float


# Source curves are wide and drawn first, target curves narrow and drawn above them. The curve of
# the unmatched targets is often close to the target's, so its markers are large and lie below.
_WEIGHTS = {
    Role.SOURCE: _Weight(1.7, 4.8, 2.0),
    Role.TARGET: _Weight(1.0, 2.6, 2.4),
    Role.MATCHED_SOURCE: _Weight(2.0, 3.8, 2.1),
    Role.MATCHED_TARGET: _Weight(1.0, 2.6, 2.5),
    Role.UNMATCHED_TARGET: _Weight(1.0, 5.2, 2.2),
}


def plot_reliability(data: ReliabilityData, bins: int = 10) -> "Figure":
    """Plot accuracy against confidence, and the density of the confidences, for five subsets."""
    with style():
        figure = new_figure(2 * COLUMN_WIDTH, COLUMN_WIDTH + 0.65)
        reliability, density = figure.subplots(1, 2)
        densities, has_few = [], False
        for subset in data.subsets:
            series = _series(subset, data)
            curve = reliability_curve(subset.probability, subset.correct, bins)
            has_few |= _draw_curve(reliability, curve, subset, series)
            fine = reliability_curve(subset.probability, subset.correct, DENSITY_BINS)
            _draw_density(density, fine, subset, series)
            densities.append(fine.density)
        _finish_reliability(reliability, bins, has_few)
        _finish_density(density, np.concatenate(densities))
        _draw_legend(figure, reliability)
        set_title(figure, _title(data))
    return figure


def _title(data: ReliabilityData) -> str:
    n_seeds = data.subsets[-1].n_seeds
    seeds = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds pooled"
    subject = f"{data.comparison.model} on {data.comparison.pair.name}"
    return f"{subject}\n{data.title}, ε = {data.epsilon:g}, {seeds}"


def _series(subset: Subset, data: ReliabilityData) -> SeriesStyle:
    """Return the style of a subset, which its set has in all figures."""
    if subset.role is Role.UNMATCHED_TARGET:
        return UNMATCHED
    if subset.dataset == data.comparison.pair.original:
        return MATCHED_ORIGINAL if subset.role.is_pooled else ORIGINAL
    return MATCHED_REPLICATION if subset.role.is_pooled else REPLICATION


def _label(subset: Subset) -> str:
    of = f"{subset.role}: {shortened(subset.dataset)}"
    if not len(subset.probability):
        return f"{of} (n = 0: none)"
    pooled = " per seed" if subset.n_seeds > 1 else ""
    return f"{of} (n = {count(subset.n_per_seed)}{pooled})"


def _draw_curve(axes: "Axes", curve: ReliabilityCurve, subset: Subset, series: SeriesStyle) -> bool:
    """Plot a reliability curve; return whether any of its bins has few datapoints."""
    is_few = curve.count < FEW * subset.n_seeds
    x, y = curve.confidence, curve.accuracy
    weight = _WEIGHTS[subset.role]
    axes.plot(
        np.where(is_few, np.nan, x),
        np.where(is_few, np.nan, y),
        label=_label(subset),
        marker=series.marker,
        markersize=weight.marker,
        markeredgewidth=0,
        linewidth=weight.line,
        zorder=weight.zorder,
        **series.line_options(),
    )
    few = is_few & (curve.count > 0)
    if few.any():
        axes.plot(x[few], y[few], **_hollow(series.marker, series.color))
    return bool(few.any())


def _width(bins: int) -> str:
    return f"bins of width {1 / bins:.3g}"


def _hollow(marker: str, color: str) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": marker,
        "markerfacecolor": "white",
        "markeredgecolor": color,
        "markeredgewidth": 0.6,
        "markersize": 3.0,
        "alpha": 0.85,
        "zorder": 1.8,
    }


def _draw_density(
    axes: "Axes", curve: ReliabilityCurve, subset: Subset, series: SeriesStyle
) -> None:
    if not len(subset.probability):
        return
    weight = _WEIGHTS[subset.role]
    axes.stairs(
        np.where(curve.count > 0, curve.density, np.nan),  # log 0 would drop to the axis
        curve.edges,
        baseline=None,
        label=_label(subset),
        linewidth=weight.line,
        zorder=weight.zorder,
        **series.line_options(),
    )


def _finish_reliability(axes: "Axes", bins: int, has_few: bool) -> None:
    axes.plot([0, 1], [0, 1], label="confidence = accuracy", zorder=1, **REFERENCE)
    if has_few:
        axes.plot([], [], label=f"fewer than {FEW} points in the bin", **_hollow("o", "#444444"))
    axes.set(xlabel=_CONFIDENCE, ylabel="Accuracy (fraction)", xlim=_LIMITS, ylim=_LIMITS)
    axes.set_title(f"(a) Accuracy against confidence, {_width(bins)}", loc="left")


def _draw_legend(figure: "Figure", axes: "Axes") -> None:
    """Add one legend below both panels: whole sets left, matched and unmatched subsets right."""
    lines, labels = axes.get_legend_handles_labels()
    n = len(Role)
    order = [0, 1, *range(n, len(lines)), *range(2, n)]
    figure.legend(
        [lines[i] for i in order],
        [labels[i] for i in order],
        loc="outside lower center",
        ncols=2,
    )


def _power_of_ten(value: float, _: object) -> str:
    exponent = str(round(np.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _small_multiples(value: float, _: object) -> str:
    return f"{value:g}" if f"{value:.0e}"[0] in "25" else ""


def _finish_density(axes: "Axes", shown: Floats) -> None:
    axes.set_yscale("log", nonpositive="clip")
    axes.yaxis.set_major_formatter(_power_of_ten)  # the defaults write formulas
    axes.set_ylim(0.5 * shown[shown > 0].min(), 2.0 * np.nanmax(shown))
    low, high = np.log10(axes.get_ylim())
    # Of fewer than two powers of ten, one or none would have a label.
    is_narrow = np.floor(high) - np.ceil(low) < 1
    axes.yaxis.set_minor_formatter(_small_multiples if is_narrow else "")
    axes.set(xlabel=_CONFIDENCE, ylabel="Density (integrates to 1, log scale)", xlim=_LIMITS)
    axes.set_title(f"(b) Density of the confidences, {_width(DENSITY_BINS)}", loc="left")
