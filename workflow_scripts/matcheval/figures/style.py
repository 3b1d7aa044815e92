"""How all figures look: sizes for print, colours, and what each colour and line means.

Colours are Okabe and Ito's, which colour-blind readers tell apart; what shares a panel also
differs in line style, marker or lightness, for readers of a grey print.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN_WIDTH = 3.4  # inches, one panel; two panels are as wide as a two-column page's text
NOTE_SIZE = 6.0  # points

_RC: Any = {  # matplotlib's own type for keys differs between its versions
    "font.family": "DejaVu Sans",  # comes with matplotlib, so is the same on every machine
    "font.size": 7.0,
    "text.hinting": "none",  # letters as wide in PNG as in PDF
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.4,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.0,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.3,
    "legend.borderpad": 0.2,
    "legend.labelspacing": 0.3,
    "legend.columnspacing": 1.4,
    "figure.titlesize": 7.5,
    "figure.dpi": 100,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "savefig.bbox": "standard",
    "pdf.fonttype": 42,  # fonts embedded as TrueType, which publishers ask for
}

DashPattern = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class SeriesStyle:
    """Colour, line and marker of a series."""

    color: str
    line: DashPattern
    marker: str

    def line_options(self) -> dict[str, Any]:
        """Give keyword arguments of a line without markers."""
        return {"color": self.color, "linestyle": self.line}


_DOTTED = (0, (1.2, 1.2))

# Blues are the original set, oranges its replication; dotted is matched.
ORIGINAL = SeriesStyle("#0072B2", "-", "o")
MATCHED_ORIGINAL = SeriesStyle("#56B4E9", _DOTTED, "D")
REPLICATION = SeriesStyle("#E69F00", "-", "s")
MATCHED_REPLICATION = SeriesStyle("#D55E00", _DOTTED, "^")
UNMATCHED = SeriesStyle("#009E73", (0, (4, 1.2, 1, 1.2)), "X")
GAP = SeriesStyle("#000000", "-", "o")
MATCHED_GAP = SeriesStyle("#CC79A7", _DOTTED, "D")
# Models as points, and the line through them.
MODELS = SeriesStyle("#0072B2", "none", "o")
FITTED = SeriesStyle("#D55E00", "-", "None")
REFERENCE: dict[str, Any] = {"color": "#767676", "linewidth": 0.7, "linestyle": (0, (5, 2))}


@contextmanager
def style() -> Iterator[None]:
    """Apply this style within the block only."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()  # a person's own matplotlibrc does not change the study's figures
        mpl.rcParams.update(_RC)
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Make an empty figure of a size in inches, with constrained layout."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def legend_above(axes: "Axes", **options: Any) -> None:
    """Put the legend of `axes` above it, over its whole width, where it covers no data."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.01, 1, 0), mode="expand", **options)


def set_round_ticks(axes: "Axes", most: int) -> None:
    """Put at most so many intervals, of 1, 2 or 5 times a power of ten, on the y axis."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))


def set_note(figure: "Figure", note: str) -> None:
    """Write a note, unless it is empty, in small print under the figure."""
    if note:
        figure.supxlabel(note, x=0.01, ha="left", fontsize=NOTE_SIZE, color="#444444")


def count(n: float) -> str:
    """Write a number of datapoints with separators of thousands, rounded to a whole number."""
    return f"{n:,.0f}"
