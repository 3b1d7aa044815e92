"""Read and check the scores of all classes in a prediction file, and other columns as numbers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions import formats
from matcheval.predictions.class_names import Vocabulary
from matcheval.predictions.column_names import KINDS, Kind
from matcheval.predictions.formats import Column
from matcheval.predictions.layout import as_numbers
from matcheval.predictions.recognition import ClassColumns, RawFile, are_distributions, form_of
from matcheval.predictions.records import MAX_CLASSES, ROWS_FROM_0
from matcheval.predictions.softmax import softmax

# Logits of fewer rows may be probabilities by chance.
MIN_ROWS = 10
# A stored prediction may be another class than that of the highest score by no more than this, as
# a probability: rounding in half precision can make the two highest scores equal.
ROUNDING = 1e-2


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


def find_scores(raw: RawFile) -> ScoreMatrix | None:
    """Find the scores in a file: one column of lists, an array, or one column per class."""
    given = [kind for kind in (*KINDS, "scores") if kind in raw.columns]
    if raw.classes is not None and given:
        theirs, prefix = raw.names.get(given[0], given[0]), raw.classes.prefix
        raise InputError(
            f"holds {given[0]} ({theirs}) and {raw.classes.kind} ({prefix}...)", file=raw.file,
            remedy="Leave one of them out",
        )  # fmt: skip
    if raw.classes is not None:
        return _by_class(raw.classes, raw)
    found = [_matrix_of(kind, raw) for kind in given]
    if len(found) > 1:
        logits, other = found[0].values, found[1].values
        if logits.shape != other.shape or abs(softmax(logits) - other).max(initial=0) > ROUNDING:
            remedy = (
                f"Say which: {raw.layout.say('columns', logits='logits')}, without the other one"
            )
            problem = (
                "holds logits and probabilities that are not their softmax: give one of 'logits' "
            )
            raise InputError(f"{problem}and 'probabilities'", file=raw.file, remedy=remedy)
    if not found and "class_1" in raw.columns:
        return _of_class_1(values_of(raw, "class_1"), raw)
    return found[0] if found else None


def _matrix_of(name: str, raw: RawFile) -> ScoreMatrix:
    column = raw.columns[name]
    is_single = isinstance(column, np.ndarray) and column.shape[1:] == (1,)
    is_named = name == "probabilities" and name in raw.layout.columns
    if is_named and (is_single or form_of(column) in ("float", "whole")):
        return _of_class_1(values_of(raw, name), raw)
    if not isinstance(column, np.ndarray):
        column = _of_lists(column, name, raw.file)
    return _checked_scores(None if name == "scores" else name, column, raw, name)  # type: ignore[arg-type]


def _of_class_1(values: npt.NDArray[Any], raw: RawFile) -> ScoreMatrix:
    """Return the probabilities of two classes, of which that of class 1 is given."""
    if values.dtype.kind not in "iuf" or not ((values >= 0) & (values <= 1)).all():
        raise InputError(
            "single scores that are not probabilities of class 1, in [0, 1]", file=raw.file,
            remedy="Give the scores of all classes, or the predicted class and its probability",
        )  # fmt: skip
    wide = values.reshape(-1).astype(np.float64)
    return ScoreMatrix("probabilities", np.stack([1 - wide, wide], axis=1))


def _by_class(found: ClassColumns, raw: RawFile) -> ScoreMatrix:
    """Put the columns of single classes into the order of the labels."""
    names = _in_order(found, raw)
    kind, prefix = found.kind, found.prefix
    columns = [_numbers(found.columns[n], f"{prefix}{n}", raw.file) for n in names]
    return _checked_scores(kind, np.stack(columns, axis=1), raw, kind or f"{prefix}...")


def _in_order(found: ClassColumns, raw: RawFile) -> list[str]:
    """Return the keys of the columns of single classes in order of the labels."""
    first, keys = raw.layout.first_label, list(found.columns)
    if found.numbered and not set(keys) <= set(raw.layout.classes or ()):
        start = 0 if {"0", "00", "000"} & {*keys} else first
        by_number = {int(key): key for key in keys if len(key) < 10}
        expected = [start + label for label in range(len(keys))]
        if sorted(by_number) == expected:
            return [by_number[number] for number in expected]
        wrong = next((n for n in expected if n not in by_number), expected[-1])
        example = f"{found.prefix}{first}, {found.prefix}{first + 1}"
        remedy = f"Give one per class, named {example}, ... without gaps, or name the classes in "
        remedy += f"the order of the labels: {raw.layout.say('classes')}"
        if "0" not in keys and not first:
            remedy += f"; if labels are counted from 1, say so: {raw.layout.say('first_label')}"
        what = f"'{found.prefix}{wrong}' is missing or repeated"
    elif raw.layout.classes is None:
        raise InputError(
            f"columns such as '{found.prefix}{keys[0]}' have names of classes", file=raw.file,
            remedy=f"Give the classes in the order of their labels: {raw.layout.say('classes')}",
        )  # fmt: skip
    else:
        position = Vocabulary(keys).position
        expected_names = list(raw.layout.classes)
        ordered = [None if (at := position(n)) is None else keys[at] for n in expected_names]
        taken = {key for key in ordered if key is not None}
        if None not in ordered and len(taken) == len(ordered) == len(keys):
            return [key for key in ordered if key is not None]
        remedy = "Give one per class, for all classes"
        lacking = [n for n, key in zip(expected_names, ordered, strict=True) if key is None]
        strange = [key for key in keys if key not in taken]
        what = (
            f"'{found.prefix}{lacking[0]}' is missing or repeated" if lacking
            else f"'{found.prefix}{(strange or keys)[0]}' is of no class"
        )  # fmt: skip
    problem = f"has {len(keys)} columns {found.prefix}..., of which {what}"
    raise InputError(problem, file=raw.file, remedy=remedy)


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
        raise InputError(f"value {row} is empty or NaN", file=file, field=name, remedy=ROWS_FROM_0)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"is of type {column.type}", file=file, field=name, remedy="Give numbers")
    values = formats.plain_values(column)
    # A column of a CSV file with only whole numbers is read as integers.
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _checked_scores(
    kind: Kind | None, matrix: npt.NDArray[Any], raw: RawFile, name: str
) -> ScoreMatrix:  # fmt: skip
    """Check shape, type and values of scores; find out their kind if it is None."""
    wrong = partial(InputError, file=raw.file, field=name)
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating) or not matrix.shape[1]:
        raise wrong(
            f"has shape {matrix.shape} and dtype {matrix.dtype}",
            remedy="Give floats, one row per datapoint and one column per class",
        )
    if matrix.shape[1] > MAX_CLASSES:
        raise wrong(f"has {matrix.shape[1]} columns; the maximum is {MAX_CLASSES} classes")
    if kind is None:
        kind = _kind_of(matrix, raw, name)
    if kind == "logits":
        if not np.isfinite(matrix).all():
            row = int((~np.isfinite(matrix)).any(axis=1).argmax())
            raise wrong(f"row {row} holds NaN or infinite values", remedy=ROWS_FROM_0)
        if are_softmaxed(matrix):
            raise wrong(
                "all rows lie in [0, 1] and sum to 1: these are probabilities, after the softmax",
                remedy="Name them 'probabilities' (in a column per class: prob_...)",
            )
    elif not (fine := are_distributions(matrix)).all():
        row = int((~fine).argmax())
        remedy = "If these are scores before the softmax, name the array 'logits'"
        if (matrix >= 0).all() and (abs(matrix.sum(axis=1, dtype=np.float64) - 100) <= 1).all():
            remedy = "These look like percentages: divide them by 100"
        elif (matrix <= 0).all() and _are_logarithms(matrix):
            remedy = "These are logarithms of probabilities: name the array 'logits'"
        raise wrong(
            f"row {row} is not a probability distribution (sum {matrix[row].sum():g}, range "
            f"{matrix[row].min():g} to {matrix[row].max():g})",
            remedy=f"{remedy}. {ROWS_FROM_0}",
        )
    return ScoreMatrix(kind, matrix)


def _kind_of(matrix: npt.NDArray[Any], raw: RawFile, name: str) -> Kind:
    """Tell the kind of scores by their values, if they can be of one only."""
    if are_distributions(matrix).all():
        return "probabilities"
    if not np.isfinite(matrix).all() or matrix.min() < 0:
        return "logits"  # logarithms of probabilities, too: their softmax are these
    theirs = f"{raw.classes.prefix}*" if raw.classes is not None else raw.names.get(name, name)
    raise InputError(
        f"holds no negative scores, and rows do not sum to 1 (row 0: {matrix[0].sum():g})",
        file=raw.file, field=theirs,
        remedy="They may be logits, which the softmax is taken of, or other scores, such as "
        "independent sigmoids, which are not read: give the predicted class and its probability. "
        f"If they are logits: {raw.layout.say('columns', logits=theirs)}",
    )  # fmt: skip


def _are_logarithms(matrix: npt.NDArray[Any]) -> bool:
    """Whether scores are logarithms of probabilities."""
    return bool(are_distributions(np.exp(matrix.astype(np.float64))).all())


def are_softmaxed(logits: npt.NDArray[Any]) -> bool:
    """Whether logits are probabilities already: all rows, at least ten, are distributions.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
    """
    if len(logits) < MIN_ROWS or logits.shape[1] < 2 or not (logits.min() >= 0):
        return False
    return bool(are_distributions(logits, rounding=1e-3).all())


def check_predicted(predicted: npt.NDArray[Any], scores: ScoreMatrix, file: object) -> None:
    """Check that predicted classes have the highest scores, up to rounding."""
    n, width = scores.values.shape
    if predicted.shape != (n,) or predicted.dtype.kind not in "iuf":
        return  # which checks of the columns tell
    inside = (predicted >= 0) & (predicted < width)
    rows = np.flatnonzero(~inside | (scores.values.argmax(axis=1) != predicted))
    some = scores.values[rows]
    probabilities = softmax(some) if scores.kind == "logits" and len(some) else some
    for row, values in zip(rows.tolist(), probabilities, strict=True):
        if not inside[row] or values[int(predicted[row])] < values.max() - ROUNDING:
            raise InputError(
                f"row {row} (from 0): the highest score is that of class {values.argmax()}, the "
                f"predicted class is {predicted[row]}", file=file, field=scores.kind,
                remedy="Scores and predictions must come from the same model, and the scores be in "
                "order of the classes",
            )  # fmt: skip


def values_of(raw: RawFile, name: str) -> npt.NDArray[Any]:
    """Return a column as numbers, without nulls; names of classes and first labels are resolved."""
    column = raw.columns[name]
    if not isinstance(column, np.ndarray):
        if pa.types.is_nested(column.type):
            raise InputError("holds lists or records, not values", file=raw.file, field=name)
        if column.null_count:
            row = column.is_null().to_numpy().argmax()
            problem = f"row {row} is empty or NaN"
            raise InputError(problem, file=raw.file, field=name, remedy=ROWS_FROM_0)
    elif column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    texts = formats.texts_of(column)
    if texts is None:
        values = column if isinstance(column, np.ndarray) else formats.plain_values(column)
    else:
        is_open = raw.layout.classes is None or not raw.layout.order_is_known
        values = as_numbers(texts) if name != "probability" and is_open else texts
    if name not in ("label", "prediction"):
        return values
    if name == "label" and values.ndim == 2 and _are_one_hot(values):
        values = values.argmax(axis=1) + raw.layout.first_label
    if name == "label" and values.ndim == 2 and values.dtype.kind == "f" and values.shape[0] > 1:
        raise InputError(
            f"has {values.shape[1]} numbers a row: soft labels, of which none is the true class",
            file=raw.file, field=name, remedy="Give one class per datapoint, as a whole number; of "
            "the most probable one: labels.argmax(axis=1)",
        )  # fmt: skip
    return raw.layout.labels(values, raw.file, name)


def _are_one_hot(values: npt.NDArray[Any]) -> bool:
    """Whether rows are 1 at one class and 0 at the others, as labels of Keras."""
    if values.dtype.kind not in "iuf" or values.shape[1] < 2:
        return False
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())
