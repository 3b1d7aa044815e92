"""Read values back from figures, for tests of what they show."""

import itertools

from matcheval.datasets.suites import Pair
from matcheval.figures.style import fix_layout, style

PAIR = Pair("shift", "Known", "New-Writers")


def lines_of(axes):
    """Lines, and points with bars, that are in the legend, by their labels."""
    points = {one.get_label(): one[0] for one in axes.containers}
    return points | {line.get_label(): line for line in axes.lines if line.get_label()[0] != "_"}


def draw(figure):
    """Lay out; check that nothing crosses the figure's edge and its own texts do not overlap."""
    with style():
        fix_layout(figure)
        for dpi in (300, 72):  # as PNG and PDF are drawn
            figure.set_dpi(dpi)
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
            width, height = figure.get_size_inches()
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= width
            assert box.y1 <= height
            axes = [axes.get_tightbbox() for axes in figure.axes]
            others = [text for text in figure.texts if text.get_text()] + figure.legends
            for one, other in itertools.combinations(
                [*axes, *(artist.get_window_extent() for artist in others)], 2
            ):
                assert not overlap(one, other)


def overlap(one, other):
    """Whether two boxes share more than an edge (2 points)."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return width > 2 and height > 2
