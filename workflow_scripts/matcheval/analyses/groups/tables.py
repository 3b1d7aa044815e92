"""Accuracy by groups of datapoints, whatever they are grouped by.

Images that are in another set too, for instance: Recht et al. (2019), arXiv 1902.10811, appendix
C.4.7, ask how accuracy goes with what people select, and membership in the other sampled sets is
what was published of that.
"""

from pathlib import Path

import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.columns import CONFIDENCE_LEVEL, DATASET, MODEL, accuracy
from matcheval.io.csv_rows import read_csv_rows
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, columns_by_part
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.accuracies import accuracy_columns

SCHEMA = TableSchema(
    "accuracies by group",
    (
        MODEL,
        DATASET,
        Column("group", pa.string(), "", "group of datapoints, as the user's file names it"),
        *accuracy("group", "datapoints in the group"),
        CONFIDENCE_LEVEL,
    ),
)


def read_groups(path: str | Path) -> pd.Series:
    """Read which group a datapoint is in.

    Parameters
    ----------
    path : path-like
        CSV with columns `index` and `group`; datapoints that are not there are in no group.

    Returns
    -------
    pandas.Series
        Groups as text, by index.

    Raises
    ------
    InputError
        If a column is missing, an index is no whole number or there twice, a group has no name.
    """
    rows = read_csv_rows(path, ["index", "group"])
    for row in rows:
        if not row["index"].strip().isdecimal() or not row["group"].strip():
            raise InputError(
                f"index '{row['index']}', group '{row['group']}'",
                file=path,
                remedy="Give a position and the name of a group in every row",
            )
    groups = pd.Series({int(row["index"]): row["group"].strip() for row in rows}, dtype=object)
    if len(groups) < len(rows):
        raise InputError("a datapoint is there twice", file=path, field="index")
    return groups


def accuracies_by_group(
    known: Correctness,
    dataset: str,
    groups: pd.Series,
    confidence: float = 0.95,
    file: object = None,
) -> pd.DataFrame:
    """Tabulate accuracies within groups.

    Parameters
    ----------
    known : Correctness
    dataset : str
        Its name.
    groups : pandas.Series
        As `read_groups` gives them.
    confidence : float
        Level of the Clopper-Pearson intervals.
    file : object
        Where the groups are from, for messages.

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`, by model and name of the group.

    Raises
    ------
    InputError
        If a datapoint is not in the dataset.
    """
    rows = known.rows_of(groups.index.tolist(), file=file)
    table = [
        {
            "model": model,
            "dataset": dataset,
            "group": name,
            **accuracy_columns("group", right[rows[(groups == name).to_numpy()]], confidence),
            "confidence": confidence,
        }
        for model, right in zip(known.models, known.right, strict=True)
        for name in sorted(groups.unique())
    ]
    return pd.DataFrame(table, columns=SCHEMA.names)


def tabulate(
    known: Correctness, dataset: str, file: str = "", *, confidence: float = 0.95
) -> pd.DataFrame:
    """Make the table of one dataset.

    Parameters
    ----------
    known : Correctness
        Which datapoints each model classifies correctly.
    dataset : str
        Name of the dataset.
    file : str
        The groups; see `read_groups`.
    confidence : float
        Level of the Clopper-Pearson intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`.

    Raises
    ------
    InputError
        If the file does not have the form that `read_groups` expects, or a datapoint is not in
        the dataset.
    """
    return accuracies_by_group(known, dataset, read_groups(file), confidence, file)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `SCHEMA`: a column per group, with the number of datapoints."""
    return columns_by_part(table, "group", {name: name for name in table["group"]})
