"""Hard images: those that the fewest models classify correctly.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.4 and B.2.5.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import DATASET, Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.predictions.correctness import Correctness

SCHEMA = TableSchema(
    "hard images",
    (
        DATASET,
        Column("index", pa.int32(), "", "position in the dataset, from 0"),
        Column("label", pa.int16(), "", "true class"),
        Column("n_right", pa.int32(), "models", "how many models classify it correctly"),
        Column("n_models", pa.int32(), "models", "number of models"),
    ),
)


def tabulate(
    known: Correctness, dataset: str, file: str = "", *, share: float = 0.05
) -> pd.DataFrame:
    """List the hardest images of a dataset."""
    if not 0 < share <= 1:
        raise InputError(f"{share} is not in (0, 1]", field="hard_images.share")
    n_right = known.right.sum(axis=0)
    # In floating point, 0.07 * 100 is slightly above 7; without the margin, 8 would be listed.
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


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Count the listed images by the number of correct models, for a readable table."""
    counts = table.groupby("n_right").size()
    n_models = table["n_models"].iloc[0]
    return [
        TextColumn(f"Correct of {n_models} models", [f"{n}" for n in counts.index]),
        TextColumn("Images", [f"{n:,}" for n in counts]),
        TextColumn("Together", [f"{n:,}" for n in counts.cumsum()]),
    ]
