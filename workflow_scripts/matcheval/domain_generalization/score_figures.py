"""The figure of scores against accuracies, of models of several algorithms."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.tables import titles
from matcheval.domain_generalization.figures import COLORS, MARKERS
from matcheval.domain_generalization.layout import TITLES
from matcheval.figures.many_models import point_options
from matcheval.figures.style import (
    LABEL_SIZE,
    legend_above,
    new_figure,
    set_title_and_legend,
    shortened,
    style,
)
from matcheval.io.text_tables import signed
from matcheval.statistics.lines import MIN_MODELS, fit_line
from matcheval.statistics.ranks import rank_correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL, _LINE = 2.25, 0.12  # inches: side of a panel, an algorithm in its legend
_FEW = 4  # algorithms; of more, one legend has the names, and tables the correlations


def draw_scores(scored: pd.DataFrame, selection: str) -> "Figure":
    """Draw scores against accuracies on target sets (Sun et al. 2024, Figure 5B)."""
    rows = scored[(scored["selection"] == selection) & np.isfinite(scored["score"])]
    keys = ["block", "method", "variant", "algorithm", "dataset"]
    means = rows.groupby(keys, sort=False)[["score", "accuracy"]].mean().reset_index()
    means["title"] = titles(means)
    blocks, methods = (list(dict.fromkeys(means[name])) for name in ("block", "title"))
    algorithms = list(dict.fromkeys(means["algorithm"]))
    with style():
        few = len(algorithms) <= _FEW
        height = _PANEL + few * _LINE * len(algorithms)
        figure = new_figure(_PANEL * max(2, len(methods)), 0.2 + height * max(1, len(blocks)))
        panels = figure.subplots(max(1, len(blocks)), max(1, len(methods)), squeeze=False)
        for row, block in zip(panels, blocks, strict=False):
            for axes, method in zip(row, methods, strict=True):
                part = means[(means["block"] == block) & (means["title"] == method)]
                _draw_panel(axes, part, algorithms, with_rank=few)
                title = f"{shortened(str(block), 20)}: {method}"
                if few:
                    legend_above(axes, title=title, title_fontsize=LABEL_SIZE)
                else:
                    axes.set_title(title)
                axes.set_xlabel("Score")
                axes.set_ylabel("Accuracy (%)")
        if not few:
            set_title_and_legend(figure, "Scores against accuracies on target sets", ncols=5)
    return figure


def _draw_panel(
    axes: "Axes", part: pd.DataFrame, algorithms: list[str], *, with_rank: bool
) -> None:
    for name, each in part.groupby("algorithm", sort=False):
        number = algorithms.index(str(name))
        color = COLORS[number % len(COLORS)]
        x, y = each["score"].to_numpy(), 100 * each["accuracy"].to_numpy()
        rank = rank_correlations(x, y)[0]
        label = TITLES[str(name)] + f", ρ = {signed(rank, 2)}" * with_rank
        marker = MARKERS[(number + number // len(COLORS)) % len(MARKERS)]
        axes.plot(x, y, marker, color=color, label=label, **point_options(len(part), 3.0))
        if len(x) >= MIN_MODELS and np.ptp(x) > 0:
            ends = np.array([x.min(), x.max()])
            axes.plot(ends, fit_line(x, y).at(ends), color=color, linewidth=0.9)
