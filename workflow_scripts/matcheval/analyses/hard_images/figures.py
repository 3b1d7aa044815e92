"""The contact sheet of hard images."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.analyses.near_duplicates.images import LabelledPixels
from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = 9


def plot_hard_images(table: pd.DataFrame, images: LabelledPixels, most: int = 30) -> "Figure":
    """Draw the hardest images on a contact sheet, with their classes.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `tables.SCHEMA`, the hardest first.
    images : LabelledPixels
        The images of the dataset.
    most : int
        Largest number of images drawn.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows.
    """
    shown = table.head(most)
    if shown.empty:
        raise InputError("no hard images to draw: the table is empty")
    pictures = [
        Picture(images.pixels[index], f"{index}: {images.classes[label]}\n{n_right} of {n_models}")
        for index, label, n_right, n_models in shown[
            ["index", "label", "n_right", "n_models"]
        ].to_numpy()
    ]
    rows = [pictures[i : i + _COLUMNS] for i in range(0, len(pictures), _COLUMNS)]
    return plot_contact_sheet(
        rows,
        images.max_value,
        f"{images.name}: the {len(shown)} hardest of {len(images.labels):,} images",
        "Position: class, and how many models classify it correctly.",
    )
