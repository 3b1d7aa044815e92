"""Read and check the scores of all classes in a prediction file, and other columns as numbers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.column_names import KINDS, Kind
from matcheval.predictions.layout import Vocabulary, as_numbers
from matcheval.predictions.recognition import ClassColumns, RawFile, are_distributions
from matcheval.predictions.records import MAX_CLASSES, ROWS_FROM_0
from matcheval.predictions.softmax import softmax

# Logits of fewer rows may be probabilities by chance.
MIN_ROWS = 10
# A stored prediction may be another class than that of the highest score by no more than this, as
# a probability: rounding in half precision can make the two highest scores equal.
ROUNDING = 1e-2


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Checked logits or probabilities of all classes for every datapoint, in the file's order."""

    kind: Kind  # finite logits, or probabilities, whose rows sum to 1 up to rounding
    values: npt.NDArray[Any]  # shape (n, n_classes), of the precision of the file


def find_scores(raw: RawFile) -> ScoreMatrix | None:
    """Find and check the scores of all classes in a file; None if it has none."""
    names = [name for name in (*KINDS, "scores") if name in raw.columns]
    if raw.classes is not None and names:
        raise InputError(
            f"holds {names[0]} ({raw.names[names[0]]}) and {raw.classes.kind} "
            f"({raw.classes.prefix}...)", file=raw.file, remedy="Leave one of them out",
        )  # fmt: skip
    if raw.classes is not None:
        return _from_class_columns(raw.classes, raw)
    matrices = [_read_matrix(name, raw) for name in names]
    if len(matrices) > 1:
        logits, other = (matrix.values for matrix in matrices)
        if logits.shape != other.shape or abs(softmax(logits) - other).max(initial=0) > ROUNDING:
            raise InputError(
                "holds logits and probabilities that are not their softmax: give one of 'logits' "
                "and 'probabilities'", file=raw.file,
                remedy=f"Say which: {raw.layout.say('columns', logits='logits')}, without the "
                "other one",
            )  # fmt: skip
    if not matrices and "class_1" in raw.columns:
        return _from_class_1(read_values(raw, "class_1"), raw)
    return matrices[0] if matrices else None


def _read_matrix(name: str, raw: RawFile) -> ScoreMatrix:
    column = raw.columns[name]
    is_single = column.values.shape[1:] == (1,) or column.form in ("float", "whole")
    if is_single and name == "probabilities" and name in raw.layout.columns:
        return _from_class_1(read_values(raw, name), raw)
    kind = next((kind for kind in KINDS if kind == name), None)
    return _check_scores(kind, column.values, raw, name)


def _from_class_1(values: npt.NDArray[Any], raw: RawFile) -> ScoreMatrix:
    """Return the probabilities of both classes, (n, 2), from those of class 1."""
    if values.dtype.kind not in "iuf" or not ((values >= 0) & (values <= 1)).all():
        raise InputError(
            "single scores that are not probabilities of class 1, in [0, 1]", file=raw.file,
            remedy="Give the scores of all classes, or the predicted class and its probability",
        )  # fmt: skip
    wide = values.reshape(-1).astype(np.float64)
    return ScoreMatrix("probabilities", np.stack([1 - wide, wide], axis=1))


def _from_class_columns(classes: ClassColumns, raw: RawFile) -> ScoreMatrix:
    """Stack the columns of single classes in order of their labels, and check them."""
    kind, columns = classes.kind, [classes.columns[key] for key in _order_by_label(classes, raw)]
    values = np.stack([column.values for column in columns], axis=1)
    # A column of a CSV file with only whole numbers is read as integers.
    values = values.astype(np.float64) if values.dtype.kind in "iu" else values
    return _check_scores(kind, values, raw, kind or f"{classes.prefix}...")


def _order_by_label(classes: ClassColumns, raw: RawFile) -> list[str]:
    """Sort keys of columns by label: by number or in order of the layout's classes; refuse gaps."""
    first, keys, prefix = raw.layout.first_label, list(classes.columns), classes.prefix
    names = raw.layout.classes
    if classes.numbered and not set(keys) <= set(names or ()):
        start = 0 if {"0", "00", "000"} & {*keys} else first
        by_number = {int(key): key for key in keys if len(key) < 10}
        wanted = [str(start + label) for label in range(len(keys))]
        ordered = [by_number.get(int(number)) for number in wanted]
        remedy = f"Give one per class, named {prefix}{first}, {prefix}{first + 1}, ... without "
        remedy += f"gaps, or name the classes in order of the labels: {raw.layout.say('classes')}"
        if start == first == 0 and 0 not in by_number:
            remedy += f"; if labels are counted from 1, say so: {raw.layout.say('first_label')}"
    elif names is None:
        raise InputError(
            f"columns such as '{prefix}{keys[0]}' have names of classes", file=raw.file,
            remedy=f"Give the classes in the order of their labels: {raw.layout.say('classes')}",
        )  # fmt: skip
    else:
        position, wanted = Vocabulary(keys).position, list(names)
        ordered = [None if (at := position(name)) is None else keys[at] for name in wanted]
        remedy = "Give one per class, for all classes"
    complete = [key for key in ordered if key is not None]
    if len({*complete}) == len(ordered) == len(keys):
        return complete
    missing = [name for name, key in zip(wanted, ordered, strict=True) if key is None]
    other = next((key for key in keys if key not in complete), keys[0])
    what = f"'{prefix}{missing[0]}' is missing" if missing else f"'{prefix}{other}' is of no class"
    problem = f"has {len(keys)} columns {prefix}..., of which {what}"
    raise InputError(problem, file=raw.file, remedy=remedy)


