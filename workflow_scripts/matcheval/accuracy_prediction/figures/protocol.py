"""Predicted gaps beside what the matched evaluation protocol says of the same gaps."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.comparison import join
from matcheval.accuracy_prediction.figures.results import Results
from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.reading import how
from matcheval.figures.many_models import point_options
from matcheval.figures.saving import fix_layout
from matcheval.figures.style import NOTE_SIZE, REFERENCE, enlarge_markers, new_figure, style
from matcheval.io.text_tables import signed
from matcheval.statistics.ranks import rank_correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE = 2.0  # inches
_PARTS = {
    "matched_gap": "Matched gap (points)",
    "confidence_part": "Confidence part (points)",
    "conditional_part": "Conditional part (points)",
}
_SHOWN = ("doc_feat", "doc", "atc_mc", "ms_aol")  # those that there are, at most three


def plot(results: Results) -> "Figure":
    """Draw matched gaps and parts of gaps against gaps, and errors against the conditional part."""
    assert results.gaps is not None
    gaps = results.gaps[~results.gaps["model"].isin(results.uncounted)]
    joined = join(results.of(), gaps)
    shown = [method for method in _SHOWN if method in set(joined["method"])][:3]
    with style():
        figure = new_figure(3 * _SIDE + 0.4, (1 + bool(shown)) * _SIDE + 0.5)
        panels = figure.subplots(1 + bool(shown), 3, squeeze=False)
        for axes, (part, label) in zip(panels[0], _PARTS.items(), strict=True):
            _points(axes, results, gaps, "gap", part)
            ends = 100 * np.array([gaps["gap"].min(), gaps["gap"].max()])
            axes.plot(ends, ends, **REFERENCE)
            axes.set_xlabel("Gap (points)")
            axes.set_ylabel(label)
        for axes, method in zip(panels[-1], shown, strict=False):
            rows = _first_way(joined[joined["method"] == method])
            _points(axes, results, rows, "conditional_part", "underestimated")
            axes.axhline(0, **REFERENCE)
            axes.set_xlabel("Conditional part (points)")
            axes.set_ylabel("Gap − predicted gap (points)")
            axes.set_title(f"{rows['title'].iloc[0]}, {how(rows.iloc[0].to_dict())}")
        for axes in panels[-1][len(shown) :] if shown else ():
            axes.remove()
        if len(results.groups) > 1:
            handles, names = panels[0][0].get_legend_handles_labels()
            legend = figure.legend(handles, names, loc="outside upper center", ncols=len(names))
            enlarge_markers(legend)
        fix_layout(figure)
    return figure


def _first_way(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions of one method without regression, or else of its first way."""
    direct = rows[rows["protocol"] == DIRECT]
    if len(direct):
        return direct
    keys = ["protocol", "regressor", "calibrated_on", "variant"]
    return rows.merge(rows[keys].drop_duplicates().iloc[:1])


def _points(axes: "Axes", results: Results, rows: pd.DataFrame, x: str, y: str) -> None:
    known = rows[np.isfinite(rows[x]) & np.isfinite(rows[y])]
    for group, (color, marker) in results.groups.items():
        part = known[known["group"] == group]
        axes.plot(
            100 * part[x], 100 * part[y], marker, color=color,
            label=group or "no group", rasterized=len(known) > 300,
            **point_options(len(known), 3.0),
        )  # fmt: skip
    rho = rank_correlations(known[x], known[y])[0]
    axes.annotate(
        f"ρ = {signed(rho, 2)}",
        (0.03, 0.94),
        xycoords="axes fraction",
        fontsize=NOTE_SIZE,
        va="top",
    )
