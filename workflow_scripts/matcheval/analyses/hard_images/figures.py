"""The contact sheet of hard images."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet, printed_pixels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = 9


def plot_hard_images(table: pd.DataFrame, dataset: Dataset, most: int = 30) -> "Figure":
    """Draw the hardest images on a contact sheet, with their classes."""
    shown = table.head(most)
    if shown.empty:
        raise InputError("no hard images to draw: the table is empty")
    pictures = [
        Picture(
            printed_pixels(dataset.image(index)),
            f"{index}: {dataset.classes[label]}\n{n_right} of {n_models}",
        )
        for index, label, n_right, n_models in shown[
            ["index", "label", "n_right", "n_models"]
        ].to_numpy()
    ]
    rows = [pictures[i : i + _COLUMNS] for i in range(0, len(pictures), _COLUMNS)]
    return plot_contact_sheet(
        rows,
        f"{dataset.name}: the {len(shown)} hardest of {len(dataset):,} images",
        "Position: class, and how many models classify it correctly.",
    )
