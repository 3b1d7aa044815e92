"""The contact sheet of a search for near duplicates: each image beside the most similar ones."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet, printed_pixels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 8  # nearest images per row


def plot_near_duplicates(
    nearest: pd.DataFrame, queries: Dataset, references: Dataset, rows: int
) -> "Figure":  # fmt: skip
    """Draw the queries that are most similar to a reference, with their nearest references."""
    if nearest.empty:
        raise InputError("no images to draw: the table of nearest images is empty")
    chosen = most_alike(nearest, rows)
    pictures = []
    for query in chosen:
        of_query = nearest[nearest["query"] == query].sort_values("rank").head(_SHOWN)
        first = of_query.iloc[0]
        pixels = printed_pixels(queries.image(query))
        row = [Picture(pixels, f"{query}\n{first['query_class']}", marked=True)]
        for _, near in of_query.iterrows():
            similarity = "" if pd.isna(near["ssim"]) else f" · {near['ssim']:.2f}"
            caption = f"{near['reference']}\n{near['distance']:.0f}{similarity}\n"
            pixels = printed_pixels(references.image(int(near["reference"])))
            row.append(Picture(pixels, caption + str(near["reference_class"])))
        pictures.append(row)
    return plot_contact_sheet(
        pictures,
        f"{queries.name} (framed) and the nearest images of {references.name}",
        "From above: position; ℓ2 distance over pixels · structural similarity; class.",
    )


def most_alike(nearest: pd.DataFrame, rows: int) -> list[int]:
    """Choose the queries that are most similar to a reference."""
    groups = nearest.groupby("query")
    orders = [groups["distance"].min().sort_values(kind="stable").index.tolist()]
    if nearest["ssim"].notna().any():
        by_ssim = groups["ssim"].max().sort_values(ascending=False, kind="stable")
        orders.append(by_ssim.index.tolist())
    alternating = [query for both in zip(*orders, strict=True) for query in both]
    return [int(query) for query in dict.fromkeys(alternating)][:rows]
