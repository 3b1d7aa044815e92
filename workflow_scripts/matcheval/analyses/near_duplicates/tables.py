"""The effect of near duplicates of training images on accuracies.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.2: about 8 % of the CIFAR-10 test images have a
near duplicate in the training set. Even a model that is correct on all of them gains little: the
least accuracy on the others is (k - d) / (n - d) for k of n images correct and d near duplicates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.near_duplicates.reviewed import read_reviewed
from matcheval.analyses.near_duplicates.schemas import DUPLICATE_ACCURACIES as SCHEMA
from matcheval.errors import InputError
from matcheval.io.text_tables import TextColumn, accuracy_cells, percent_cell, signed_cells
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.accuracies import accuracy_columns


def duplicate_accuracies(
    correct: Mapping[str, npt.NDArray[np.bool_]],
    flagged: Sequence[int],
    dataset: str,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Tabulate accuracies on the test images that are near duplicates, and on the others.

    Parameters
    ----------
    correct : mapping of str to bool array, shape (n_images,)
        Whether each image of the test set was classified correctly, by model.
    flagged : sequence of int
        Positions of the near duplicates, from 0.
    dataset : str
        Name of the test set.
    confidence : float
        Level of the Clopper-Pearson intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`, a row per model, in the order of `correct`.

    Raises
    ------
    InputError
        If a position is not in the test set or occurs twice.
    """
    rows = []
    positions = np.asarray(list(flagged), np.int64)
    for model, is_correct in correct.items():
        outside = positions[(positions < 0) | (positions >= len(is_correct))]
        if len(outside) or len(set(positions.tolist())) < len(positions):
            what = "a position occurs twice"
            if len(outside):
                what = f"{outside[0]} is not in 0..{len(is_correct) - 1}"
            raise InputError(f"near duplicates: {what}", file=dataset, field="index")
        is_duplicate = np.zeros(len(is_correct), bool)
        is_duplicate[positions] = True
        parts = {"all": is_correct, "duplicates": is_correct[is_duplicate]}
        parts["rest"] = is_correct[~is_duplicate]
        row: dict[str, Any] = {"model": model, "dataset": dataset, "confidence": confidence}
        for part, values in parts.items():
            row |= accuracy_columns(part, values, confidence)
        row["change"] = row["accuracy_rest"] - row["accuracy_all"]
        least = max(row["n_correct_all"] - len(positions), 0)
        row["least_accuracy_rest"] = least / row["n_rest"] if row["n_rest"] else np.nan
        rows.append(row)
    return pd.DataFrame(rows, columns=SCHEMA.names)


def tabulate(
    known: Correctness, dataset: str, file: str = "", *, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate accuracies with and without the reviewed near duplicates of a dataset.

    Parameters
    ----------
    known : Correctness
        Which datapoints each model classifies correctly.
    dataset : str
        Name of the dataset.
    file : str
        The near duplicates found by review, as `reviewed.read_reviewed` reads them.
    confidence : float
        Level of the Clopper-Pearson intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`.

    Raises
    ------
    InputError
        If the file cannot be read, or contains a position that is not in the dataset.
    """
    return duplicate_accuracies(
        dict(zip(known.models, known.right, strict=True)),
        known.rows_of(read_reviewed(file), file=file).tolist(),
        dataset,
        confidence,
    )


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `SCHEMA`, at least one row.

    Returns
    -------
    list of TextColumn
        The columns to show.
    """
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
