"""Accuracy within groups of datapoints that the user defines, as those in another set."""

from functools import partial
from pathlib import Path
from typing import ClassVar

import pandas as pd

from matcheval.errors import InputError
from matcheval.io.tables import CONFIDENCE_LEVEL, DATASET, MODEL, TableSchema, accuracy, text
from matcheval.io.text_tables import columns_by_part
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.tables import DatasetFileSettings, DatasetTableAnalysis

SCHEMA = TableSchema(
    "accuracies by group",
    MODEL,
    DATASET,
    text("group", "name of the group in the user's file"),
    *accuracy("group", "datapoints in the group"),
    CONFIDENCE_LEVEL,
    shown=partial(
        columns_by_part, part="group", accuracy="accuracy_group",
        heading_format="{group}, n = {n_group:,} (%)",
    ),
)  # fmt: skip


def read_groups(path: str | Path) -> pd.Series:
    """Read from a CSV file which group each datapoint is in; the index has their positions."""
    rows = read_csv_rows(path, ["index", "group"])
    for row in rows:
        if not row["index"].strip().isdecimal() or not row["group"].strip():
            problem = f"invalid row: index '{row['index']}', group '{row['group']}'"
            remedy = "Give a position (0, 1, ...) and the name of a group in every row"
            raise InputError(problem, file=path, remedy=remedy)
    groups = pd.Series({int(row["index"]): row["group"].strip() for row in rows}, dtype=object)
    if len(groups) < len(rows):
        raise InputError("a datapoint occurs twice", file=path, field="index")
    return groups


def tabulate(
    correctness: Correctness, dataset: str, file: str, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate each model's accuracy within every group of datapoints that a CSV file defines."""
    groups = read_groups(file)
    rows = correctness.rows_of(groups.index.tolist(), file=file)
    table = [
        {
            "model": model, "dataset": dataset, "group": name, "confidence": confidence,
            **accuracy_columns("group", correct[rows[(groups == name).to_numpy()]], confidence),
        }
        for model, correct in zip(correctness.models, correctness.right, strict=True)
        for name in sorted(groups.unique())
    ]  # fmt: skip
    return pd.DataFrame(table, columns=SCHEMA.names)


class Groups(DatasetTableAnalysis):
    """Compare accuracies within groups of datapoints that the user defines."""

    name: ClassVar[str] = "groups"
    caption: ClassVar[str] = (
        "Accuracies on **{{ snakemake.wildcards.dataset }}** within groups of its datapoints, "
        "with Clopper-Pearson intervals."
    )
    Settings: ClassVar[type[DatasetFileSettings]] = DatasetFileSettings
    file_columns: ClassVar[tuple[str, ...]] = ("index", "group")
