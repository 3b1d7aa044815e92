"""The prediction file: what one model says of one dataset, a row per datapoint.

Workflow files are Parquet with `index`, `label`, `prediction`, `probability` and provenance in
the file's metadata. People's own files may also be CSV, may leave `index` out (rows are then in
dataset order), or be `.npz` with `labels` and `logits` or `probabilities`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.errors import InputError
from matcheval.softmax import most_probable
from matcheval.tables import Column, TableSchema, read_parquet, write_table

PREDICTIONS = TableSchema(
    "predictions",
    (
        Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
        Column("label", pa.int16(), "1", "ground truth class"),
        Column("prediction", pa.int16(), "1", "predicted class, argmax of the softmax"),
        Column("probability", pa.float32(), "1", "confidence, maximum of the float32 softmax"),
    ),
)

_MAX_CLASS = int(np.iinfo(np.int16).max)
_MAX_INDEX = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Predictions:
    """One model's checked output on one dataset, in dataset order.

    Attributes
    ----------
    index : int32 array, shape (n,)
        Positions in the dataset, strictly increasing.
    label, prediction : int16 arrays, shape (n,)
        True and predicted classes, from 0.
    probability : float32 array, shape (n,)
        Maximum of the softmax, in [0, 1].
    metadata : mapping
        Provenance, as text: model, dataset, n_classes, weights hash, versions...
    """

    index: npt.NDArray[np.int32]
    label: npt.NDArray[np.int16]
    prediction: npt.NDArray[np.int16]
    probability: npt.NDArray[np.float32]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.index)

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether each prediction is its label, shape (n,)."""
        return self.label == self.prediction


