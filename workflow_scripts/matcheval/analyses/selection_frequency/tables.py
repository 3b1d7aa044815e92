"""The effect of selection frequency on accuracy, by bins.

Recht et al. (2019), arXiv 1902.10811, appendix C.4.7: models are the more accurate, the more
people agree that an image shows its class.
"""

import os

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.analyses.sampling.frequencies import frequency_bins
from matcheval.errors import InputError
from matcheval.io.columns import CONFIDENCE_LEVEL, DATASET, MODEL, accuracy, fraction
from matcheval.io.tables import Column, TableSchema, read_parquet
from matcheval.io.text_tables import TextColumn, columns_by_part
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.accuracies import accuracy_columns

SCHEMA = TableSchema(
    "accuracies by selection frequency",
    (
        MODEL,
        DATASET,
        Column("bin", pa.int16(), "1", "bin of the selection frequency, from 0"),
        fraction("frequency_low", "lower end of the bin, within it"),
        fraction("frequency_high", "upper end of the bin, within it for the last one only"),
        *accuracy("bin", "datapoints in the bin"),
        CONFIDENCE_LEVEL,
    ),
)


BINS = 5


def read_counts(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read how many people saw and selected each datapoint.

    Parameters
    ----------
    path : path-like
        Parquet or CSV with columns `index`, `n_annotations`, `n_selected`, perhaps others: the
        provenance of a sampled dataset, for instance.

    Raises
    ------
    InputError
        If a column is missing, a count is none, or a datapoint is there twice.
    """
    if str(path).endswith(".parquet"):
        table = read_parquet(path).to_pandas()
    else:
        try:
            table = pd.read_csv(path)
        except FileNotFoundError as error:
            raise InputError("no such file", file=path) from error
        except (ValueError, OSError) as error:
            raise InputError(f"not readable as CSV ({error})", file=path) from error
    names = ["index", "n_annotations", "n_selected"]
    missing = [name for name in names if name not in table]
    if missing:
        raise InputError(f"no column {' and '.join(missing)}", file=path)
    counts: pd.DataFrame = table[names]
    if not all(counts[name].dtype.kind in "iu" for name in names):
        raise InputError("give whole numbers without gaps", file=path, field=", ".join(names))
    bad = (counts["n_selected"] < 0) | (counts["n_selected"] > counts["n_annotations"])
    if bad.any():
        row = counts[bad].iloc[0]
        raise InputError(
            f"datapoint {row['index']}: {row['n_selected']} of {row['n_annotations']} selected it",
            file=path,
        )
    if counts["index"].duplicated().any():
        raise InputError("a datapoint is there twice", file=path, field="index")
    return counts


def accuracies_by_frequency(
    known: Correctness,
    dataset: str,
    counts: pd.DataFrame,
    *,
    bins: int = BINS,
    confidence: float = 0.95,
    file: object = None,
) -> pd.DataFrame:
    """Tabulate accuracies by bins of the selection frequency.

    Parameters
    ----------
    known : Correctness
    dataset : str
        Its name.
    counts : pandas.DataFrame
        Columns `index`, `n_annotations`, `n_selected`; datapoints that nobody saw are left out.
    bins : int
        Of equal width.
    confidence : float
        Level of the Clopper-Pearson intervals.
    file : object
        Where the counts are from, for messages.

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`, by model and bin; all bins are there.

    Raises
    ------
    InputError
        If a datapoint is not in the dataset.
    """
    seen = counts[counts["n_annotations"] > 0]
    rows = known.rows_of(seen["index"].tolist(), file=file)
    inside: npt.NDArray[np.int64] = frequency_bins(seen["n_selected"], seen["n_annotations"], bins)
    table = [
        {
            "model": model,
            "dataset": dataset,
            "bin": i,
            "frequency_low": i / bins,
            "frequency_high": (i + 1) / bins,
            **accuracy_columns("bin", right[rows[inside == i]], confidence),
            "confidence": confidence,
        }
        for model, right in zip(known.models, known.right, strict=True)
        for i in range(bins)
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
        The selection frequencies; see `read_counts`.
    confidence : float
        Level of the Clopper-Pearson intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`.

    Raises
    ------
    InputError
        If the file does not have the form that `read_counts` expects, or a datapoint is not in
        the dataset.
    """
    return accuracies_by_frequency(
        known, dataset, read_counts(file), confidence=confidence, file=file
    )


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `SCHEMA`: a column per bin, with the number of datapoints."""
    heads = {
        number: f"{low:g}–{high:g}"
        for number, low, high in zip(
            table["bin"], table["frequency_low"], table["frequency_high"], strict=True
        )
    }
    return columns_by_part(table, "bin", heads)
