"""Columns that several tables share, each declared once."""

import pyarrow as pa

from matcheval.io.tables import Column


def fraction(name: str, meaning: str) -> Column:
    """Declare a column of fractions, such as accuracies or probabilities."""
    return Column(name, pa.float64(), "fraction", meaning)


MODEL = Column("model", pa.string(), "", "name of the model")
DATASET = Column("dataset", pa.string(), "", "name of the dataset")
TOP_K = Column(
    "top", pa.int16(), "classes", "k: correct if the label is among the k top-ranked classes"
)
PAIR = (
    Column("pair", pa.string(), "", "name of the pair of sets"),
    TOP_K,
    Column("original", pa.string(), "", "the original set"),
    Column("replication", pa.string(), "", "the replication set"),
)
CONFIDENCE_LEVEL = Column("confidence", pa.float64(), "fraction", "level of the intervals")


def accuracy(part: str, of: str) -> tuple[Column, ...]:
    """Declare the columns that `statistics.accuracies.accuracy_columns` returns for a subset."""
    return (
        Column(f"n_{part}", pa.int64(), "datapoints", of),
        Column(f"n_correct_{part}", pa.int64(), "datapoints", "of these, correctly predicted"),
        fraction(f"accuracy_{part}", "n_correct over n; NaN if there are none"),
        fraction(f"accuracy_{part}_low", "Clopper-Pearson lower bound"),
        fraction(f"accuracy_{part}_high", "Clopper-Pearson upper bound"),
    )
