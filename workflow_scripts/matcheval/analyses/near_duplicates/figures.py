"""The contact sheet of a search for near duplicates: each image beside what is most like it."""

from typing import TYPE_CHECKING

import pandas as pd

from matcheval.analyses.near_duplicates.images import LabelledPixels
from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 8  # neighbours per row


def plot_neighbours(
    neighbours: pd.DataFrame, queries: LabelledPixels, references: LabelledPixels, rows: int = 20
) -> "Figure":  # fmt: skip
    """Draw the images that are most like one of the other set, with their neighbours.

    Parameters
    ----------
    neighbours : pandas.DataFrame
        Columns of `neighbours.schemas.NEIGHBOURS`.
    queries, references : LabelledPixels
        The two sets.
    rows : int
        Images shown: alternately the next by smallest ℓ2 distance and by highest structural
        similarity, if there is one.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If there are no neighbours.
    """
    if neighbours.empty:
        raise InputError("no neighbours to draw")
    chosen = most_alike(neighbours, rows)
    pictures = []
    for query in chosen:
        of_query = neighbours[neighbours["query"] == query].sort_values("rank").head(_SHOWN)
        first = of_query.iloc[0]
        row = [Picture(queries.pixels[query], f"{query}\n{first['query_class']}", marked=True)]
        for _, near in of_query.iterrows():
            similarity = "" if pd.isna(near["ssim"]) else f" · {near['ssim']:.2f}"
            caption = f"{near['reference']}: {near['distance']:.0f}{similarity}\n"
            pixels = references.pixels[int(near["reference"])]
            row.append(Picture(pixels, caption + str(near["reference_class"])))
        pictures.append(row)
    return plot_contact_sheet(
        pictures,
        queries.max_value,
        f"{queries.name} (framed) and the nearest images of {references.name}",
        "Position: ℓ2 distance over pixels · structural similarity; then the class.",
    )


def most_alike(neighbours: pd.DataFrame, rows: int) -> list[int]:
    """Queries nearest to a reference, alternately by ℓ2 distance and by similarity."""
    groups = neighbours.groupby("query")
    orders = [groups["distance"].min().sort_values(kind="stable").index.tolist()]
    if neighbours["ssim"].notna().any():
        by_ssim = groups["ssim"].max().sort_values(ascending=False, kind="stable")
        orders.append(by_ssim.index.tolist())
    alternating = [query for both in zip(*orders, strict=True) for query in both]
    return [int(query) for query in dict.fromkeys(alternating)][:rows]
