"""Columns that several kinds of table share, so that each is declared once."""

import pyarrow as pa

from matcheval.io.tables import Column


def fraction(name: str, meaning: str) -> Column:
    """Declare a column of fractions: accuracies, probabilities, shares."""
    return Column(name, pa.float64(), "fraction", meaning)


MODEL = Column("model", pa.string(), "", "name of the model")
DATASET = Column("dataset", pa.string(), "", "name of the dataset")
TOP_K = Column("top", pa.int16(), "classes", "k: right if the label is among the k top classes")
PAIR = (
    Column("pair", pa.string(), "", "name of the pair of sets"),
    TOP_K,
    Column("original", pa.string(), "", "the original set"),
    Column("replication", pa.string(), "", "the replication set"),
)
CONFIDENCE_LEVEL = Column("confidence", pa.float64(), "fraction", "level of the intervals")


def accuracy(part: str, of: str) -> tuple[Column, ...]:
    """Declare what `statistics.accuracies.accuracy_columns` gives for some datapoints.

    Parameters
    ----------
    part : str
        How the columns' names end: `n_<part>`, `n_correct_<part>`, `accuracy_<part>`, ....
    of : str
        Which datapoints these are, for the meaning of `n_<part>`.
    """
    return (
        Column(f"n_{part}", pa.int64(), "datapoints", of),
        Column(f"n_correct_{part}", pa.int64(), "datapoints", "of these, predicted right"),
        fraction(f"accuracy_{part}", "n_correct over n; NaN if there are none"),
        fraction(f"accuracy_{part}_low", "Clopper-Pearson lower bound"),
        fraction(f"accuracy_{part}_high", "Clopper-Pearson upper bound"),
    )
