"""Accuracy by selection frequency, the fraction of annotators who selected an image, in bins.

Recht et al. (2019), arXiv 1902.10811, appendix C.4.7: the more annotators agree that an image
shows its class, the more accurate the models are.
"""

import os

import pandas as pd
import pyarrow as pa

from matcheval.analyses.sampling.frequencies import frequency_bins
from matcheval.errors import InputError
from matcheval.io.tables import (
    CONFIDENCE_LEVEL,
    DATASET,
    MODEL,
    Column,
    TableSchema,
    accuracy,
    fraction,
    read_parquet,
)
from matcheval.io.text_tables import TextColumn, columns_by_part
from matcheval.io.user_files import check_columns
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.intervals import accuracy_columns

SCHEMA = TableSchema(
    "accuracies by selection frequency",
    (
        MODEL,
        DATASET,
        Column("bin", pa.int16(), "1", "number of the bin of the selection frequency, from 0"),
        fraction("frequency_low", "lower end of the bin, included"),
        fraction("frequency_high", "upper end of the bin, included in the last bin only"),
        *accuracy("bin", "datapoints in the bin"),
        CONFIDENCE_LEVEL,
    ),
)

BINS = 5  # of equal width over [0, 1]


def read_counts(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read, for each datapoint, how many annotators saw it and how many selected it."""
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
    check_columns([*map(str, table)], names, path)
    counts: pd.DataFrame = table[names]
    if not all(counts[name].dtype.kind in "iu" for name in names):
        raise InputError("must be a whole number in every row", file=path, field=", ".join(names))
    bad = (counts["n_selected"] < 0) | (counts["n_selected"] > counts["n_annotations"])
    if bad.any():
        row = counts[bad].iloc[0]
        raise InputError(
            f"datapoint {row['index']}: selected by {row['n_selected']} of "
            f"{row['n_annotations']} annotators",
            file=path,
        )
    if counts["index"].duplicated().any():
        raise InputError("a datapoint occurs twice", file=path, field="index")
    return counts


def tabulate(
    known: Correctness, dataset: str, file: str, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate accuracies by bins of the selection frequency."""
    counts = read_counts(file)
    seen = counts[counts["n_annotations"] > 0]
    rows = known.rows_of(seen["index"].tolist(), file=file)
    bin_numbers = frequency_bins(seen["n_selected"], seen["n_annotations"], BINS)
    table = [
        {
            "model": model,
            "dataset": dataset,
            "bin": i,
            "frequency_low": i / BINS,
            "frequency_high": (i + 1) / BINS,
            **accuracy_columns("bin", correct[rows[bin_numbers == i]], confidence),
            "confidence": confidence,
        }
        for model, correct in zip(known.models, known.right, strict=True)
        for i in range(BINS)
    ]
    return pd.DataFrame(table, columns=SCHEMA.names)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    heads = {
        number: f"{low:g}–{high:g}"
        for number, low, high in zip(
            table["bin"], table["frequency_low"], table["frequency_high"], strict=True
        )
    }
    return columns_by_part(table, "bin", heads)
