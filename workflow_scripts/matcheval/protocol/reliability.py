"""Reliability diagrams of one model (Anzaku et al. 2022, arXiv 2209.01848, Figures 5 and 8)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.figures import style
from matcheval.figures.forms import Floats
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.matching import UNMATCHED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        with np.errstate(invalid="ignore"):  # NaN without a datapoint
            density: Floats = self.count / (self.count.sum() * np.diff(self.edges))
        return density


def reliability_curve(
    probability: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 10
) -> ReliabilityCurve:
    """Compute mean confidence and accuracy of datapoints in equal-width bins of confidence."""
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


@dataclass(frozen=True)
class Subset:
    """A subset of a dataset; the subsets of several seeds are concatenated."""

    role: Role
    dataset: str
    look: style.SeriesStyle
    probability: npt.NDArray[np.float64]
    correct: npt.NDArray[np.bool_]
    n_seeds: int = 1

    @property
    def label(self) -> str:
        """The subset's entry in the legend: role, dataset and size."""
        n = f"{style.count(len(self.probability) / self.n_seeds)}{' per seed' * (self.n_seeds > 1)}"
        size = n if len(self.probability) else "0: none"
        return f"{self.role}: {style.shortened(self.dataset)} (n = {size})"


def subsets_of(matched: MatchedModel) -> list[Subset]:
    """Divide a matched model's predictions into subsets by role, pooled over seeds."""
    comparison, n = matched.comparison, len(matched.rows)
    picked = np.stack([*matched.rows.values()])  # shape (n_seeds, n_target)
    is_matched = picked != UNMATCHED
    chosen: dict[Role, tuple[Any, int]] = {
        Role.SOURCE: (slice(None), 1),
        Role.TARGET: (slice(None), 1),
        Role.MATCHED_SOURCE: (picked[is_matched], n),
        Role.MATCHED_TARGET: (np.nonzero(is_matched)[1], n),
        Role.UNMATCHED_TARGET: (np.nonzero(~is_matched)[1], n),
    }
    subsets = []
    for role, (of_role, n_seeds) in chosen.items():
        is_original = role.endswith("source") == comparison.source_is_original
        origin = "original" if is_original else "replication"
        side, name = getattr(comparison, origin), comparison.pair.datasets[origin]
        look = style.SETS[origin][role.startswith("matched")]
        if role is Role.UNMATCHED_TARGET:
            look = style.UNMATCHED
        probability = side.probability[of_role].astype(np.float64)
        subsets.append(Subset(role, name, look, probability, side.correct[of_role], n_seeds))
    return subsets


# Line width, size of markers and drawing order, chosen so that coinciding curves remain visible:
# source curves are wide and drawn first, target curves narrow and drawn above them. The curve of
# the unmatched targets is often close to the target's, so its markers are large and lie below.
_LOOKS = {
    Role.SOURCE: (1.7, 4.8, 2.0),
    Role.TARGET: (1.0, 2.6, 2.4),
    Role.MATCHED_SOURCE: (2.0, 3.8, 2.1),
    Role.MATCHED_TARGET: (1.0, 2.6, 2.5),
    Role.UNMATCHED_TARGET: (1.0, 5.2, 2.2),
}


