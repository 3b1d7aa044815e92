"""Style of all figures: print sizes, colours with their meanings, and how figures are saved.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish. Series in the same
panel also differ in line style, marker or lightness, for readers of a greyscale print.

Rows are models, sorted, with horizontal names. Lines join only what is ordered. The title says what
is shown. Series have direct labels, or a legend above; there are five at most. Intervals are drawn
wherever they are known.
"""

import io
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from matcheval.io.files import atomic_file, check_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.legend import Legend

COLUMN_WIDTH = 3.4  # inches: one panel; two panels fill the text width of a two-column page
LABEL_SIZE = 7.5  # points: labels of axes, and titles
NOTE_SIZE = 6.0  # points: the smallest type that journals print
_EDGES = 0.12  # inches: of a figure, left free beside its title and note
DPI = 300

_RC: Any = {  # matplotlib's own type for keys differs between its versions
    "font.family": "DejaVu Sans",  # ships with matplotlib, so that it is the same on every machine
    "font.size": 7.0,
    "text.hinting": "none",  # the same text widths in PNG and PDF
    "text.parse_math": False,  # names may contain dollar signs
    "axes.labelsize": LABEL_SIZE, "axes.titlesize": LABEL_SIZE, "axes.linewidth": 0.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.formatter.useoffset": False,
    "axes.axisbelow": True, "axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.4,
    "xtick.labelsize": 6.5, "xtick.major.width": 0.5, "xtick.major.size": 2.5,
    "ytick.labelsize": 6.5, "ytick.major.width": 0.5, "ytick.major.size": 2.5,
    "xtick.minor.size": 0.0, "ytick.minor.size": 0.0,
    "lines.linewidth": 1.1, "lines.markersize": 3.0,
    "legend.fontsize": 6.5, "legend.frameon": False, "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.3, "legend.borderpad": 0.2, "legend.labelspacing": 0.3,
    "legend.columnspacing": 1.4,
    "figure.titlesize": LABEL_SIZE, "figure.dpi": 100,
    "figure.constrained_layout.h_pad": 0.03, "figure.constrained_layout.w_pad": 0.03,
    "savefig.bbox": "standard",
    "svg.fonttype": "none",  # text stays text, which can be searched and edited
    "svg.hashsalt": "matcheval",  # the same names of clip paths in every run
    "pdf.fonttype": 42,  # embed fonts as TrueType, which publishers require
}  # fmt: skip

DashPattern = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class SeriesStyle:
    """Colour, line and marker of a series."""

    color: str
    line: DashPattern
    marker: str

    def line_options(self) -> dict[str, Any]:
        """Return matplotlib's keyword arguments for a line without markers."""
        return {"color": self.color, "linestyle": self.line}


_DOTTED = (0, (1.2, 1.2))

# Blue is the original set, orange its replication; dotted lines are matched subsets.
ORIGINAL = SeriesStyle("#0072B2", "-", "o")
MATCHED_ORIGINAL = SeriesStyle("#56B4E9", _DOTTED, "D")
REPLICATION = SeriesStyle("#E69F00", "-", "s")
MATCHED_REPLICATION = SeriesStyle("#D55E00", _DOTTED, "^")
SETS = {  # by origin: a whole set, and its matched subset
    "original": (ORIGINAL, MATCHED_ORIGINAL),
    "replication": (REPLICATION, MATCHED_REPLICATION),
}
UNMATCHED = SeriesStyle("#009E73", (0, (4, 1.2, 1, 1.2)), "X")
GAP = SeriesStyle("#000000", "-", "o")
MATCHED_GAP = SeriesStyle("#CC79A7", _DOTTED, "D")
# Models as points, and the line fitted to them.
MODELS = SeriesStyle("#0072B2", "none", "o")
FITTED = SeriesStyle("#D55E00", "-", "None")
# Colours of series on pages, by what a series shows or, for the others, by its number.
PAGE_COLORS = {
    "original": ORIGINAL.color, "replication": REPLICATION.color, "models": MODELS.color,
    "s1": MATCHED_GAP.color, "s2": UNMATCHED.color, "s3": FITTED.color,
}  # fmt: skip
REFERENCE: dict[str, Any] = {"color": "#767676", "linewidth": 0.7, "linestyle": (0, (5, 2))}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all figures, in place of the user's, within a `with` block."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()  # the user's matplotlibrc must not change the figures
        mpl.rcParams.update(_RC)
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Create an empty figure with constrained layout."""
    return _notebook_figure_class()(figsize=(width, height), layout="constrained")


@cache
def _notebook_figure_class() -> "type[Figure]":
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that a notebook shows as the value of a cell, without `%matplotlib inline`."""

        def _repr_png_(self) -> bytes:
            """Return the figure as a PNG file, which IPython shows."""
            buffer = io.BytesIO()
            with style():
                fix_layout(self)  # as files: a single run of the layout may cut off a note
                self.savefig(buffer, format="png", dpi=150)
            return buffer.getvalue()

        def __reduce__(self) -> Any:
            return _empty_figure, (), self.__getstate__()  # a local class cannot be pickled

    return NotebookFigure


def _empty_figure() -> "Figure":
    """Return a figure that is not initialised, to be filled by unpickling."""
    kind = _notebook_figure_class()
    return kind.__new__(kind)


