"""Drawing models: a few one by one, of many the ranges that hold half and 90 % of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

FEW_MODELS = 30  # up to as many are named, and drawn one by one
_SIZE, _LEAST_SIZE, _LEAST_OPACITY = 4.0, 1.4, 0.35
_BOUNDS = (0.05, 0.25, 0.75, 0.95)  # quantiles: the ends of what is drawn of many
SPREAD = "50 and 90 % of models"  # its label


def point_options(n: int, size: float = _SIZE) -> dict[str, Any]:
    """Return matplotlib's options for points, which are smaller and fainter the more there are."""
    crowd = min(1.0, FEW_MODELS / max(n, 1))
    return {
        "markersize": max(size * crowd**0.3, _LEAST_SIZE),
        "alpha": max(crowd**0.25, _LEAST_OPACITY),
        "markeredgewidth": 0,
    }


def draw_rows(axes: "Axes", rows: Mapping[int, Floats], color: str) -> None:
    """Draw the values of models in rows: as dots, or as bars over 50 and 90 % of many models."""
    finite = {at: values[np.isfinite(values)] for at, values in rows.items()}
    if max(map(len, finite.values()), default=0) <= FEW_MODELS:
        places = np.repeat(list(finite), [len(values) for values in finite.values()])
        axes.plot(
            np.concatenate([[], *finite.values()]), places, "o", color=color, markersize=2.6,
            alpha=0.6, markeredgewidth=0, label="a model",
        )  # fmt: skip
        return
    filled = {at: values for at, values in finite.items() if len(values)}
    ends = [np.quantile(values, _BOUNDS) for values in filled.values()]
    low, quarter, three_quarters, high = np.transpose(ends)
    at = list(filled)
    axes.hlines(at, low, high, color=color, linewidth=0.8, zorder=2)
    axes.hlines(
        at, quarter, three_quarters, color=color, linewidth=3.5, alpha=0.5, zorder=2, label=SPREAD
    )


def draw_curves(axes: "Axes", x: Floats, curves: Floats, color: str) -> None:
    """Draw a thin line per model, or bands that hold 50 and 90 % of many models."""
    if len(curves) <= FEW_MODELS:
        lines = axes.plot(x, curves.T, color=color, alpha=0.4, linewidth=0.6)
        for line in lines[:1]:  # one entry of the legend stands for all
            line.set_label("a model")
        return
    finite = np.isfinite(curves).any(axis=0)
    ends = np.nanquantile(curves[:, finite], _BOUNDS, axis=0)
    axes.fill_between(x[finite], ends[0], ends[3], color=color, alpha=0.18, linewidth=0)
    axes.fill_between(
        x[finite], ends[1], ends[2], color=color, alpha=0.35, linewidth=0, label=SPREAD
    )