def plot_reliability(matched: MatchedModel, bins: int = 10) -> "Figure":
    """Plot accuracy against confidence, and the density of the confidences, for five subsets."""
    subsets = subsets_of(matched)
    with style.style():
        figure = style.new_figure(2 * style.COLUMN_WIDTH, style.COLUMN_WIDTH + 0.65)
        reliability, density = figure.subplots(1, 2)
        densities, has_few = [], False
        for subset in subsets:
            curve = reliability_curve(subset.probability, subset.correct, bins)
            has_few |= _draw_curve(reliability, curve, subset)
            fine = reliability_curve(subset.probability, subset.correct, DENSITY_BINS)
            _draw_density(density, fine, subset)
            densities.append(fine.density)
        identity = "confidence = accuracy"
        reliability.plot([0, 1], [0, 1], label=identity, zorder=1, **style.REFERENCE)
        if has_few:
            few = f"fewer than {FEW} points in the bin"
            reliability.plot([], [], label=few, **_hollow_marker("o", "#444444"))
        reliability.set(
            xlabel=_CONFIDENCE, ylabel="Accuracy (fraction)", xlim=_LIMITS, ylim=_LIMITS
        )
        panel = f"(a) Accuracy against confidence, bins of width {1 / bins:.3g}"
        reliability.set_title(panel, loc="left")
        _format_density_panel(density, np.concatenate(densities))
        # One legend below both panels: whole sets left, matched and unmatched subsets right.
        lines, labels = reliability.get_legend_handles_labels()
        n = len(Role)
        order = [0, 1, *range(n, len(lines)), *range(2, n)]
        figure.legend(
            [lines[i] for i in order], [labels[i] for i in order], loc="outside lower center",
            ncols=2,
        )  # fmt: skip
        n_seeds = len(matched.rows)
        pooled = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds pooled"
        sets = " → ".join(map(style.shortened, matched.comparison.pair.datasets.values()))
        title, epsilon = matched.method.title(matched.name), matched.method.epsilon
        heading = f"{matched.comparison.model} on {sets}\n{title}, ε = {epsilon:g}, {pooled}"
        style.set_title(figure, heading)
    return figure


def _draw_curve(axes: "Axes", curve: ReliabilityCurve, subset: Subset) -> bool:
    """Plot a reliability curve; return whether any of its bins has few datapoints."""
    is_few = curve.count < FEW * subset.n_seeds
    x, y = curve.confidence, curve.accuracy
    width, size, order = _LOOKS[subset.role]
    axes.plot(
        np.where(is_few, np.nan, x), np.where(is_few, np.nan, y), label=subset.label,
        marker=subset.look.marker, markersize=size, markeredgewidth=0, linewidth=width,
        zorder=order, **subset.look.line_options(),
    )  # fmt: skip
    few = is_few & (curve.count > 0)
    if few.any():
        axes.plot(x[few], y[few], **_hollow_marker(subset.look.marker, subset.look.color))
    return bool(few.any())


def _hollow_marker(marker: str, color: str) -> dict[str, Any]:
    return {
        "linestyle": "none", "marker": marker, "markerfacecolor": "white",
        "markeredgecolor": color, "markeredgewidth": 0.6, "markersize": 3.0, "alpha": 0.85,
        "zorder": 1.8,
    }  # fmt: skip


def _draw_density(axes: "Axes", curve: ReliabilityCurve, subset: Subset) -> None:
    if not len(subset.probability):
        return
    width, _, order = _LOOKS[subset.role]
    # log 0 would drop to the axis
    heights = np.where(curve.count > 0, curve.density, np.nan)
    axes.stairs(
        heights, curve.edges, baseline=None, label=subset.label, linewidth=width, zorder=order,
        **subset.look.line_options(),
    )  # fmt: skip


def _format_power_of_ten(value: float, _: object) -> str:
    exponent = str(round(np.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _format_minor_tick(value: float, _: object) -> str:
    """Label a tick if it is 2 or 5 times a power of ten; leave others empty."""
    return f"{value:g}" if f"{value:.0e}"[0] in "25" else ""


def _format_density_panel(axes: "Axes", densities: Floats) -> None:
    axes.set_yscale("log", nonpositive="clip")
    axes.yaxis.set_major_formatter(_format_power_of_ten)  # the defaults write formulas
    axes.set_ylim(0.5 * densities[densities > 0].min(), 2.0 * np.nanmax(densities))
    low, high = np.log10(axes.get_ylim())
    # Of fewer than two powers of ten, one or none would have a label.
    is_narrow = np.floor(high) - np.ceil(low) < 1
    axes.yaxis.set_minor_formatter(_format_minor_tick if is_narrow else "")
    axes.set(xlabel=_CONFIDENCE, ylabel="Density (integrates to 1, log scale)", xlim=_LIMITS)
    title = f"(b) Density of the confidences, bins of width {1 / DENSITY_BINS:.3g}"
    axes.set_title(title, loc="left")
