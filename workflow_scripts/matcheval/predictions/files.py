"""Reading prediction files: Parquet of the workflow, and Parquet, CSV and NPZ of the user.

A file holds `label`, `prediction`, `probability` and optionally `index` (without it, rows are in
dataset order). Scores of all classes may take the place of prediction and probability: lists
`logits` or `probabilities`, or columns `logit_0`, `logit_1`, ... or `p_0`, `p_1`, .... An `.npz`
file holds `labels`, either `logits` or `probabilities`, and optionally `index`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.errors import InputError
from matcheval.io.array_archives import array_names, read_arrays
from matcheval.io.tables import read_parquet
from matcheval.predictions.matrices import ScoreMatrix, matrix_of_arrays, matrix_of_table
from matcheval.predictions.records import PREDICTIONS, LabelRule, Predictions, check_predictions
from matcheval.predictions.softmax import most_probable

_LABELS_ONLY = (
    "Matching needs probabilities; for the replication tables, give classes as datasets of kind "
    "'labels' (docs/replication.md)"
)


@dataclass(frozen=True, eq=False)
class Contents:
    """What a prediction file holds, before checks of its columns.

    Attributes
    ----------
    columns : dict of str to array
        Those of `records.PREDICTIONS` that there are, or that follow from the scores.
    metadata : dict of str to str
        Provenance.
    scores : ScoreMatrix or None
        Scores of all classes, in the order of the file; None where there are none, or they were
        not asked for and not needed.
    """

    columns: dict[str, npt.NDArray[Any]]
    metadata: dict[str, str]
    scores: ScoreMatrix | None = None


def read_predictions(path: str | os.PathLike[str], n_classes: int | None = None) -> Predictions:
    """Read and check a prediction file.

    Parameters
    ----------
    path : path-like
        A `.parquet`, `.csv` or `.npz` file.
    n_classes : int, optional
        As for `check_predictions`.

    Raises
    ------
    InputError
        If the file does not exist, is of another format or unreadable, or its contents fail
        `check_predictions`.
    """
    found = read_contents(path)
    return check_predictions(
        found.columns, file=path, n_classes=n_classes, metadata=found.metadata
    )  # fmt: skip


def read_contents(
    path: str | os.PathLike[str], *, scores: bool = False, labels: LabelRule = "required"
) -> Contents:
    """Read a prediction file of any format.

    Parameters
    ----------
    path : path-like
        A `.parquet`, `.csv` or `.npz` file.
    scores : bool
        Whether scores of all classes are read where prediction and probability are there, too.
    labels : str
        As for `records.check_columns`.

    Raises
    ------
    InputError
        If the file does not exist, is of another format or unreadable, or its scores are not valid.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("is a folder" if path.is_dir() else "no such file", file=path)
    if path.suffix.lower() in (".json", ".npy"):
        raise InputError("holds classes only, no probabilities", file=path, remedy=_LABELS_ONLY)
    if path.suffix.lower() == ".npz":
        return _from_npz(path, labels)
    readers: dict[str, Callable[[Path], tuple[pa.Table, dict[str, str]]]] = {
        ".parquet": _from_parquet,
        ".csv": _from_csv,
    }
    if path.suffix.lower() not in readers:
        raise InputError(
            f"unknown format of prediction file '{path.suffix}'",
            file=path,
            remedy="Use .parquet, .csv or .npz",
        )
    table, metadata = readers[path.suffix.lower()](path)
    columns = _columns(table, path)
    if scores or not {"prediction", "probability"} <= set(columns):
        matrix = matrix_of_table(table, path)
        if matrix is not None:
            return _with_scores(columns, metadata, matrix, path)
    if {"label", "prediction"} <= set(columns) and "probability" not in columns:
        raise InputError(
            f"column probability missing; found {', '.join(columns)}",
            file=path,
            remedy=_LABELS_ONLY,
        )
    return Contents(columns, metadata)


def _with_scores(
    columns: dict[str, Any], metadata: dict[str, str], matrix: ScoreMatrix, path: Path
) -> Contents:
    """Add prediction, probability and number of classes, where they follow from the scores only."""
    n_classes = str(matrix.values.shape[1])
    if metadata.get("n_classes", n_classes) != n_classes:
        raise InputError(
            f"has {n_classes} columns, but the file is of {metadata['n_classes']} classes",
            file=path,
            field=matrix.kind,
        )
    if len(matrix.values):
        prediction, probability = most_probable(matrix.values, logits=matrix.kind == "logits")
    else:
        prediction, probability = np.empty(0, np.int16), np.empty(0, np.float32)
    if not {"prediction", "probability"} <= set(columns):
        columns = columns | {"prediction": prediction, "probability": probability}
    return Contents(columns, metadata | {"n_classes": n_classes}, matrix)


def _from_parquet(path: Path) -> tuple[pa.Table, dict[str, str]]:
    table = read_parquet(path)
    # The internal metadata of pandas and Arrow are not provenance.
    provenance = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (table.schema.metadata or {}).items()
        if key not in (b"pandas", b"ARROW:schema")
    }
    return table, provenance


def _from_csv(path: Path) -> tuple[pa.Table, dict[str, str]]:
    try:
        table = pa_csv.read_csv(path, read_options=pa_csv.ReadOptions(use_threads=False))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable CSV file ({error})", file=path) from error
    table = table.rename_columns([name.strip() for name in table.schema.names])
    if table.num_columns == 1 and any(mark in table.schema.names[0] for mark in ";\t"):
        raise InputError(
            f"its header is '{table.schema.names[0]}'",
            file=path,
            remedy="Separate the columns by commas",
        )
    return table, {}


def _columns(table: pa.Table, path: Path) -> dict[str, Any]:
    """Return those columns of `PREDICTIONS` that a table has, as arrays without nulls."""
    found = {}
    for name in PREDICTIONS.names:
        if name not in table.schema.names:
            continue
        if table.schema.names.count(name) > 1:
            raise InputError("occurs twice", file=path, field=name)
        column = table[name]
        if column.null_count:
            row = column.is_null().to_numpy().argmax()
            raise InputError(f"row {row} is empty or NaN", file=path, field=name)
        found[name] = column.to_numpy()
    return found or dict.fromkeys(table.schema.names, np.empty(0))


def _from_npz(path: Path, labels: LabelRule) -> Contents:
    arrays = read_arrays(path, ("labels", "index", "logits", "probabilities"))
    scores = [name for name in ("logits", "probabilities") if name in arrays]
    if len(scores) != 1 or (labels == "required" and "labels" not in arrays):
        raise InputError(
            f"holds {', '.join(array_names(path)) or 'nothing'}",
            file=path,
            remedy="Give 'labels' and one of 'logits' and 'probabilities'",
        )
    matrix = matrix_of_arrays(arrays, path)
    assert matrix is not None
    names = {"labels": "label", "index": "index"}
    columns = {column: arrays[name] for name, column in names.items() if name in arrays}
    return _with_scores(columns, {}, matrix, path)