def check_predictions(
    columns: Mapping[str, npt.NDArray[Any]],
    *,
    file: object = None,
    n_classes: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Predictions:
    """Check raw columns and bring them to the contract's types and order.

    Parameters
    ----------
    columns : mapping
        `label`, `prediction`, `probability` and perhaps `index`: one-dimensional arrays.
        Probabilities of other float types are rounded to float32, as the workflow stores them.
    file : object, optional
        What error messages name.
    n_classes : int, optional
        Number of classes; larger labels or predictions are refused. By default what `metadata`
        says, else what int16 holds.
    metadata : mapping, optional
        Provenance to keep.

    Returns
    -------
    Predictions
        Rows sorted by index.

    Raises
    ------
    InputError
        Naming file, column, first offending row and value: a missing column, no rows, unequal
        lengths, a wrong dtype, a class out of range, a probability that is not a number in
        [0, 1], a negative or repeated index.
    """
    missing = [name for name in PREDICTIONS.names[1:] if name not in columns]
    if missing:
        raise InputError(
            f"column{'s' * (len(missing) > 1)} {', '.join(missing)} missing; found "
            f"{', '.join(columns) or 'none'}",
            file=file,
            remedy="A prediction file holds label, prediction and probability",
        )
    lengths = {name: len(columns[name]) for name in PREDICTIONS.names if name in columns}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of unequal lengths {lengths}", file=file)
    if lengths["label"] == 0:
        raise InputError("no datapoints", file=file, remedy="An empty set cannot be compared")

    if n_classes is None:
        n_classes = int((metadata or {}).get("n_classes", _MAX_CLASS + 1))
    index = columns.get("index", np.arange(lengths["label"]))
    index = _integers(index, "index", _MAX_INDEX, file)
    order = np.argsort(index, kind="stable")
    index = index[order]
    repeated = np.flatnonzero(index[1:] == index[:-1])
    if len(repeated):
        raise InputError(
            f"{index[repeated[0]]} occurs more than once", file=file, field="index",
            remedy="Every datapoint has one row",
        )  # fmt: skip
    return Predictions(
        index=index.astype(np.int32),
        label=_integers(columns["label"], "label", n_classes - 1, file)[order].astype(np.int16),
        prediction=_integers(columns["prediction"], "prediction", n_classes - 1, file)[
            order
        ].astype(np.int16),
        probability=_fractions(columns["probability"], "probability", file)[order],
        metadata=dict(metadata or {}),
    )


def read_predictions(path: str | os.PathLike[str], n_classes: int | None = None) -> Predictions:
    """Read and check a prediction file: Parquet, CSV or NPZ, by its suffix.

    Parameters
    ----------
    path : path-like
        The file.
    n_classes : int, optional
        As for `check_predictions`.

    Raises
    ------
    InputError
        If there is no such file, it is unreadable, or its contents fail `check_predictions`.
    """
    readers: dict[str, Callable[[Path], tuple[dict[str, Any], dict[str, str]]]] = {
        ".parquet": _from_parquet,
        ".csv": _from_csv,
        ".npz": _from_npz,
    }
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", file=path)
    if path.suffix.lower() not in readers:
        raise InputError(
            f"unknown kind of prediction file '{path.suffix}'",
            file=path,
            remedy="Use .parquet, .csv or .npz",
        )
    columns, metadata = readers[path.suffix.lower()](path)
    return check_predictions(columns, file=path, n_classes=n_classes, metadata=metadata)


def write_predictions(predictions: Predictions, path: str | os.PathLike[str]) -> None:
    """Write a prediction file (Parquet, or CSV without metadata), whole or not at all."""
    columns = {name: getattr(predictions, name) for name in PREDICTIONS.names}
    write_table(PREDICTIONS.table(columns, predictions.metadata), path)


def _from_parquet(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    table = read_parquet(path)
    # What pandas and Arrow keep for themselves is not provenance.
    own = {
        key.decode(): value.decode()
        for key, value in (table.schema.metadata or {}).items()
        if key not in (b"pandas", b"ARROW:schema")
    }
    return _columns(table, path), own


def _from_csv(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        table = pa_csv.read_csv(path, read_options=pa_csv.ReadOptions(use_threads=False))
    except pa.ArrowException as error:
        raise InputError(f"not a readable CSV file ({error})", file=path) from error
    return _columns(table, path), {}


def _columns(table: pa.Table, path: Path) -> dict[str, Any]:
    """Columns of the contract that a table has, as arrays without nulls."""
    found = {}
    for name in PREDICTIONS.names:
        if name not in table.schema.names:
            continue
        if table.schema.names.count(name) > 1:
            raise InputError("occurs twice", file=path, field=name)
        column = table[name]
        if column.null_count:
            row = column.is_null().to_numpy().argmax()
            raise InputError(f"row {row} is empty", file=path, field=name)
        found[name] = column.to_numpy()
    return found or {name: np.empty(0) for name in table.schema.names}


def _from_npz(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise InputError(f"not a readable .npz file ({error})", file=path) from error
    except Exception as error:  # zipfile raises its own kind, of no public common base
        raise InputError(f"a damaged .npz file ({error})", file=path) from error
    scores = [name for name in ("logits", "probabilities") if name in arrays]
    if "labels" not in arrays or len(scores) != 1:
        raise InputError(
            f"holds {', '.join(arrays) or 'nothing'}",
            file=path,
            remedy="Give 'labels' and one of 'logits' and 'probabilities'",
        )
    kind = scores[0]
    matrix = arrays[kind]
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating) or not matrix.shape[1]:
        raise InputError(
            f"has shape {matrix.shape} and dtype {matrix.dtype}",
            file=path,
            field=kind,
            remedy="Give floats, one row per datapoint and one column per class",
        )
    if kind == "probabilities":
        _check_distributions(matrix, path)
    elif not np.isfinite(matrix).all():
        row = int((~np.isfinite(matrix)).any(axis=1).argmax())
        raise InputError(f"row {row} holds NaN or infinite values", file=path, field=kind)
    if len(matrix):
        prediction, probability = most_probable(matrix, logits=kind == "logits")
    else:
        prediction, probability = np.empty(0, np.int16), np.empty(0, np.float32)
    columns = {"label": arrays["labels"], "prediction": prediction, "probability": probability}
    if "index" in arrays:
        columns["index"] = arrays["index"]
    return columns, {"n_classes": str(matrix.shape[1])}


def _check_distributions(matrix: npt.NDArray[Any], path: Path) -> None:
    """Refuse rows that are not probability distributions (to rounding of half precision)."""
    fine = ((matrix >= 0) & (matrix <= 1)).all(axis=1) & (abs(matrix.sum(axis=1) - 1) <= 1e-2)
    if not fine.all():
        row = int((~fine).argmax())
        raise InputError(
            f"row {row} is not a probability distribution (sum {matrix[row].sum():g}, range "
            f"{matrix[row].min():g} to {matrix[row].max():g})",
            file=path,
            field="probabilities",
            remedy="If these are scores before the softmax, name the array 'logits'",
        )


def _integers(
    values: npt.NDArray[Any], name: str, largest: int, file: object
) -> npt.NDArray[np.int64]:
    """Check whole numbers in 0..largest (whole floats are taken, as CSV may carry them)."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise InputError(f"has {values.ndim} dimensions, not 1", file=file, field=name)
    if values.dtype.kind == "f":
        whole = np.isfinite(values) & (values == np.floor(values))
        _refuse(~whole, values, "is not a whole number", name, file)
    elif values.dtype.kind not in "iu":
        raise InputError(
            f"has dtype {values.dtype}", file=file, field=name, remedy="Give whole numbers"
        )
    _refuse(values < 0, values, "is negative", name, file)
    _refuse(values > largest, values, f"is too large, at most {largest} can be", name, file)
    return values.astype(np.int64)


def _fractions(values: npt.NDArray[Any], name: str, file: object) -> npt.NDArray[np.float32]:
    values = np.asarray(values)
    if values.ndim != 1:
        raise InputError(f"has {values.ndim} dimensions, not 1", file=file, field=name)
    if values.dtype.kind not in "iuf":  # a CSV column of nothing but 0 and 1 reads as integers
        raise InputError(f"has dtype {values.dtype}", file=file, field=name, remedy="Give floats")
    _refuse(~np.isfinite(values), values, "is not a finite number", name, file)
    _refuse((values < 0) | (values > 1), values, "is outside [0, 1]", name, file)
    return values.astype(np.float32)


def _refuse(
    bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], why: str, name: str, file: object
) -> None:
    if bad.any():
        row = int(bad.argmax())
        more = f" (and {bad.sum() - 1} more)" if bad.sum() > 1 else ""
        raise InputError(f"row {row}: {values[row]} {why}{more}", file=file, field=name)
