"""Results of one suite as its figures need them, with what these share in drawing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.predicting import DIRECT, PROCEDURE
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.accuracy_prediction.tables import how, titles
from matcheval.figures import style
from matcheval.figures.many_models import point_options
from matcheval.io.text_tables import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
# Of Okabe and Ito, for groups of sets; markers differ, too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#b5b5b5"
_MANY = 300  # points of a panel that are drawn as pixels


def color_and_marker(number: int) -> tuple[str, str]:
    """Return how the group of a number is drawn; no two have both alike."""
    n = len(COLORS)
    return COLORS[number % n], _MARKERS[(number + number // n) % len(_MARKERS)]


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

    def rows(self, model: str = "", procedure: Sequence[str] = ()) -> pd.DataFrame:
        """Return predictions on whole sets, of one model or of all that count, by a procedure."""
        rows = self.of(self.whole, model)
        return by_procedure(rows, procedure) if procedure else rows

    def of(self, table: pd.DataFrame, model: str = "") -> pd.DataFrame:
        """Return the rows of one model, or of all that count."""
        models = table["model"]
        return table[models == model if model else ~models.isin(self.uncounted)]

    @property
    def groups(self) -> dict[str, tuple[str, str]]:
        """Colour and marker of every group of sets, in order."""
        names = dict.fromkeys(self.predicted["group"])
        return {name: color_and_marker(i) for i, name in enumerate(names)}


def is_procedure(rows: pd.DataFrame, procedure: Sequence[str]) -> "pd.Series[bool]":
    """Say which rows are of a procedure."""
    return (rows[PROCEDURE] == list(procedure)).all(axis=1)


def by_procedure(rows: pd.DataFrame, procedure: Sequence[str]) -> pd.DataFrame:
    """Return predictions by a procedure, and those without a regression on the same sets."""
    own = rows[is_procedure(rows, procedure)]
    direct = rows[(rows["protocol"] == DIRECT) & rows["dataset"].isin(own["dataset"])]
    is_own = direct["title"].isin(own["title"])
    return pd.concat([own, direct[~is_own]], ignore_index=True)


def procedure_text(procedure: Sequence[str]) -> str:
    """Return a procedure in words, for the beginning of a sentence."""
    text = how(dict(zip(PROCEDURE, procedure, strict=True)))
    return text[:1].upper() + text[1:]


@contextmanager
def drawing(width: float, height: float, note: str = "") -> Iterator["Figure"]:
    """Give an empty figure (inches) to a block in the style of figures; a note ends below it."""
    with style.style():
        figure = style.new_figure(width, height)
        yield figure
        style.set_note(figure, note)


def add_panels(
    figure: "Figure", n: int, shape: tuple[int, int], xlabel: str = "", **shared: Any
) -> list["Axes"]:
    """Add panels in rows, with labels of the x axis where nothing is drawn below."""
    panels = figure.subplots(*shape, squeeze=False, **shared)
    for axes in panels.flat[n:]:
        axes.remove()
    for axes in panels.flat[max(n - shape[1], 0) : n]:
        axes.set_xlabel(xlabel)
        axes.tick_params(labelbottom=True)
    return list(panels.flat[:n])


def add_names(axes: "Axes", names: Iterable[str], n: int = 0) -> None:
    """Name rows from above, of at least n."""
    labels = list(names)
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set_ylim(max(n, len(labels)) - 0.4, -0.6)


def error_sizes(value: Floats, low: Floats, high: Floats) -> Floats:
    """Return the lengths of error bars, of which some may be unknown."""
    return np.nan_to_num([value - low, high - value]).clip(0)


def add_note(axes: "Axes", text: str, place: tuple[Any, Any], **options: Any) -> None:
    """Write in small print beside a place."""
    axes.annotate(text, place, va="center", fontsize=style.NOTE_SIZE, color="0.4", **options)


def add_legend(figure: "Figure", axes: "Axes", most: int) -> None:
    """Add the legend of a panel's groups above the figure."""
    handles, names = axes.get_legend_handles_labels()
    ncols = min(len(names), most)
    style.enlarge_markers(figure.legend(handles, names, loc="outside upper center", ncols=ncols))


def add_points(
    axes: "Axes", groups: Mapping[str, tuple[str, str]], rows: pd.DataFrame, x: tuple[str, float],
    y: tuple[str, float], *, small_on_top: bool = False,
) -> None:  # fmt: skip
    """Draw the points of rows in the colours and markers of groups; x, y: column and scale."""
    for group, (color, marker) in groups.items():
        part = rows[rows["group"] == group]
        order: dict[str, Any] = {"zorder": 2 + 1 / (1 + len(part))} if small_on_top else {}
        axes.plot(
            x[1] * part[x[0]], y[1] * part[y[0]], marker, color=color,
            label=group or "no group", rasterized=len(rows) > _MANY,
            **point_options(len(rows), 3.0), **order,
        )  # fmt: skip


def heat_map(
    values: Floats, columns: Sequence[str], rows: Sequence[str], size: tuple[float, float],
    label: str, note: str, *, limit: float = 1.0, has_numbers: bool = False, xlabel: str = "",
) -> "Figure":  # fmt: skip
    """Draw a matrix in colours from blue to red, with its numbers if asked for."""
    with drawing(*size, note) as figure:
        axes = figure.add_subplot()
        shown = values if values.size else np.full((1, 1), np.nan)
        image = axes.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
        axes.set_xticks(np.arange(len(columns)), columns, rotation=90, fontsize=style.NOTE_SIZE)
        axes.set_yticks(np.arange(len(rows)), rows)
        axes.set_xlabel(xlabel)
        axes.grid(visible=False)
        for (row, column), value in np.ndenumerate(values):
            if has_numbers and np.isfinite(value):
                color = "white" if abs(value) > 0.6 * limit else "black"
                axes.text(column, row, signed(value, 2), ha="center", va="center",
                          fontsize=style.NOTE_SIZE, color=color)  # fmt: skip
        figure.colorbar(image, label=label, fraction=0.05)
    return figure


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `title`, the name of the method for readers."""
    return table.assign(title=titles(table))
