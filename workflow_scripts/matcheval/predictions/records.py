"""The contents of a prediction file: one model's predictions on one dataset, a row per datapoint.

Reading prediction files of all formats is in `files`.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import Column, TableSchema, write_table

PREDICTIONS = TableSchema(
    "predictions",
    (
        Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
        Column("label", pa.int16(), "1", "ground truth class"),
        Column("prediction", pa.int16(), "1", "predicted class, argmax of the softmax"),
        Column(
            "probability",
            pa.float32(),
            "1",
            "confidence, maximum of the softmax, computed in float64",
        ),
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
    """One model's checked predictions on one dataset, in dataset order.

    Attributes
    ----------
    index : int32 array, shape (n,)
        Positions in the dataset, strictly increasing.
    label, prediction : int16 arrays, shape (n,)
        True and predicted classes, from 0.
    probability : float32 array, shape (n,)
        Maximum of the softmax, computed in float64 and rounded to float32, in [0, 1].
    metadata : mapping
        Provenance as text: model, dataset, n_classes, digest of the weights, versions, ....
    keys, groups : object arrays, shape (n,), or None
        What the file tells datapoints apart by, such as file names, and groups, not checked.
    copies : int64 array, shape (n,), or None
        Equal for rows of equal scores, negative if that is no evidence of copies; see `copies`.
    is_identified : bool
        Whether `index` says which datapoints these are, and not the order of the rows alone.
    key_name : str
        What the file calls `keys`.
    told : tuple of str
        What was recognised in the file by other names than the standard ones.
    """

    index: npt.NDArray[np.int32]
    label: npt.NDArray[np.int16]
    prediction: npt.NDArray[np.int16]
    probability: npt.NDArray[np.float32]
    metadata: Mapping[str, str] = field(default_factory=dict)
    keys: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    copies: npt.NDArray[np.int64] | None = None
    is_identified: bool = False
    key_name: str = ""
    told: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.index)

    @property
    def datapoints_digest(self) -> str:
        """SHA-256 of indices and labels; models run on the same datapoints have the same digest."""
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
    first_label: str = "",
) -> Predictions:
    """Check raw columns and convert them to the declared types and order."""
    checked = check_columns(
        columns, file=file, n_classes=n_classes, metadata=metadata, first_label=first_label
    )
    arrays: dict[str, Any] = checked
    return Predictions(**arrays, metadata=dict(metadata or {}))


def check_columns(
    columns: Mapping[str, npt.NDArray[Any]],
    *,
    file: object = None,
    n_classes: int | None = None,
    metadata: Mapping[str, str] | None = None,
    first_label: str = "",
) -> dict[str, npt.NDArray[Any]]:
    """Check raw columns, and convert them to the declared types and order.

    `first_label` is what a message says of labels from 1: how the caller gives the first label.
    """
    lengths = {name: len(columns[name]) for name in PREDICTIONS.names if name in columns}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of unequal lengths {lengths}", file=file)
    n = lengths["prediction"]
    if n == 0:
        raise InputError("no datapoints", file=file, remedy="An empty set cannot be compared")
    largest = _count_classes(n_classes, metadata or {}, file) - 1
    index = checked_integers(columns.get("index", np.arange(n)), "index", _MAX_INDEX, file)
    order = np.argsort(index, kind="stable")
    index = index[order]
    repeated = np.flatnonzero(index[1:] == index[:-1])
    if len(repeated):
        more = f" ({len(repeated):,} rows repeat another's)" if len(repeated) > 1 else ""
        raise InputError(
            f"{index[repeated[0]]} occurs more than once{more}", file=file, field="index",
            remedy="Give each datapoint exactly one row; an index that is none, rename",
        )  # fmt: skip
    return {
        "index": index.astype(np.int32),
        **{
            name: checked_integers(columns[name], name, largest, file, first_label)[order].astype(
                np.int16
            )
            for name in ("label", "prediction")
            if name in columns
        },
        "probability": _fractions(columns["probability"], file)[order],
    }


def _count_classes(n_classes: int | None, metadata: Mapping[str, str], file: object) -> int:
    """Return the number of classes: as given, as in the metadata, or as many as int16 can hold."""
    given = str(metadata.get("n_classes", MAX_CLASSES) if n_classes is None else n_classes)
    is_short = len(given) <= _MAX_DIGITS and given.isascii() and given.isdecimal()
    if not is_short or not 1 <= int(given) <= MAX_CLASSES:
        shown = f"{given:.{_MAX_DIGITS}}{'...' * (len(given) > _MAX_DIGITS)}"
        remedy = f"Give a number from 1 to {MAX_CLASSES}"
        raise InputError(f"{shown} classes", file=file, field="n_classes", remedy=remedy)
    return int(given)


def write_predictions(predictions: Predictions, path: str | os.PathLike[str]) -> None:
    """Write a prediction file atomically."""
    columns = {name: getattr(predictions, name) for name in PREDICTIONS.names}
    write_table(PREDICTIONS.table(columns, predictions.metadata), path)


def checked_integers(
    values: npt.NDArray[Any], name: str, largest: int, file: object, first_label: str = ""
) -> npt.NDArray[np.int64]:
    """Check whole numbers in 0..largest; whole floats are accepted, since CSV may contain them.

    Parameters
    ----------
    values : array, shape (n,)
    name : str
        What messages call them.
    largest : int
    file : object
        File that messages name.
    first_label : str
        How the caller gives the first label, for a message.

    Raises
    ------
    InputError
        If they are not such numbers, naming the first row that is not.
    """
    values = _checked_values(values, name, "Give classes as whole numbers, 0, 1, ...", file)
    if values.dtype.kind == "f":
        whole = np.isfinite(values) & (values == np.floor(values))
        _raise_if_any(~whole, values, "is not a whole number", name, file)
    is_label = name != "index"
    unknown = "If it marks datapoints without a class, or of other classes, leave them out. "
    _raise_if_any(values < 0, values, "is negative", name, file, unknown if is_label else "")
    from_one = (
        values.min(initial=1) == 1 and values.max(initial=0) == largest + 1 != MAX_CLASSES + 1
    )
    is_from_one = is_label and from_one and first_label
    remedy = f"If labels are counted from 1, say so: {first_label}. " if is_from_one else ""
    if is_label and largest + 1 == MAX_CLASSES and first_label:
        classes = "--classes FILE" if first_label.startswith("--") else "`classes`"
        remedy = f"If these are ids of classes, list all ids in order: {classes}. "
    why = f"is too large; the maximum is {largest}"
    _raise_if_any(values > largest, values, why, name, file, remedy)
    return values.astype(np.int64)


def _fractions(values: npt.NDArray[Any], file: object) -> npt.NDArray[np.float32]:
    # A CSV column with only 0 and 1 is read as integers.
    name = "probability"
    values = _checked_values(values, name, "Give floats", file)
    _raise_if_any(~np.isfinite(values), values, "is not a finite number", name, file)
    # Rounding in a softmax, or in the average of an ensemble, may give values slightly above 1.
    outside = (values < 0) | (values > 1 + 1e-6)
    percent = values.min(initial=0) >= 0 and 50 < values.max(initial=0) <= _PERCENT
    remedy = "Give the probability of the predicted class, or the scores of all classes. "
    remedy = "These look like percentages: divide them by 100. " if percent else remedy
    _raise_if_any(outside, values, "is outside [0, 1]", name, file, remedy)
    return np.minimum(values.astype(np.float32), np.float32(1))


def _checked_values(
    values: npt.NDArray[Any], name: str, remedy: str, file: object
) -> npt.NDArray[Any]:  # fmt: skip
    """Check that an array is of numbers and of one dimension."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise InputError(f"has {values.ndim} dimensions, not 1", file=file, field=name)
    if values.dtype.kind not in "iuf":
        example = next((v for v in values.tolist() if isinstance(v, str)), None)
        such = "" if example is None else f": it holds text such as '{example:.60}'"
        problem = f"has dtype {values.dtype}{such}"
        if example is not None and example.strip().endswith("%"):
            remedy = "Write fractions, such as 0.97 in place of 97%"
        raise InputError(problem, file=file, field=name, remedy=remedy)
    return values


def _raise_if_any(
    bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], why: str, name: str, file: object,
    remedy: str = "",
) -> None:  # fmt: skip
    """Raise an error that names the first bad row and its value, if there is one."""
    if bad.any():
        row = int(bad.argmax())
        more = f" (and {bad.sum() - 1} more)" if bad.sum() > 1 else ""
        problem = f"row {row}: {values[row]} {why}{more}"
        raise InputError(problem, file=file, field=name, remedy=f"{remedy}{ROWS_FROM_0}")
