"""The contents of a prediction file: one model's predictions on one dataset, a row per datapoint.

Reading prediction files of all formats is in `files`.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import Column, TableSchema, write_table

PREDICTIONS = TableSchema(
    "predictions",
    Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
    Column("label", pa.int16(), "1", "ground truth class"),
    Column("prediction", pa.int16(), "1", "predicted class, argmax of the softmax"),
    Column(
        "probability", pa.float32(), "1", "confidence, maximum of the softmax, computed in float64"
    ),
)

MAX_CLASSES = int(np.iinfo(np.int16).max) + 1
_MAX_DIGITS = 20  # longer numbers are shortened in messages, and never converted
_MAX_INDEX = int(np.iinfo(np.int32).max)

_PERCENT = 100 + 1e-4
ROWS_FROM_0 = "Rows are counted from 0"

LabelRule = Literal["required", "optional"]


@dataclass(frozen=True)
class Predictions:
    """One model's checked predictions on one dataset, in dataset order; arrays have shape (n,).

    `index` is strictly increasing; classes count from 0; `probability` is the maximum of the
    softmax, computed in float64 and rounded once.
    """

    index: npt.NDArray[np.int32]
    label: npt.NDArray[np.int16]
    prediction: npt.NDArray[np.int16]
    probability: npt.NDArray[np.float32]
    metadata: Mapping[str, str] = field(default_factory=dict)  # provenance
    keys: npt.NDArray[Any] | None = None  # what the file tells datapoints apart by
    groups: npt.NDArray[Any] | None = None
    copies: npt.NDArray[np.int64] | None = None  # as of `datapoints.copied_rows`
    is_identified: bool = False  # by `index`, not by the order of the rows alone
    key_name: str = ""
    notes: tuple[str, ...] = ()  # what was recognised by other names than the standard ones

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.index)

    @property
    def datapoints_digest(self) -> str:
        """SHA-256 of indices and labels; equal for models that were run on the same datapoints."""
        return hashlib.sha256(self.index.tobytes() + self.label.tobytes()).hexdigest()

    @cached_property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether each prediction equals its label, shape (n,)."""
        return np.equal(self.label, self.prediction)


