"""Hard images: those that no models, or the fewest, get right.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.4 and B.2.5.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.columns import DATASET
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.predictions.correctness import Correctness

SCHEMA = TableSchema(
    "hard images",
    (
        DATASET,
        Column("index", pa.int32(), "", "position in the dataset"),
        Column("label", pa.int16(), "", "true class"),
        Column("n_right", pa.int32(), "models", "how many models get it right"),
        Column("n_models", pa.int32(), "models", "how many models there are"),
    ),
)


def hard_images(known: Correctness, dataset: str, share: float = 0.05) -> pd.DataFrame:
    """List the hardest images of a dataset.

    Parameters
    ----------
    known : Correctness
    dataset : str
        Its name.
    share : float
        Part of the images, in (0, 1], that are listed at least. Images that as many models get
        right as the last one are listed too, so that no choice among equals is made.

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`, the hardest first, then by position.

    Raises
    ------
    InputError
        If the share is out of range.
    """
    if not 0 < share <= 1:
        raise InputError(f"{share} is not in (0, 1]", field="hard_images.share")
    n_right = known.right.sum(axis=0)
    # 0.07 of 100 is above 7 in binary arithmetic, by far less than an image.
    wanted = max(1, int(np.ceil(share * len(known) - 1e-9)))
    last = np.sort(n_right)[wanted - 1]
    rows = np.flatnonzero(n_right <= last)
    rows = rows[np.argsort(n_right[rows], kind="stable")]
    return pd.DataFrame(
        {
            "dataset": dataset,
            "index": known.index[rows],
            "label": known.labels[rows],
            "n_right": n_right[rows],
            "n_models": len(known.models),
        }
    )[SCHEMA.names]


def tabulate(
    known: Correctness, dataset: str, file: str = "", *, share: float = 0.05
) -> pd.DataFrame:
    """Make the table of one dataset.

    Parameters
    ----------
    known : Correctness
        Which datapoints each model classifies correctly.
    dataset : str
        Name of the dataset.
    file : str
        Not used.
    share : float
        Least share of the images that are listed, in (0, 1].

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`.
    """
    return hard_images(known, dataset, share)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `SCHEMA`: how many images so many models get right."""
    counts = table.groupby("n_right").size()
    n_models = table["n_models"].iloc[0]
    return [
        TextColumn(f"Right of {n_models} models", [f"{n}" for n in counts.index]),
        TextColumn("Images", [f"{n:,}" for n in counts]),
        TextColumn("Together", [f"{n:,}" for n in counts.cumsum()]),
    ]
