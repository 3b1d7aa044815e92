"""Accuracies of human participants beside those of the models, on the same images.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.5: on the images that are hard for models,
humans are equally accurate on both sets.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.analyses.human_accuracy import COLUMNS
from matcheval.errors import InputError
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, accuracy, fraction
from matcheval.io.text_tables import TextColumn, accuracy_cells, percent_cell, signed_cells
from matcheval.io.user_files import check_columns
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.intervals import accuracy_columns

SCHEMA = TableSchema(
    "human accuracies",
    (
        Column("participant", pa.string(), "", "name of the participant"),
        Column("pair", pa.string(), "", "name of the pair of sets"),
        *accuracy("original", "images of the original that the participant classified"),
        fraction("models_original", "mean accuracy of the models on the same images"),
        *accuracy("replication", "images of the replication that the participant classified"),
        fraction("models_replication", "mean accuracy of the models on the same images"),
        fraction("gap", "accuracy, original minus replication"),
        CONFIDENCE_LEVEL,
    ),
)

ORIGINS = ("original", "replication")


def read_annotations(path: str | Path) -> pd.DataFrame:
    """Read from a CSV file which classes human participants gave to which images."""
    try:
        table = pd.read_csv(path, dtype={"participant": str, "set": str})
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (ValueError, OSError) as error:
        raise InputError(f"not readable as CSV ({error})", file=path) from error
    check_columns([*map(str, table)], COLUMNS, path)
    table = table[COLUMNS]
    for name in ("index", "answer"):
        if table[name].dtype.kind not in "iu":
            raise InputError("must be a whole number in every row", file=path, field=name)
    unknown = table.loc[~table["set"].isin(ORIGINS), "set"]
    if len(unknown):
        raise InputError(f"'{unknown.iloc[0]}' is none of {', '.join(ORIGINS)}", file=path)
    repeated = table.duplicated(["participant", "set", "index"])
    if repeated.any():
        row = table[repeated].iloc[0]
        raise InputError(
            f"participant '{row['participant']}' annotated image {row['index']} of the "
            f"{row['set']} twice",
            file=path,
        )
    return table


def human_accuracies(
    annotations: pd.DataFrame,
    known: Mapping[str, Correctness],
    pair: str,
    confidence: float = 0.95,
    file: object = None,
) -> pd.DataFrame:
    """Tabulate the accuracy of every participant on both sets of a pair."""
    rows = []
    for participant, of_person in annotations.groupby("participant", sort=True):
        row: dict[str, Any] = {"participant": participant, "pair": pair, "confidence": confidence}
        for origin in ORIGINS:
            given = of_person[of_person["set"] == origin]
            at = known[origin].rows_of(given["index"].tolist(), file=file)
            correct = known[origin].labels[at] == given["answer"].to_numpy()
            row |= accuracy_columns(origin, correct, confidence)
            models = known[origin].right[:, at]
            row[f"models_{origin}"] = float(models.mean()) if models.size else np.nan
        row["gap"] = row["accuracy_original"] - row["accuracy_replication"]
        rows.append(row)
    table = pd.DataFrame(rows, columns=SCHEMA.names)
    return table.sort_values(
        ["accuracy_original", "participant"], ascending=[False, True], ignore_index=True
    )


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    columns = [TextColumn("Participant", [*table["participant"], "mean"], is_number=False)]
    for origin, head in (("original", "Original"), ("replication", "New")):
        mean, models = (table[f"{what}_{origin}"].mean() for what in ("accuracy", "models"))
        of_models = map(percent_cell, table[f"models_{origin}"])
        columns += [
            TextColumn(
                f"{head} accuracy (%) [{level}]",
                [*accuracy_cells(table, origin), percent_cell(mean)],
            ),
            TextColumn("Images", [*(f"{n:,}" for n in table[f"n_{origin}"]), ""]),
            TextColumn("Models (%)", [*of_models, percent_cell(models)]),
        ]
    gaps = table["gap"]
    better = f"{(gaps > 0).sum()} better on the original, {(gaps < 0).sum()} on the new"
    cells = [*signed_cells(gaps.tolist()), f"{signed_cells([gaps.mean()])[0]} ({better})"]
    return [*columns, TextColumn("Gap", cells)]
