"""Results of an experiment: a row per accuracy, with its interval."""

import json
from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from matcheval.analyses.retraining.trials import Trial
from matcheval.errors import ErrorCollector
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.predictions.files import read_predictions
from matcheval.statistics.intervals import clopper_pearson

BASELINE = "baseline"

TRIALS = TableSchema(
    "results of an experiment",
    (
        Column("experiment", pa.string(), "", "name of the experiment"),
        Column("kind", pa.string(), "", "kind of the experiment"),
        Column("base", pa.string(), "", "the study's model that this is a variant of"),
        Column("variant", pa.string(), "", "how it was trained; baseline: as in the study"),
        Column("model", pa.string(), "", "name of the model that was run"),
        Column("train", pa.string(), "", "the set it was trained on"),
        Column("test", pa.string(), "", "the set it was run on"),
        Column("values", pa.string(), "", "varied fields of the recipe, a JSON object"),
        Column("n", pa.int64(), "datapoints", "size of the test set"),
        Column("n_correct", pa.int64(), "datapoints", "predicted right"),
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
    """Count what the models of an experiment get right.

    Parameters
    ----------
    experiment, kind : str
    trials : sequence of Trial
    files : sequence of str
        The prediction file of each.
    confidence : float
        Level of the Clopper-Pearson intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        Columns of `TRIALS`, a row per trial.

    Raises
    ------
    InputError
        Naming every prediction file that cannot be read.
    """
    rows, problems = [], ErrorCollector()
    for trial, file in zip(trials, files, strict=True):
        with problems.collected():
            found = read_predictions(file)
            rows.append(
                {
                    "experiment": experiment,
                    "kind": kind,
                    "base": trial.base,
                    "variant": trial.variant,
                    "model": trial.model,
                    "train": trial.train,
                    "test": trial.dataset,
                    "values": json.dumps(trial.values),
                    "n": len(found.label),
                    "n_correct": int((found.label == found.prediction).sum()),
                }
            )
    problems.raise_any()
    table = pd.DataFrame(rows)
    interval = clopper_pearson(table["n_correct"].to_numpy(), table["n"].to_numpy(), confidence)
    table["accuracy"] = table["n_correct"] / table["n"]
    table["accuracy_low"], table["accuracy_high"] = interval.low, interval.high
    table["confidence"] = confidence
    return table[TRIALS.names]


def trial_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of the table for reading, accuracies in percent."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    return [
        TextColumn("Model", table["base"].tolist(), is_number=False),
        TextColumn("Variant", table["variant"].tolist(), is_number=False),
        TextColumn("Tested on", table["test"].tolist(), is_number=False),
        TextColumn("n", [f"{n:,}" for n in table["n"]]),
        TextColumn(f"Accuracy (%) [{level}]", percents(table)),
    ]


def percents(table: pd.DataFrame) -> list[str]:
    """Accuracies with their intervals in percent, one text per row."""
    columns = table[["accuracy", "accuracy_low", "accuracy_high"]].to_numpy(dtype=float)
    return [f"{100 * a:.1f} [{100 * low:.1f}, {100 * high:.1f}]" for a, low, high in columns]
