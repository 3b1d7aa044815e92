"""What a report consists of: sections with tables, figures, headlines and notes, and charts.

Charts tell names and values under the pointer, as SVG that pages hold as it is. Here is geometry
only: colours and the reaction to the pointer are those of the page. A chart is complete without
JavaScript, and its points are in the document, so that it prints.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ShownFile:
    """The files of a table or figure that a section shows, with its title and caption."""

    paths: tuple[str, ...]
    title: str
    caption: str = ""
    wildcards: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """Whether it is a table, in Markdown; otherwise, it is a figure."""
        return self.paths[0].endswith(".md")


@dataclass(frozen=True)
class Section:
    """The part of a report that one analysis gives.

    The function `content` of the module `report` of the analysis's package makes it of the files
    `data`, by name, and of `values`; without data, it shows the tables and figures only.
    """

    name: str  # of the analysis, in study files
    title: str
    package: str
    shown: tuple[ShownFile, ...] = ()
    data: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the analysis


@dataclass(frozen=True)
class Sentence:
    """A sentence of a headline; `strength` is how far data support it, if it is a claim."""

    text: str
    strength: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Headline:
    """A result at the beginning of the page; `notes` say what looks wrong, or is to be known."""

    subject: str
    lines: tuple[Sentence, ...]
    next_step: str = ""
    charts: "tuple[Chart, ...]" = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """Headlines, template variables and notes that a module `report` makes of a section's data.

    `notes` say what was left out and why, and what looks wrong. A section with a `heading` is shown
    under it, and not in a drawer.
    """

    headlines: tuple[Headline, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)  # of the template
    notes: tuple[str, ...] = ()
    heading: str = ""


# --- charts

_WIDTH, _NARROW, _SQUARE = 960.0, 372.0, 480.0
_RIGHT_MARGIN, _BOTTOM_MARGIN = 16.0, 46.0
_PER_CHARACTER = 6.6  # width of a character, at most on average
_LONGEST = 64  # characters of a category's name that are shown
_NARROWEST = 300.0  # width between the axes beside long names
_ROW, _TALL_ROW = 21.0, 36.0  # height of a category; with its name above its points
_MOST_POINTS = 400  # of a chart that is also drawn for narrow screens
_AROUND = 0.04  # free share of the range at each end
_INTERVALS = 6  # between ticks, at most


@dataclass(frozen=True)
class Point:
    """A point of a chart, with intervals along the axes; NaN where there is none."""

    x: float
    y: float
    name: str
    text: str
    x_bounds: tuple[float, float] = (math.nan, math.nan)
    y_bounds: tuple[float, float] = (math.nan, math.nan)


def bounds_in_percent(row: "Mapping[Any, Any] | pd.Series", name: str) -> tuple[float, float]:
    """Return the bounds of a value's interval, columns `_low` and `_high`, in percent."""
    return 100 * float(row[f"{name}_low"]), 100 * float(row[f"{name}_high"])


@dataclass(frozen=True)
class Series:
    """The points of one kind in a chart; `look` is a key of `style.PAGE_COLORS`."""

    label: str
    points: Sequence[Point]
    look: str = ""

    @property
    def defined(self) -> list[Point]:
        """The points to draw: those whose values are both finite."""
        return [p for p in self.points if math.isfinite(p.x) and math.isfinite(p.y)]


