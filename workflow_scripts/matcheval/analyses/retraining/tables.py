"""The table of an experiment: one accuracy with its confidence interval per row."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.errors import ErrorCollector
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, accuracy_cells
from matcheval.predictions.files import read_predictions
from matcheval.statistics.intervals import clopper_pearson


@dataclass(frozen=True)
class Trial:
    """The test of one model on one dataset, which gives one accuracy of an experiment."""

    base: str
    model: str
    dataset: str
    variant: str
    train: str
    values: Mapping[str, Any] = field(default_factory=dict)


BASELINE = "baseline"

TRIALS = TableSchema(
    "results of an experiment",
    (
        Column("experiment", pa.string(), "", "name of the experiment"),
        Column("kind", pa.string(), "", "kind of the experiment"),
        Column("base", pa.string(), "", "the study's model that the model is a variant of"),
        Column("variant", pa.string(), "", "how it was trained; baseline: as in the study"),
        Column("model", pa.string(), "", "name of the model that was tested"),
        Column("train", pa.string(), "", "name of its training set"),
        Column("test", pa.string(), "", "name of its test set"),
        Column("values", pa.string(), "", "varied fields of the recipe, a JSON object"),
        Column("n", pa.int64(), "datapoints", "size of the test set"),
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted"),
        Column("accuracy", pa.float64(), "fraction", "n_correct over n"),
        Column("accuracy_low", pa.float64(), "fraction", "Clopper-Pearson lower bound"),
        Column("accuracy_high", pa.float64(), "fraction", "Clopper-Pearson upper bound"),
        Column("confidence", pa.float64(), "fraction", "level of the intervals"),
    ),
)


def tabulate_trials(
    experiment: str,
    kind: str,
    trials: Sequence[Trial],
    files: Sequence[str],
    confidence: float,
) -> pd.DataFrame:
    """Tabulate the accuracies of the models of an experiment."""
    rows, problems = [], ErrorCollector()
    for trial, file in zip(trials, files, strict=True):
        with problems.collected():
            found = read_predictions(file)
            n, right = len(found.label), int((found.label == found.prediction).sum())
            values = json.dumps(trial.values)
            rows.append(
                (experiment, kind, trial.base, trial.variant, trial.model, trial.train,
                 trial.dataset, values, n, right)
            )  # fmt: skip
    problems.raise_any()
    table = pd.DataFrame(rows, columns=TRIALS.names[:10])
    interval = clopper_pearson(table["n_correct"].to_numpy(), table["n"].to_numpy(), confidence)
    return table.assign(
        accuracy=table["n_correct"] / table["n"], accuracy_low=interval.low,
        accuracy_high=interval.high, confidence=confidence,
    )  # fmt: skip


def trial_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    return [
        TextColumn("Model", table["base"].tolist(), is_number=False),
        TextColumn("Variant", table["variant"].tolist(), is_number=False),
        TextColumn("Tested on", table["test"].tolist(), is_number=False),
        TextColumn("n", [f"{n:,}" for n in table["n"]]),
        TextColumn(f"Accuracy (%) [{level}]", accuracy_cells(table, "")),
    ]
