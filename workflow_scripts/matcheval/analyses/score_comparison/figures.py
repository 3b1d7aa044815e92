"""Figure of matched gaps, score by score."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.analyses.score_comparison.tables import RANKS, Uncertainty
from matcheval.figures.many_models import draw_rows
from matcheval.figures.style import (
    COLUMN_WIDTH,
    MATCHED_GAP,
    NOTE_SIZE,
    REFERENCE,
    UNMATCHED,
    SeriesStyle,
    legend_above,
    new_figure,
    set_title,
    style,
)
from matcheval.io.text_tables import counted
from matcheval.protocol.criteria import matching_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(table: pd.DataFrame) -> "Figure":
    """Draw matched gaps and unmatched shares of every model on every score."""
    ranked = table[table["scale"] == RANKS]
    matchings = ranked["matching"].unique().tolist()
    scores = [score for score in Uncertainty if score in set(ranked["score"])]
    with style():
        figure = new_figure(1.2 + 0.82 * COLUMN_WIDTH * len(matchings), 1.6 + 0.2 * len(scores))
        panels = figure.subplots(1, 2 * len(matchings), sharey=True, squeeze=False)[0]
        for number, matching in enumerate(matchings):
            gaps, unmatched = panels[2 * number : 2 * number + 2]
            rows = ranked[ranked["matching"] == matching]
            _draw(gaps, rows, "matched_gap", MATCHED_GAP, scores)
            gaps.axvline(
                100 * _models(rows)["gap"].mean(), label="gap of all datapoints", **REFERENCE
            )
            gaps.axvline(0, color="#767676", linewidth=0.7, zorder=1)
            gaps.set_xlabel("Matched gap (points)")
            legend_above(gaps, title=matching_label(matching), fontsize=NOTE_SIZE)
            _draw(unmatched, rows, "fraction_unmatched", UNMATCHED, scores)
            unmatched.set_xlabel("Unmatched (%)")
        panels[0].set_yticks(range(len(scores)), [score.label for score in scores])
        panels[0].set_ylim(len(scores) - 0.5, -0.5)
        models = counted(len(_models(ranked)["model"].unique()), "model")
        set_title(figure, f"{table['pair'].iloc[0]}: matched by different scores, {models}")
    return figure


def _models(table: pd.DataFrame) -> pd.DataFrame:
    """One row per single model."""
    return table[table["score"] == Uncertainty.CONFIDENCE]


def _draw(
    axes: "Axes", table: pd.DataFrame, column: str, look: SeriesStyle, scores: list[Uncertainty]
) -> None:
    rows = table["score"].map({score.value: row for row, score in enumerate(scores)})
    several = len(_models(table)) > 1
    if several:
        groups = (100 * table[column]).groupby(rows)
        draw_rows(axes, {int(at): v.to_numpy(np.float64) for at, v in groups}, look.color)
    elif column == "matched_gap":
        low, high = 100 * table["matched_gap_low"], 100 * table["matched_gap_high"]
        axes.hlines(rows, low, high, color=look.color)
    label = "mean over models" if several else "matched gap, 95 % interval"
    mean = (100 * table[column]).groupby(rows).mean()
    axes.plot(mean, mean.index, look.marker, color=look.color, label=label)
