"""Accuracies on the successive revisions of a dataset that was reviewed and sampled again.

Recht et al. (2019), arXiv 1902.10811, appendix C.3.2: does cleaning a new test set change the
accuracies on it?
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import CONFIDENCE_LEVEL, DATASET, MODEL, Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, accuracy_cells, signed_cells
from matcheval.statistics.intervals import clopper_pearson

SCHEMA = TableSchema(
    "accuracies on revisions",
    (
        MODEL,
        Column("revisions", pa.string(), "", "name of the series of revisions"),
        Column("number", pa.int16(), "1", "number of the revision, from 1"),
        DATASET,
        Column("n", pa.int64(), "datapoints", "size of the revision; 0 if unknown"),
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
        fraction("accuracy", "top-1 accuracy"),
        fraction("accuracy_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        fraction("accuracy_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
        fraction("change", "accuracy minus that on the previous revision; NaN for the first"),
        CONFIDENCE_LEVEL,
    ),
)


def tabulate_revisions(
    sets: Mapping[str, pa.Table], name: str, confidence: float = 0.95, without: Sequence[str] = ()
) -> pd.DataFrame:
    """Tabulate top-1 accuracies on the revisions of a dataset."""
    accuracies = {}
    for dataset, table in sets.items():
        frame = table.to_pandas()
        kept = (frame["top"] == 1) & ~frame["model"].isin(without)
        accuracies[dataset] = frame[kept].set_index("model")
    models = next(iter(accuracies.values())).index
    rows = []
    for model in models:
        before = float("nan")
        for number, (dataset, frame) in enumerate(accuracies.items(), start=1):
            if model not in frame.index:
                raise InputError(
                    f"no accuracy of model '{model}'",
                    file=dataset,
                    field="revisions.series",
                    remedy="List the model under revisions.without",
                )
            row = _row(frame.loc[model], before, confidence)
            before = row["accuracy"]
            rows.append(
                {"model": model, "revisions": name, "number": number, "dataset": dataset, **row}
            )
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _row(found: pd.Series, before: float, confidence: float) -> dict[str, Any]:
    n, correct = int(found["n"]), int(found["n_correct"])
    low = high = float("nan")
    if n:
        interval = clopper_pearson(correct, n, confidence)
        low, high = float(interval.low), float(interval.high)
    return {
        "n": n,
        "n_correct": correct,
        "accuracy": float(found["accuracy"]),
        "accuracy_low": low,
        "accuracy_high": high,
        "change": float(found["accuracy"]) - before,
        "confidence": confidence,
    }


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    columns = [TextColumn("Model", [*table["model"].unique(), "mean"], is_number=False)]
    for _, of_set in table.groupby("number"):
        n = of_set["n"].iloc[0]
        cells = accuracy_cells(of_set, "")
        cells.append(f"{100 * of_set['accuracy'].mean():.1f}")
        size = f", n = {n:,}" if n else ""
        columns.append(TextColumn(f"{of_set['dataset'].iloc[0]}{size} (%)", cells))
    change = table.groupby("model", sort=False)["change"].sum()
    return [*columns, TextColumn("Change", signed_cells([*change, change.mean()], 2))]
