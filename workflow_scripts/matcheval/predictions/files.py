"""Reading prediction files: Parquet of the workflow, and Parquet, CSV and NPZ of the user.

A file holds `label`, `prediction`, `probability` and optionally `index` (without it, rows are in
dataset order); an `.npz` file holds `labels`, either `logits` or `probabilities`, and optionally
`index`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.errors import InputError
from matcheval.io.tables import read_parquet
from matcheval.predictions.records import MAX_CLASSES, PREDICTIONS, Predictions, check_predictions
from matcheval.predictions.softmax import most_probable

_LABELS_ONLY = (
    "Matching needs probabilities; for the replication tables, give classes as datasets of kind "
    "'labels' (docs/replication.md)"
)


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
    readers: dict[str, Callable[[Path], tuple[dict[str, Any], dict[str, str]]]] = {
        ".parquet": _from_parquet,
        ".csv": _from_csv,
        ".npz": _from_npz,
    }
    path = Path(path)
    if not path.is_file():
        raise InputError("is a folder" if path.is_dir() else "no such file", file=path)
    if path.suffix.lower() in (".json", ".npy"):
        raise InputError("holds classes only, no probabilities", file=path, remedy=_LABELS_ONLY)
    if path.suffix.lower() not in readers:
        raise InputError(
            f"unknown format of prediction file '{path.suffix}'",
            file=path,
            remedy="Use .parquet, .csv or .npz",
        )
    columns, metadata = readers[path.suffix.lower()](path)
    if {"label", "prediction"} <= set(columns) and "probability" not in columns:
        raise InputError(
            f"column probability missing; found {', '.join(columns)}",
            file=path,
            remedy=_LABELS_ONLY,
        )
    return check_predictions(columns, file=path, n_classes=n_classes, metadata=metadata)


def _from_parquet(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    table = read_parquet(path)
    # The internal metadata of pandas and Arrow are not provenance.
    provenance = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (table.schema.metadata or {}).items()
        if key not in (b"pandas", b"ARROW:schema")
    }
    return _columns(table, path), provenance


def _from_csv(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
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
    return _columns(table, path), {}


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
    return found or {name: np.empty(0) for name in table.schema.names}


def _from_npz(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    arrays = _npz_arrays(path)
    kind = "logits" if "logits" in arrays else "probabilities"
    matrix = arrays[kind]
    _check_scores(matrix, kind, path)
    if len(matrix):
        prediction, probability = most_probable(matrix, logits=kind == "logits")
    else:
        prediction, probability = np.empty(0, np.int16), np.empty(0, np.float32)
    columns = {"label": arrays["labels"], "prediction": prediction, "probability": probability}
    if "index" in arrays:
        columns["index"] = arrays["index"]
    return columns, {"n_classes": str(matrix.shape[1])}


def _npz_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of an archive; `labels` and one kind of scores are among them."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise InputError(f"not a readable .npz file ({error})", file=path) from error
    except Exception as error:  # the exceptions of zipfile have no public common base
        raise InputError(f"a damaged .npz file ({error})", file=path) from error
    scores = [name for name in ("logits", "probabilities") if name in arrays]
    if "labels" not in arrays or len(scores) != 1:
        raise InputError(
            f"holds {', '.join(arrays) or 'nothing'}",
            file=path,
            remedy="Give 'labels' and one of 'logits' and 'probabilities'",
        )
    return arrays


def _check_scores(matrix: npt.NDArray[Any], kind: str, path: Path) -> None:
    """Check shape, type and values of logits or probabilities."""
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating) or not matrix.shape[1]:
        raise InputError(
            f"has shape {matrix.shape} and dtype {matrix.dtype}",
            file=path,
            field=kind,
            remedy="Give floats, one row per datapoint and one column per class",
        )
    if matrix.shape[1] > MAX_CLASSES:
        raise InputError(
            f"has {matrix.shape[1]} columns; the maximum is {MAX_CLASSES} classes",
            file=path,
            field=kind,
        )
    if kind == "probabilities":
        _check_distributions(matrix, path)
    elif not np.isfinite(matrix).all():
        row = int((~np.isfinite(matrix)).any(axis=1).argmax())
        raise InputError(f"row {row} holds NaN or infinite values", file=path, field=kind)


def _check_distributions(matrix: npt.NDArray[Any], path: Path) -> None:
    """Check that rows are probability distributions, up to rounding in half precision."""
    rounding = 1e-2
    totals = matrix.sum(axis=1, dtype=np.float64)
    fine = ((matrix >= 0) & (matrix <= 1 + 1e-6)).all(axis=1) & (abs(totals - 1) <= rounding)
    if not fine.all():
        row = int((~fine).argmax())
        raise InputError(
            f"row {row} is not a probability distribution (sum {totals[row]:g}, range "
            f"{matrix[row].min():g} to {matrix[row].max():g})",
            file=path,
            field="probabilities",
            remedy="If these are scores before the softmax, name the array 'logits'",
        )
