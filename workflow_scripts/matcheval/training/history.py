"""The training history: a CSV table with one row per epoch."""

import os
from collections.abc import Sequence

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema, write_table
from matcheval.training.running_metrics import Epoch

HISTORY = TableSchema(
    "history",
    (
        Column("epoch", pa.int32(), "1", "pass over the training data, from 1"),
        Column("learning_rate", pa.float64(), "1", "learning rate of the pass's last step"),
        Column("train_loss", pa.float64(), "1", "mean loss over the pass, augmented images"),
        Column("train_accuracy", pa.float64(), "1", "accuracy over the pass, as a fraction"),
        Column("validation_loss", pa.float64(), "1", "loss after the pass, or NaN"),
        Column(
            "validation_accuracy",
            pa.float64(),
            "1",
            "accuracy after the pass, or NaN",
        ),
    ),
)


def write_history(history: Sequence[Epoch], path: str | os.PathLike[str]) -> None:
    """Write a history as CSV, atomically."""
    write_table(HISTORY.from_records(history), path)
