"""Contact sheets: rows of images with captions, for visual inspection."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.figures.style import COLUMN_WIDTH, new_figure, set_note, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL = 0.62  # inches: side of an image
_CAPTION = 0.115  # inches: height of a caption line
_TITLE = 0.35  # inches
_CAPTION_SIZE = 4.5  # points
_MARK = "#D55E00"


@dataclass(frozen=True)
class Picture:
    """One image of a contact sheet.

    Attributes
    ----------
    pixels : uint8 array, shape (height, width, 1 or 3)
        Grey or RGB values.
    caption : str
        One or more lines of text above the image.
    marked : bool
        Whether the image has a frame, as the one with which the others of its row are compared.
    """

    pixels: npt.NDArray[np.uint8]
    caption: str
    marked: bool = False


def plot_contact_sheet(
    rows: Sequence[Sequence[Picture]], max_value: int, title: str, note: str = ""
) -> "Figure":
    """Plot rows of images with captions.

    Parameters
    ----------
    rows : sequence of sequences of Picture
        At least one image in total; rows may differ in length.
    max_value : int
        Pixel value of full intensity, such as 255.
    title : str
        Text above all images.
    note : str
        Text below all images; empty for none.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per image, without interpolation; grey if there is one channel.

    Raises
    ------
    InputError
        If there are no images.
    """
    n_columns = max((len(row) for row in rows), default=0)
    if not n_columns:
        raise InputError("no images to plot", field="rows")
    lines = max(picture.caption.count("\n") + 1 for row in rows for picture in row)
    with style():
        height = _CELL + _CAPTION * lines
        figure = new_figure(
            max(n_columns * (_CELL + 0.05), COLUMN_WIDTH),
            len(rows) * height + _TITLE + 0.2 * bool(note),
        )
        grid = figure.subplots(len(rows), n_columns, squeeze=False)
        for axes_row, row in zip(grid, rows, strict=True):
            for axes, picture in zip(axes_row, row, strict=False):
                _draw(axes, picture, max_value)
            for axes in axes_row[len(row) :]:
                axes.set_axis_off()
        figure.suptitle(title)
        set_note(figure, note)
    return figure


def _draw(axes: "Axes", picture: Picture, max_value: int) -> None:
    pixels: Any = picture.pixels / max_value
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    axes.imshow(pixels, interpolation="nearest")
    axes.set_title(picture.caption, fontsize=_CAPTION_SIZE, pad=1.5)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(picture.marked)
        spine.set_color(_MARK)
        spine.set_linewidth(1.2)