def _check_scores(
    kind: Kind | None, matrix: npt.NDArray[Any], raw: RawFile, name: str
) -> ScoreMatrix:  # fmt: skip
    """Check shape, type and values of a score matrix; infer its kind if that is None."""
    wrong = partial(InputError, file=raw.file, field=name)
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating) or not matrix.shape[1]:
        shape = f"has shape {matrix.shape} and dtype {matrix.dtype}"
        raise wrong(
            "holds lists of unequal lengths, or texts" if matrix.dtype == object else shape,
            remedy="Give floats, one row per datapoint and one column per class",
        )
    if matrix.shape[1] > MAX_CLASSES:
        raise wrong(f"has {matrix.shape[1]} columns; the maximum is {MAX_CLASSES} classes")
    if kind is None:
        kind = _infer_kind(matrix, raw, name)
    if kind == "logits":
        if not np.isfinite(matrix).all():
            row = int((~np.isfinite(matrix)).any(axis=1).argmax())
            raise wrong(f"row {row} holds empty, NaN or infinite values", remedy=ROWS_FROM_0)
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
        raise wrong(
            f"row {row} is not a probability distribution (sum {matrix[row].sum():g}, range "
            f"{matrix[row].min():g} to {matrix[row].max():g})",
            remedy=f"{remedy}. {ROWS_FROM_0}",
        )
    return ScoreMatrix(kind, matrix)


def _infer_kind(matrix: npt.NDArray[Any], raw: RawFile, name: str) -> Kind:
    """Tell from their values whether scores are probabilities or logits; refuse ambiguous ones."""
    if are_distributions(matrix).all():
        return "probabilities"
    if not np.isfinite(matrix).all() or matrix.min() < 0:
        return "logits"  # logarithms of probabilities, too: their softmax are these
    theirs = f"{raw.classes.prefix}*" if raw.classes is not None else raw.names[name]
    raise InputError(
        f"holds no negative scores, and rows do not sum to 1 (row 0: {matrix[0].sum():g})",
        file=raw.file, field=theirs,
        remedy="They may be logits, or other scores, such as independent sigmoids, which are not "
        "read: give the predicted class and its probability. If they are logits: "
        + raw.layout.say("columns", logits=theirs),
    )  # fmt: skip


def are_softmaxed(logits: npt.NDArray[Any]) -> bool:
    """Whether logits are probabilities already: at least ten rows, and all are distributions."""
    if len(logits) < MIN_ROWS or logits.shape[1] < 2 or not (logits.min() >= 0):
        return False
    return bool(are_distributions(logits, rounding=1e-3).all())


def check_predicted(predicted: npt.NDArray[Any], scores: ScoreMatrix, file: object) -> None:
    """Refuse predicted classes that do not have the highest score, up to rounding."""
    n, width = scores.values.shape
    if predicted.shape != (n,) or predicted.dtype.kind not in "iuf":
        return  # which checks of the columns refuse
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


def read_values(raw: RawFile, name: str) -> npt.NDArray[Any]:
    """Return a column's values, class names converted to labels; refuse empty cells."""
    column = raw.columns[name]
    values = column.values
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    is_empty = values != values if values.dtype.kind == "f" else values == np.array(None)
    if values.ndim == 1 and is_empty.any():
        problem = f"row {int(is_empty.argmax())} is empty or NaN"
        raise InputError(problem, file=raw.file, field=name, remedy=ROWS_FROM_0)
    if values.dtype == object and column.form != "text" and len(values):
        problem = f"is of type {column.type}, not of single values"
        raise InputError(problem, file=raw.file, field=name)
    is_open = raw.layout.classes is None or not raw.layout.order_is_known
    if column.form == "text" and name != "probability" and is_open:
        values = as_numbers(values)
    if name not in ("label", "prediction"):
        return values
    if name == "label" and values.ndim == 2 and values.dtype.kind in "iuf":
        if values.shape[1] > 1 and ((values == 0) | (values == 1)).all():  # one-hot, as of Keras
            if (values.sum(axis=1) == 1).all():
                values = values.argmax(axis=1) + raw.layout.first_label
        elif values.dtype.kind == "f" and values.shape[0] > 1:
            raise InputError(
                f"has {values.shape[1]} numbers a row: soft labels, of which none is the true "
                "class", file=raw.file, field=name, remedy="Give one class per datapoint, as a "
                "whole number; of the most probable one: labels.argmax(axis=1)",
            )  # fmt: skip
    return raw.layout.labels(values, raw.file, name)
