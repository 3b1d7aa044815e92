"""Contact sheets: rows of images with captions, for visual inspection."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.figures import style
from matcheval.figures.forms import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

_CELL, _GAP = 0.68, 0.05  # inches: side of an image, and between images
_PIXELS = 256  # per side: more cannot be seen in print
_PAGE = 6.8  # inches: width into which the images of a row are made to fit
_CAPTION = 0.105  # inches: height of a caption line
_TITLE = 0.35  # inches
_MOST_LINES = 3  # of a line of a caption that is too long for one
_MARK = "#D55E00"


@dataclass(frozen=True)
class Picture:
    """One image of a contact sheet, with one or more lines of text above it."""

    pixels: npt.NDArray[np.uint8]  # RGB, shape (height, width, 3)
    caption: str
    marked: bool = False  # with a frame, as what the others of its row are compared with


def printed_pixels(image: "Image") -> npt.NDArray[np.uint8]:
    """Return the pixels of an image, shrunk to at most 256 per side."""
    shown = image.copy()
    shown.thumbnail((_PIXELS, _PIXELS))
    return np.asarray(shown)


def plot_contact_sheet(rows: Sequence[Sequence[Picture]], title: str, note: str = "") -> "Figure":
    """Plot rows of images, each with its caption above it."""
    n_columns = max(map(len, rows), default=0)
    if not n_columns:
        raise InputError("no images to plot", field="rows")
    cell = min(_CELL, _PAGE / n_columns - _GAP)
    captions = [[_wrap_caption(picture.caption, cell) for picture in row] for row in rows]
    lines = max(caption.count("\n") + 1 for row in captions for caption in row)
    width = max(n_columns * (cell + _GAP), style.COLUMN_WIDTH)
    height = len(rows) * (cell + _CAPTION * lines) + _TITLE + 0.2 * bool(note)
    with drawing(width, height, title, note) as figure:
        grid = figure.subplots(len(rows), n_columns, squeeze=False)
        for axes_row, row, texts in zip(grid, rows, captions, strict=True):
            for axes, picture, text in zip(axes_row, row, texts, strict=False):
                _draw_picture(axes, picture, text)
            for axes in axes_row[len(row) :]:
                axes.set_axis_off()
    return figure


def _wrap_caption(caption: str, width: float) -> str:
    """Break the lines of a caption to a width in inches; the end of very long ones is left out."""
    lines = []
    for line in caption.split("\n"):
        first, *further = style.fit_text(line, width).split("\n")
        cut = [*further[: _MOST_LINES - 2], "…"] if len(further) >= _MOST_LINES else further
        lines += [first, *cut]
    return "\n".join(lines)


def _draw_picture(axes: "Axes", picture: Picture, caption: str) -> None:
    axes.imshow(picture.pixels, interpolation="nearest")
    axes.set_title(caption, fontsize=style.NOTE_SIZE, pad=1.5)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(picture.marked)
        spine.set_color(_MARK)
        spine.set_linewidth(1.2)
