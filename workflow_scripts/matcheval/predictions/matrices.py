"""Logits or probabilities of all classes: finding them in a file, and checking them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions.formats import Column
from matcheval.predictions.layout import KINDS, ClassColumns, Kind, Layout
from matcheval.predictions.records import MAX_CLASSES

_FROM_ZERO = "Rows are counted from 0"
# Logits of fewer rows may be probabilities by chance.
_MIN_ROWS = 10


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Checked scores of all classes for every datapoint, in the order of the file.

    Attributes
    ----------
    kind : str
        `logits`, finite numbers, or `probabilities`, whose rows sum to 1 up to rounding.
    values : float array, shape (n, n_classes)
        Of the precision of the file.
    """

    kind: Kind
    values: npt.NDArray[Any]


def find_matrix(columns: Mapping[str, Column], layout: Layout, file: object) -> ScoreMatrix | None:
    """Find the scores in a file: one column of lists, an array, or one column per class."""
    single = {kind: layout.class_columns(list(columns), kind) for kind in KINDS}
    found = [kind for kind in KINDS if kind in columns or single[kind]]
    if len(found) > 1:
        shown = [kind if kind in columns else _first(single[kind]) for kind in found]
        raise InputError(
            f"holds logits ({shown[0]}) and probabilities ({shown[1]})",
            file=file,
            remedy="Give one of 'logits' and 'probabilities'",
        )
    if not found:
        return None
    (kind,) = found
    if kind in columns:
        if single[kind]:
            raise InputError(
                f"occurs beside '{_first(single[kind])}'",
                file=file,
                field=kind,
                remedy="Give one of them",
            )
        whole = columns[kind]
        values = whole if isinstance(whole, np.ndarray) else _of_lists(whole, kind, file)
        return ScoreMatrix(kind, checked_scores(kind, values, file))
    ordered = _in_order(single[kind], layout, file)
    parts = [_numbers(columns[name], name, file) for name in ordered]
    return ScoreMatrix(kind, checked_scores(kind, np.stack(parts, axis=1), file))


def _first(columns: ClassColumns | None) -> str:
    return next(iter(columns.columns.values())) if columns else ""


def _in_order(found: ClassColumns | None, layout: Layout, file: object) -> list[str]:
    """Return the names of the columns of single classes in order of the labels."""
    assert found is not None
    if found.numbered:
        first = layout.first_label
        expected = [str(first + label) for label in range(len(found.columns))]
        example = f"{found.prefix}{first}, {found.prefix}{first + 1}"
        remedy = f"Give one per class, named {example}, ... without gaps"
        if "0" not in found.columns and not first:
            remedy += "; if labels are counted from 1, say so (--first-label 1, or 'first_label')"
    elif layout.classes is None:
        raise InputError(
            f"columns such as '{_first(found)}' have names of classes",
            file=file,
            remedy="Give the classes in the order of their labels ('classes' of the dataset)",
        )
    else:
        expected = list(layout.classes)
        remedy = "Give one per class, for all classes"
    missing = [name for name in expected if name not in found.columns]
    beyond = [name for name in found.columns if name not in expected]
    if missing or beyond:
        name = found.prefix + (missing or beyond)[0]
        raise InputError(
            f"has {len(found.columns)} columns {found.prefix}..., of which '{name}' is "
            f"{'missing or repeated' if missing else 'of no class'}",
            file=file,
            remedy=remedy,
        )
    return [found.columns[name] for name in expected]


def _of_lists(column: pa.ChunkedArray, name: str, file: object) -> npt.NDArray[Any]:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise InputError(f"is of type {column.type}, not lists", file=file, field=name)
    lists = column.combine_chunks()
    lengths = set(lists.value_lengths().to_pylist())
    if None in lengths or len(lengths) > 1:
        raise InputError("has empty rows, or lists of unequal lengths", file=file, field=name)
    width = lengths.pop() if lengths else 1
    return _numbers(lists.flatten(), name, file).reshape(len(lists), width)


def _numbers(column: Column | pa.Array, name: str, file: object) -> npt.NDArray[Any]:
    if isinstance(column, np.ndarray):
        return column
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(f"value {row} is empty or NaN", file=file, field=name, remedy=_FROM_ZERO)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"is of type {column.type}", file=file, field=name, remedy="Give numbers")
    values = np.asarray(column.to_numpy())
    # A column of a CSV file with only whole numbers is read as integers.
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def checked_scores(kind: Kind, matrix: npt.NDArray[Any], file: object) -> npt.NDArray[Any]:
    """Check shape, type and values of scores, and return them."""
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating) or not matrix.shape[1]:
        raise InputError(
            f"has shape {matrix.shape} and dtype {matrix.dtype}",
            file=file,
            field=kind,
            remedy="Give floats, one row per datapoint and one column per class",
        )
    if matrix.shape[1] > MAX_CLASSES:
        raise InputError(
            f"has {matrix.shape[1]} columns; the maximum is {MAX_CLASSES} classes",
            file=file,
            field=kind,
        )
    if kind == "probabilities":
        _check_distributions(matrix, file)
    elif not np.isfinite(matrix).all():
        row = int((~np.isfinite(matrix)).any(axis=1).argmax())
        raise InputError(
            f"row {row} holds NaN or infinite values", file=file, field=kind, remedy=_FROM_ZERO
        )
    elif are_softmaxed(matrix):
        raise InputError(
            "all rows lie in [0, 1] and sum to 1: these are probabilities, after the softmax",
            file=file,
            field=kind,
            remedy="Name them 'probabilities' (in a column per class: prob_...); a second softmax "
            "would make all confidences small",
        )
    return matrix


def are_softmaxed(logits: npt.NDArray[Any]) -> bool:
    """Whether logits are probabilities already: all rows, at least ten, are distributions.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
    """
    if len(logits) < _MIN_ROWS or logits.shape[1] < 2 or not (logits.min() >= 0):
        return False
    return bool(are_distributions(logits, rounding=1e-3).all())


def are_distributions(matrix: npt.NDArray[Any], rounding: float = 1e-2) -> npt.NDArray[np.bool_]:
    """Say which rows are probability distributions, up to rounding."""
    totals = matrix.sum(axis=1, dtype=np.float64)
    inside = ((matrix >= 0) & (matrix <= 1 + 1e-6)).all(axis=1)
    return np.asarray(inside & (abs(totals - 1) <= rounding))


def _check_distributions(matrix: npt.NDArray[Any], file: object) -> None:
    fine = are_distributions(matrix)
    if fine.all():
        return
    row = int((~fine).argmax())
    remedy = "If these are scores before the softmax, name the array 'logits'"
    if (matrix >= 0).all() and (abs(matrix.sum(axis=1, dtype=np.float64) - 100) <= 1).all():
        remedy = "These look like percentages: divide them by 100"
    raise InputError(
        f"row {row} is not a probability distribution (sum {matrix[row].sum():g}, range "
        f"{matrix[row].min():g} to {matrix[row].max():g})",
        file=file,
        field="probabilities",
        remedy=f"{remedy}. {_FROM_ZERO}",
    )
