"""Reading figures back, for tests of what they show."""

from matcheval.figures.style import style
from matcheval.settings import Pair

PAIR = Pair("shift", "Known", "New-Writers")


def lines_of(axes):
    """Lines that are in the legend, by their labels, in order of drawing."""
    return {line.get_label(): line for line in axes.lines if line.get_label()[0] != "_"}


def texts_of(legend):
    """A legend's entries."""
    return [text.get_text() for text in legend.get_texts()]


def draw(figure):
    """Draw, and check that nothing crosses the figure's edge."""
    with style():
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height
