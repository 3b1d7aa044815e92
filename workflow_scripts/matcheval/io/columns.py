"""Columns that several tables share, each declared once."""

import pyarrow as pa

from matcheval.io.tables import Column


def fraction(name: str, meaning: str) -> Column:
    """Declare a column of fractions, such as accuracies or probabilities.

    Parameters
    ----------
    name : str
        Name of the column.
    meaning : str
        What its values mean.

    Returns
    -------
    Column
        Of type float64 and unit "fraction".
    """
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
    """Declare the columns that `statistics.accuracies.accuracy_columns` returns for a subset.

    Parameters
    ----------
    part : str
        Suffix of the columns' names: `n_<part>`, `n_correct_<part>`, `accuracy_<part>`, ....
    of : str
        Description of the datapoints of the subset: the meaning of `n_<part>`.

    Returns
    -------
    tuple of Column
        Number of datapoints, number of correct predictions, accuracy, and its lower and upper
        bound.
    """
    return (
        Column(f"n_{part}", pa.int64(), "datapoints", of),
        Column(f"n_correct_{part}", pa.int64(), "datapoints", "of these, correctly predicted"),
        fraction(f"accuracy_{part}", "n_correct over n; NaN if there are none"),
        fraction(f"accuracy_{part}_low", "Clopper-Pearson lower bound"),
        fraction(f"accuracy_{part}_high", "Clopper-Pearson upper bound"),
    )