def fix_layout(figure: "Figure") -> None:
    """Run the constrained layout and switch it off, because every further run would shift it."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    figure.set_dpi(DPI)  # at a lower resolution, text extents are rounded differently
    if figure.axes:
        for _ in range(2):  # the second run corrects for what the first one resized
            engine.execute(figure)
    figure.set_layout_engine(None)


def legend_above(axes: "Axes", **options: Any) -> None:
    """Add a legend above a panel, over its whole width, where it covers no data."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.01, 1, 0)}
    enlarge_markers(axes.legend(mode="expand", **place, **options))


def draw_zero(axes: "Axes", *, upright: bool = False) -> None:
    """Draw a thin line where differences are 0, across the panel or `upright`."""
    draw = axes.axvline if upright else axes.axhline
    draw(0, color=REFERENCE["color"], linewidth=REFERENCE["linewidth"], zorder=1)


def enlarge_markers(legend: "Legend") -> None:
    """Draw a legend's markers opaque and large enough to tell apart."""
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

    for line in legend.findobj(Line2D):
        if isinstance(line, Line2D):
            line.set(markersize=max(line.get_markersize(), 3.0), alpha=1)
    for points in legend.findobj(PathCollection):
        if isinstance(points, PathCollection):
            points.set(sizes=[max([9.0, *points.get_sizes()])], alpha=1)


def set_round_ticks(axes: "Axes", max_intervals: int) -> None:
    """Set the ticks of the y axis to multiples of 1, 2 or 5 times a power of ten."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(max_intervals, steps=[1, 2, 5, 10]))


def set_title(figure: "Figure", title: str) -> None:
    """Add a title above all panels, in lines that fit the figure."""
    figure.suptitle(fit_text(title, figure.get_figwidth() - _EDGES, LABEL_SIZE))


def set_title_and_legend(figure: "Figure", title: str, ncols: int) -> None:
    """Add a title above all panels, and below it one legend for the series of all of them."""
    series = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    # The layout keeps no room for a title beside a legend: the title is that of the legend.
    legend = figure.legend(
        list(series.values()), list(series), loc="outside upper center", ncols=ncols,
        title=fit_text(title, figure.get_figwidth() - _EDGES, LABEL_SIZE),
        title_fontsize=LABEL_SIZE,
    )  # fmt: skip
    enlarge_markers(legend)


def set_note(figure: "Figure", note: str) -> None:
    """Add a note in small print below the figure, in lines that fit it."""
    if note:
        lines = fit_text(note, figure.get_figwidth() - _EDGES, NOTE_SIZE)
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=NOTE_SIZE, color="#444444")


def fit_text(text: str, width: float, size: float = NOTE_SIZE) -> str:
    """Break text into lines of a width in inches, at spaces; a longer word loses its middle."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            sizes = (shortened(word, n) for n in range(len(word), 3, -1))
            shown = next((short for short in sizes if _width_in_inches(short, size) <= width), word)
            longer = f"{line} {shown}".lstrip()
            if line and _width_in_inches(longer, size) > width:
                lines.append(line)
                longer = shown
            line = longer
        lines.append(line)
    return "\n".join(lines)


def _width_in_inches(text: str, size: float) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=_RC["font.family"], size=size)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width / 72


def shortened(name: str, max_characters: int = 34) -> str:
    """Shorten a long name by leaving out its middle; names tend to differ at their ends."""
    if len(name) <= max_characters:
        return name
    half = max(max_characters // 2, 2)
    return f"{name[: half - 1]}…{name[-half:]}"


def grid_shape(n: int, most_columns: int) -> tuple[int, int]:
    """Return numbers of rows and columns for n panels: few rows, about equally full."""
    rows = max(1, -(-n // most_columns))
    return rows, max(1, -(-n // rows))


def count(n: float) -> str:
    """Format a count as a whole number, such as `10,000`."""
    return f"{n:,.0f}"


# --- Files

# Without a creation date, so that the bytes do not depend on the time of writing.
_OPTIONS: dict[str, dict[str, Any]] = {
    ".pdf": {"format": "pdf", "metadata": {"CreationDate": None}},
    ".png": {"format": "png", "dpi": DPI},
    ".svg": {"format": "svg", "metadata": {"Date": None}},
}


def save_figure(figure: "Figure", *paths: str | os.PathLike[str]) -> None:
    """Save a figure atomically as PDF, PNG or SVG, depending on the suffixes of `paths`."""
    for path in paths:
        options = _OPTIONS[check_figure(path)]
        fonts = _small_fonts() if options["format"] == "pdf" else nullcontext()
        with style(), fonts, atomic_file(path) as partial:
            fix_layout(figure)
            figure.savefig(partial, **options)


def check_figure(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a figure's path; refuse one that is no supported format."""
    return check_format(path, tuple(_OPTIONS), "cannot save {} figures")


@contextmanager
def _small_fonts() -> Iterator[None]:
    """In a `with` block, embed fonts in PDF files without unused tables and without log messages.

    Matplotlib has no option for it. Taking the glyphs of a figure out of the tables for complex
    scripts and formulas takes longer than all else of a PDF.
    """
    from fontTools.subset import Options

    logger, unused = logging.getLogger("fontTools"), ["GDEF", "GPOS", "GSUB", "MATH"]
    level, dropped = logger.level, Options._drop_tables_default
    logger.setLevel(logging.WARNING)
    Options._drop_tables_default = [*dropped, *unused]
    try:
        yield
    finally:
        logger.setLevel(level)
        Options._drop_tables_default = dropped
