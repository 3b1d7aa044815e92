"""Logits or probabilities of all classes: finding them in a file, and checking them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions.records import MAX_CLASSES

Kind = Literal["logits", "probabilities"]
_KINDS: tuple[Kind, Kind] = ("logits", "probabilities")
# Columns of single classes, by kind: `logit_0`, `logit_1`, ... or `p_0`, `p_1`, ....
_PREFIXES: dict[Kind, str] = {"logits": "logit_", "probabilities": "p_"}


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


def matrix_of_arrays(arrays: Mapping[str, npt.NDArray[Any]], path: Path) -> ScoreMatrix | None:
    """Find the scores among arrays `logits` and `probabilities`.

    Parameters
    ----------
    arrays : mapping of str to array
        At most one of the two is among them.
    path : Path
        File that error messages name.

    Returns
    -------
    ScoreMatrix or None
        None if there are none.

    Raises
    ------
    InputError
        If they are not valid scores.
    """
    found = next((kind for kind in _KINDS if kind in arrays), None)
    return None if found is None else _checked(found, arrays[found], path)


def matrix_of_table(table: pa.Table, path: Path) -> ScoreMatrix | None:
    """Find the scores in a table: one column of lists, or one column per class.

    Parameters
    ----------
    table : pyarrow.Table
        Lists are in a column `logits` or `probabilities`; columns of classes are `logit_0`,
        `logit_1`, ... or `p_0`, `p_1`, ....
    path : Path
        File that error messages name.

    Returns
    -------
    ScoreMatrix or None
        None if there are none.

    Raises
    ------
    InputError
        If there are several kinds, a class is missing, lists differ in length, or the scores are
        not valid.
    """
    names = {kind: _columns(table, kind, path) for kind in _KINDS}
    found = [kind for kind in _KINDS if names[kind]]
    if len(found) > 1:
        raise InputError(
            f"holds logits ({names['logits'][0]}) and probabilities ({names['probabilities'][0]})",
            file=path,
            remedy="Give one of them",
        )
    if not found:
        return None
    (kind,) = found
    if names[kind] == [kind]:
        return _checked(kind, _of_lists(table[kind], kind, path), path)
    columns = [_numbers(table[name], name, path) for name in names[kind]]
    return _checked(kind, np.stack(columns, axis=1), path)


def _columns(table: pa.Table, kind: Kind, path: Path) -> list[str]:
    """Return the name of the column of lists, or those of the columns of classes in order."""
    prefix = _PREFIXES[kind]
    single = [name for name in table.schema.names if re.fullmatch(rf"{prefix}\d+", name)]
    if kind in table.schema.names:
        if single:
            raise InputError(
                f"occurs beside '{single[0]}'", file=path, field=kind, remedy="Give one of them"
            )
        return [kind]
    expected = [f"{prefix}{label}" for label in range(len(single))]
    if set(single) != set(expected) or len(set(single)) < len(single):
        missing = next((name for name in expected if name not in single), single[0])
        raise InputError(
            f"has {len(single)} columns {prefix}..., of which '{missing}' is missing or repeated",
            file=path,
            remedy=f"Give one per class, named {prefix}0, {prefix}1, ... without gaps",
        )
    return expected


def _of_lists(column: pa.ChunkedArray, name: str, path: Path) -> npt.NDArray[Any]:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise InputError(f"is of type {column.type}, not lists", file=path, field=name)
    lists = column.combine_chunks()
    lengths = set(lists.value_lengths().to_pylist())
    if None in lengths or len(lengths) > 1:
        raise InputError("has empty rows, or lists of unequal lengths", file=path, field=name)
    width = lengths.pop() if lengths else 1
    return _numbers(lists.flatten(), name, path).reshape(len(lists), width)


def _numbers(column: pa.ChunkedArray | pa.Array, name: str, path: Path) -> npt.NDArray[Any]:
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(f"value {row} is empty or NaN", file=path, field=name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"is of type {column.type}", file=path, field=name, remedy="Give numbers")
    values = np.asarray(column.to_numpy())
    # A column of a CSV file with only whole numbers is read as integers.
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _checked(kind: Kind, matrix: npt.NDArray[Any], path: Path) -> ScoreMatrix:
    """Check shape, type and values."""
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
    return ScoreMatrix(kind, matrix)


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