@dataclass(frozen=True)
class Line:
    """A line through points, such as a fit; `kind` is `reference` or `fit`."""

    label: str
    kind: str
    xs: Sequence[float]
    ys: Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A point as it is drawn, in coordinates of the drawing; error bars are x1, y1, x2, y2."""

    x: float
    y: float
    name: str
    text: str
    bars: list[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Chart:
    """A chart of points; its title is what it shows, `note` how it was made."""

    title: str
    x_title: str
    y_title: str
    series: Sequence[Series]
    lines: Sequence[Line] = field(default=())
    categories: Sequence[str] = field(default=())
    zero: str = ""
    is_square: bool = False
    is_joined: bool = False  # whether a line joins the points of a series
    note: str = ""
    is_narrow: bool = False

    top = 14.0  # where the y axis ends

    @property
    def narrow(self) -> "Chart | None":
        """The same chart for a narrow screen; None if it has too many points to be drawn twice."""
        n = sum(len(series.points) for series in self.series)
        return None if n > _MOST_POINTS else replace(self, is_narrow=True)

    @property
    def looks(self) -> list[str]:
        """Key of symbol and colour, by series: its `look` or, without one, its number."""
        return [series.look or f"s{number}" for number, series in enumerate(self.series)]

    @property
    def width(self) -> float:
        """Width of the drawing."""
        if self.is_narrow or self.is_square:
            return _NARROW if self.is_narrow else _SQUARE
        return max(_WIDTH, self.left + _NARROWEST + _RIGHT_MARGIN)

    @cached_property
    def height(self) -> float:
        """Height of the drawing."""
        if self.categories:
            row = _TALL_ROW if self.is_narrow else _ROW
            return self.top + _BOTTOM_MARGIN + row * len(self.categories)
        return self.right - self.left + self.top + _BOTTOM_MARGIN if self.is_square else 340.0

    @cached_property
    def left(self) -> float:
        """X coordinate at which the x axis begins."""
        if self.is_narrow and self.categories:
            return 8.0  # names are above their points
        longest = min(max(map(len, self.categories), default=0), _LONGEST)
        return max(58.0, _PER_CHARACTER * longest + 16)

    @property
    def right(self) -> float:
        """X coordinate at which the x axis ends."""
        return self.width - _RIGHT_MARGIN

    @property
    def bottom(self) -> float:
        """Y coordinate at which the y axis begins."""
        return self.height - _BOTTOM_MARGIN

    @property
    def x_title_centre(self) -> float:
        """X coordinate of the centre of the x axis's title: the axis's centre, if there is room."""
        half = _PER_CHARACTER * len(self.x_title) / 2
        return max(half, min((self.left + self.right) / 2, self.width - half))

    @cached_property
    def _axis_ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Values at the ends of the x axis and of the y axis."""
        points = [p for series in self.series for p in series.defined]
        x = [v for p in points for v in (p.x, *p.x_bounds) if math.isfinite(v)]
        y = [v for p in points for v in (p.y, *p.y_bounds) if math.isfinite(v)]
        x, y = x + [0.0] * (self.zero == "x"), y + [0.0] * (self.zero == "y")
        if self.is_square:
            x = y = [*x, *y]
        if self.categories:
            return _range_with_margin(x), (len(self.categories) - 0.5, -0.5)
        return _range_with_margin(x), _range_with_margin(y)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Convert values on the axes to coordinates in the drawing, rounded to tenths."""
        (x0, x1), (y0, y1) = self._axis_ranges
        across = self.left + (x - x0) / (x1 - x0) * (self.right - self.left)
        up = self.bottom - (y - y0) / (y1 - y0) * (self.bottom - self.top)
        return round(across, 1), round(up, 1)

    @property
    def marks(self) -> list[list[Mark]]:
        """The points to draw, by series, in coordinates of the drawing."""
        return [[self._mark(point) for point in series.defined] for series in self.series]

    def _mark(self, point: Point) -> Mark:
        ends = []
        if all(map(math.isfinite, point.x_bounds)):
            ends.append([(end, point.y) for end in point.x_bounds])
        if all(map(math.isfinite, point.y_bounds)):
            ends.append([(point.x, end) for end in point.y_bounds])
        bars = [(*self.place(*first), *self.place(*last)) for first, last in ends]
        return Mark(*self.place(point.x, point.y), point.name, point.text, bars)

    @property
    def x_ticks(self) -> list[tuple[float, str]]:
        """Coordinates and texts of the ticks of the x axis."""
        return [(self.place(v, 0)[0], text) for v, text in _ticks(*self._axis_ranges[0])]

    @property
    def y_ticks(self) -> list[tuple[float, str]]:
        """Coordinates and texts of the ticks of the y axis: numbers, or names of categories."""
        if not self.categories:
            return [(self.place(0, v)[1], text) for v, text in _ticks(*self._axis_ranges[1])]
        names = (n if len(n) <= _LONGEST else f"{n[: _LONGEST - 1]}…" for n in self.categories)
        return [(self.place(0, i)[1], name) for i, name in enumerate(names)]

    @property
    def zero_line(self) -> tuple[float, float, float, float] | None:
        """Ends x1, y1, x2, y2 of the line at 0 on the axis `zero`; None if there is to be none."""
        x, y = self.place(0, 0)
        lines = {"x": (x, self.top, x, self.bottom), "y": (self.left, y, self.right, y)}
        return lines.get(self.zero)

    def joined(self, marks: Sequence[Mark]) -> str:
        """Return the line that joins the points of a series, as the data of an SVG path."""
        return "M" + "L".join(f"{mark.x},{mark.y}" for mark in marks)

    def path(self, line: Line) -> str:
        """Return a line through values on the axes, as the data of an SVG path."""
        places = [self.place(x, y) for x, y in zip(line.xs, line.ys, strict=True)]
        return "M" + "L".join(f"{x},{y}" for x, y in places)


def _range_with_margin(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of values with a margin; 0 to 1 if there are none."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = _AROUND * (high - low) or max(abs(high), 1.0) * _AROUND
    return low - margin, high + margin


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return round numbers (multiples of 1, 2 or 5 · 10ⁿ) within a range, and their texts."""
    least = (high - low) / _INTERVALS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= least)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [float(step * k) for k in np.arange(first, last + 1)]
    return [(value, f"{value + 0.0:.{digits}f}".replace("-", "−")) for value in values]
