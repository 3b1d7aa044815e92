"""Results of one suite as its figures need them, with what these share in drawing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.accuracy_prediction.tables import how, titles
from matcheval.figures.many_models import point_options
from matcheval.figures.style import NOTE_SIZE, enlarge_markers, new_figure, set_note, style
from matcheval.io.text_tables import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
WAY = ["protocol", "regressor", "calibrated_on"]
# Of Okabe and Ito, for groups of sets; markers differ, too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MANY = 300  # points of a panel that are drawn as pixels
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True)
class Results:
    """Tables of one suite."""

    predicted: pd.DataFrame
    errors: pd.DataFrame
    correlations: pd.DataFrame
    gaps: pd.DataFrame | None = None
    uncounted: tuple[str, ...] = ()

    @property
    def whole(self) -> pd.DataFrame:
        """Predictions on whole sets, with a column `title` of methods."""
        return with_titles(self.predicted[self.predicted["view"] == WHOLE])

    def of(self, model: str = "") -> pd.DataFrame:
        """Return predictions on whole sets, of one model or of all that count."""
        rows = self.whole
        chosen = rows["model"] == model if model else ~rows["model"].isin(self.uncounted)
        return rows[chosen]

    @property
    def groups(self) -> dict[str, tuple[str, str]]:
        """Colour and marker of every group of sets, in order; no two have both alike."""
        names = dict.fromkeys(self.predicted["group"])
        n = len(COLORS)
        return {
            name: (COLORS[i % n], MARKERS[(i + i // n) % len(MARKERS)])
            for i, name in enumerate(names)
        }


def of_way(rows: pd.DataFrame, way: Sequence[str]) -> pd.DataFrame:
    """Return predictions of one way, and those without a regression on the same sets."""
    own = rows[(rows[WAY] == list(way)).all(axis=1)]
    direct = rows[(rows["protocol"] == DIRECT) & rows["dataset"].isin(own["dataset"])]
    known = own[["method", "variant"]].drop_duplicates()
    is_own = direct.set_index(["method", "variant"]).index.isin(pd.MultiIndex.from_frame(known))
    return pd.concat([own, direct[~is_own]], ignore_index=True)


def way_text(way: Sequence[str]) -> str:
    """Return a way of predicting in words, for the beginning of a sentence."""
    text = how(dict(zip(WAY, way, strict=True)))
    return text[:1].upper() + text[1:]


@contextmanager
def drawing(width: float, height: float, note: str = "") -> Iterator["Figure"]:
    """Give an empty figure (inches) to a block in the style of figures; a note ends below it."""
    with style():
        figure = new_figure(width, height)
        yield figure
        set_note(figure, note)


def add_legend(figure: "Figure", axes: "Axes", most: int) -> None:
    """Add the legend of a panel's groups above the figure."""
    handles, names = axes.get_legend_handles_labels()
    ncols = min(len(names), most)
    enlarge_markers(figure.legend(handles, names, loc="outside upper center", ncols=ncols))


def add_points(
    axes: "Axes",
    groups: Mapping[str, tuple[str, str]],
    rows: pd.DataFrame,
    x: tuple[str, float],
    y: tuple[str, float],
    *,
    small_on_top: bool = False,
) -> None:
    """Draw the points of rows in the colours and markers of groups; x, y: column and scale."""
    for group, (color, marker) in groups.items():
        part = rows[rows["group"] == group]
        order: dict[str, Any] = {"zorder": 2 + 1 / (1 + len(part))} if small_on_top else {}
        axes.plot(
            x[1] * part[x[0]], y[1] * part[y[0]], marker, color=color,
            label=group or "no group", rasterized=len(rows) > _MANY,
            **point_options(len(rows), 3.0), **order,
        )  # fmt: skip


def add_heat_map(
    figure: "Figure",
    values: Floats,
    columns: Sequence[str],
    rows: Sequence[str],
    limit: float,
    label: str,
    *,
    digits: int | None = None,
) -> "Axes":
    """Draw a matrix in colours from blue to red, with its numbers if asked for."""
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(np.arange(len(columns)), list(columns), rotation=90, fontsize=NOTE_SIZE)
    axes.set_yticks(np.arange(len(rows)), list(rows))
    axes.grid(visible=False)
    if digits is not None:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                color = "white" if abs(value) > 0.6 * limit else "black"
                axes.text(column, row, signed(value, digits), ha="center", va="center",
                          fontsize=NOTE_SIZE, color=color)  # fmt: skip
    figure.colorbar(image, label=label, fraction=0.05)
    return axes


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `title`, the name of the method for readers."""
    rows = table[["method", "variant"]].drop_duplicates()
    names: Mapping[tuple[str, str], str] = dict(
        zip(rows.itertuples(index=False, name=None), titles(rows), strict=True)
    )
    keys = zip(table["method"], table["variant"], strict=True)
    return table.assign(title=[names[key] for key in keys])