def check_predictions(
    columns: Mapping[str, npt.NDArray[Any]],
    *,
    file: object = None,
    n_classes: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Predictions:
    """Check raw columns, and convert them to `Predictions`, sorted by index."""
    arrays = check_columns(columns, file=file, n_classes=n_classes, metadata=metadata)
    return Predictions(**arrays, metadata=dict(metadata or {}))


def check_columns(
    columns: Mapping[str, npt.NDArray[Any]],
    *,
    file: object = None,
    n_classes: int | None = None,
    metadata: Mapping[str, str] | None = None,
    first_label: str = "",
) -> dict[str, Any]:
    """Check raw columns, `label` perhaps missing, and convert them to the fields of `Predictions`.

    `first_label` is how the caller gives the first label, for a message about labels from 1.
    """
    lengths = {name: len(columns[name]) for name in PREDICTIONS.names if name in columns}
    n = lengths["prediction"]
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of unequal lengths {lengths}", file=file)
    if n == 0:
        raise InputError("no datapoints", file=file, remedy="An empty set cannot be compared")
    largest = _resolve_n_classes(n_classes, metadata or {}, file) - 1
    index = checked_integers(columns.get("index", np.arange(n)), "index", _MAX_INDEX, file)
    order = np.argsort(index, kind="stable")
    index = index[order].astype(np.int32)
    repeated = np.flatnonzero(index[1:] == index[:-1])
    if len(repeated):
        more = f" ({len(repeated):,} rows repeat another's)" if len(repeated) > 1 else ""
        raise InputError(
            f"{index[repeated[0]]} occurs more than once{more}", file=file, field="index",
            remedy="Give each datapoint exactly one row; an index that is none, rename",
        )  # fmt: skip
    checked = {"index": index}
    for name in ("label", "prediction"):
        if name in columns:
            classes = checked_integers(columns[name], name, largest, file, first_label)
            checked[name] = classes[order].astype(np.int16)
    return checked | {"probability": _check_probabilities(columns["probability"], file)[order]}


def _resolve_n_classes(n_classes: int | None, metadata: Mapping[str, str], file: object) -> int:
    """Return the number of classes: as given, else of the metadata, else what int16 can hold."""
    text = str(metadata.get("n_classes", MAX_CLASSES) if n_classes is None else n_classes)
    is_short = len(text) <= _MAX_DIGITS and text.isascii() and text.isdecimal()
    if not is_short or not 1 <= int(text) <= MAX_CLASSES:
        shown = text if len(text) <= _MAX_DIGITS else f"{text[:_MAX_DIGITS]}..."
        remedy = f"Give a number from 1 to {MAX_CLASSES}"
        raise InputError(f"{shown} classes", file=file, field="n_classes", remedy=remedy)
    return int(text)


def write_predictions(predictions: Predictions, path: str | os.PathLike[str]) -> None:
    """Write a prediction file atomically, as Parquet or CSV."""
    columns = {name: getattr(predictions, name) for name in PREDICTIONS.names}
    write_table(PREDICTIONS.table(columns, predictions.metadata), path)


def checked_integers(
    values: npt.NDArray[Any], name: str, largest: int, file: object, first_label: str = ""
) -> npt.NDArray[np.int64]:
    """Convert whole numbers in 0..largest to int64, also whole floats, as in CSV; refuse others."""
    values = _check_numbers(values, name, "Give classes as whole numbers, 0, 1, ...", file)
    wrong = partial(_refuse_first_bad_row, values=values, name=name, file=file)
    if values.dtype.kind == "f":
        wrong(~np.isfinite(values) | (values != np.floor(values)), why="is not a whole number")
    remedy, is_label = "", name != "index"
    if is_label:
        remedy = "If it marks datapoints without a class, or of other classes, leave them out. "
    wrong(values < 0, why="is negative", remedy=remedy)
    remedy, lowest, highest = "", values.min(initial=1), values.max(initial=0)
    if is_label and first_label and largest + 1 == MAX_CLASSES:
        classes = "--classes FILE" if first_label.startswith("--") else "`classes`"
        remedy = f"If these are ids of classes, list all ids in order: {classes}. "
    elif is_label and first_label and (lowest, highest) == (1, largest + 1):
        remedy = f"If labels are counted from 1, say so: {first_label}. "
    why = f"is too large; the maximum is {largest}"
    wrong(values > largest, why=why, remedy=remedy)
    return values.astype(np.int64)


def _check_probabilities(values: npt.NDArray[Any], file: object) -> npt.NDArray[np.float32]:
    """Convert probabilities to float32; refuse values outside [0, 1] beyond rounding."""
    values = _check_numbers(values, "probability", "Give floats", file)
    wrong = partial(_refuse_first_bad_row, values=values, name="probability", file=file)
    wrong(~np.isfinite(values), why="is not a finite number")
    remedy = "Give the probability of the predicted class, or the scores of all classes. "
    if values.min(initial=0) >= 0 and 50 < values.max(initial=0) <= _PERCENT:
        remedy = "These look like percentages: divide them by 100. "
    # Rounding in a softmax, or in the average of an ensemble, may give values slightly above 1.
    wrong((values < 0) | (values > 1 + 1e-6), why="is outside [0, 1]", remedy=remedy)
    return np.minimum(values.astype(np.float32), np.float32(1))


def _check_numbers(
    values: npt.NDArray[Any], name: str, remedy: str, file: object
) -> npt.NDArray[Any]:  # fmt: skip
    """Return values as an array; refuse it unless it is one-dimensional and of numbers."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise InputError(f"has {values.ndim} dimensions, not 1", file=file, field=name)
    if values.dtype.kind not in "iuf":
        text = next((value for value in values.tolist() if isinstance(value, str)), "")
        example = f": it holds text such as '{text:.60}'" if text else ""
        problem = f"has dtype {values.dtype}{example}"
        if text.strip().endswith("%"):
            remedy = "Write fractions, such as 0.97 in place of 97%"
        raise InputError(problem, file=file, field=name, remedy=remedy)
    return values


def _refuse_first_bad_row(
    bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], why: str, name: str, file: object,
    remedy: str = "",
) -> None:  # fmt: skip
    """Raise an error that names the first bad row and its value, if any row is bad."""
    if bad.any():
        row = int(bad.argmax())
        more = f" (and {bad.sum() - 1} more)" if bad.sum() > 1 else ""
        problem = f"row {row}: {values[row]} {why}{more}"
        raise InputError(problem, file=file, field=name, remedy=f"{remedy}{ROWS_FROM_0}")
