"""Figure of gaps beside their null distributions."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.figures.style import (
    GAP,
    MATCHED_GAP,
    NOTE_SIZE,
    UNMATCHED,
    legend_above,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.14  # inches per model
_MARGIN = 1.3
_HIGHEST = 40.0  # inches
_LOOKS = {"gap": GAP, "matched_gap": MATCHED_GAP, "fraction_unmatched": UNMATCHED}
_LABELS = {
    "gap": "Gap (points)",
    "matched_gap": "Matched gap (points)",
    "fraction_unmatched": "Unmatched (%)",
}


def plot(table: pd.DataFrame) -> "Figure":
    """Draw observed values over their null distributions.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, at least one row.

    Returns
    -------
    matplotlib.figure.Figure
        A panel per matching and statistic, a row per model, by increasing gap. Bars are the middle
        95 % of the null distribution, thin lines 95 % intervals of matched gaps.
    """
    panels = table[["statistic", "matching"]].drop_duplicates()
    gaps = table[table["statistic"] == "gap"].set_index("model")["mean_over_seeds"]
    models = gaps.sort_values(kind="stable").index.tolist()
    with style():
        figure = new_figure(1.5 + 1.9 * len(panels), min(_MARGIN + _ROW * len(models), _HIGHEST))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for panel, (_, key) in zip(axes, panels.iterrows(), strict=True):
            chosen = (table["statistic"] == key["statistic"]) & (
                table["matching"] == key["matching"]
            )
            rows = table[chosen].set_index("model").loc[models]
            look = _LOOKS[str(key["statistic"])]
            panel.hlines(
                range(len(models)), 100 * rows["null_low"], 100 * rows["null_high"],
                color="0.75", linewidth=4, label="95 % of the null",
            )  # fmt: skip
            panel.plot(
                100 * rows["observed"], range(len(models)), look.marker, color=look.color,
                label="observed, one run",
            )  # fmt: skip
            has_intervals = bool(rows["mean_low"].notna().any())
            panel.plot(
                100 * rows["mean_over_seeds"], range(len(models)), "|", color="black",
                label="mean over seeds" + ", 95 % interval" * has_intervals,
            )  # fmt: skip
            panel.hlines(
                range(len(models)), 100 * rows["mean_low"], 100 * rows["mean_high"],
                color="black", linewidth=0.6,
            )  # fmt: skip
            panel.set_xlabel(_LABELS[str(key["statistic"])])
            legend_above(panel, title=key["matching"] or "all datapoints", fontsize=NOTE_SIZE)
        axes[0].set_yticks(range(len(models)), models, fontsize=NOTE_SIZE)
        axes[0].set_ylim(len(models) - 0.5, -0.5)
    return figure
