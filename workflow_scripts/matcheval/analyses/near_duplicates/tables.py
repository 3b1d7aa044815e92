"""The effect of near duplicates of training images on accuracies.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.2: about 8 % of the CIFAR-10 test images have a
near duplicate in the training set. Even a model that is correct on all of them gains little: the
least accuracy on the others is (k - d) / (n - d) for k of n images correct and d near duplicates.
"""

from typing import Any

import numpy as np
import pandas as pd

from matcheval.analyses.near_duplicates.schemas import DUPLICATE_ACCURACIES
from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows
from matcheval.io.text_tables import TextColumn, accuracy_cells, percent_cell, signed_cells
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.accuracies import accuracy_columns

SCHEMA = DUPLICATE_ACCURACIES


def tabulate(
    known: Correctness, dataset: str, file: str, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate accuracies on the images that are near duplicates, and on the others."""
    listed = read_csv_rows(file, ("index",))
    try:
        positions = [int(row["index"]) for row in listed]
    except (TypeError, ValueError) as error:
        raise InputError(f"not a whole number ({error})", file=file, field="index") from error
    is_duplicate = np.zeros(len(known), bool)
    is_duplicate[known.rows_of(positions, file=file)] = True
    rows = []
    for model, correct in zip(known.models, known.right, strict=True):
        row: dict[str, Any] = {"model": model, "dataset": dataset, "confidence": confidence}
        row |= accuracy_columns("all", correct, confidence)
        row |= accuracy_columns("duplicates", correct[is_duplicate], confidence)
        row |= accuracy_columns("rest", correct[~is_duplicate], confidence)
        least = max(row["n_correct_all"] - len(positions), 0)
        row["least_accuracy_rest"] = least / row["n_rest"] if row["n_rest"] else np.nan
        row["change"] = row["accuracy_rest"] - row["accuracy_all"]
        rows.append(row)
    return pd.DataFrame(rows, columns=SCHEMA.names)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    n = {part: int(table[f"n_{part}"].iloc[0]) for part in ("all", "duplicates", "rest")}
    return [
        TextColumn("Model", table["model"].tolist(), is_number=False),
        TextColumn(f"All {n['all']:,} (%) [{level}]", accuracy_cells(table, "all")),
        TextColumn(f"{n['duplicates']:,} duplicates (%)", accuracy_cells(table, "duplicates")),
        TextColumn(f"Other {n['rest']:,} (%)", accuracy_cells(table, "rest")),
        TextColumn("At least (%)", [percent_cell(x) for x in table["least_accuracy_rest"]]),
        TextColumn("Change", signed_cells(table["change"].tolist(), 2)),
    ]
