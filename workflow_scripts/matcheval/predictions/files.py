"""Reading prediction files of any format, and tables in memory, as checked predictions.

`formats` opens a file, `recognition` finds out which of its columns is what, and `layout` has what
a person says of it. Scores of all classes may take the place of prediction and probability. Rows
without a column `index` are in dataset order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.io.files import check_is_file
from matcheval.predictions import formats
from matcheval.predictions.column_names import COLUMNS, KINDS, Kind
from matcheval.predictions.formats import Column, Source
from matcheval.predictions.labels_beside import with_labels_beside
from matcheval.predictions.layout import Layout, as_numbers, names_in
from matcheval.predictions.recognition import (
    ClassColumns,
    RawFile,
    are_distributions,
    form_of,
    recognise,
)
from matcheval.predictions.records import (
    MAX_CLASSES,
    PREDICTIONS,
    ROWS_FROM_0,
    LabelRule,
    Predictions,
    check_predictions,
)
from matcheval.predictions.softmax import TIED, most_probable, n_tied, softmax

# Logits of fewer rows may be probabilities by chance.
_MIN_ROWS = 10
_DEFAULT = Layout()
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


def read_raw(source: Source, layout: Layout, labels: LabelRule = "required") -> RawFile:
    """Read a prediction file of any format, with required labels from a file beside if need be."""
    raw = recognise(formats.load(source), layout)
    has_labels = "label" in raw.columns and raw.either is None
    if isinstance(source, formats.InMemory) or has_labels or labels == "optional":
        return raw
    has_more = raw.classes is not None or len({*raw.columns} - {"index"}) > 0
    return with_labels_beside(raw, Path(source)) if has_more else raw


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
    if (
        name == "probabilities"
        and name in raw.layout.columns
        and form_of(column) in ("float", "whole")
    ):
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
    if found.numbered:
        start = 0 if {"0", "00", "000"} & {*keys} else first
        by_number = {int(key): key for key in keys if len(key) < 10}
        expected = [start + label for label in range(len(keys))]
        if sorted(by_number) == expected:
            return [by_number[number] for number in expected]
        wrong = next((n for n in expected if n not in by_number), expected[-1])
        example = f"{found.prefix}{first}, {found.prefix}{first + 1}"
        remedy = f"Give one per class, named {example}, ... without gaps"
        if "0" not in keys and not first:
            remedy += f"; if labels are counted from 1, say so: {raw.layout.say('first_label')}"
        what = f"'{found.prefix}{wrong}' is missing or repeated"
    elif raw.layout.classes is None:
        raise InputError(
            f"columns such as '{found.prefix}{keys[0]}' have names of classes", file=raw.file,
            remedy=f"Give the classes in the order of their labels: {raw.layout.say('classes')}",
        )  # fmt: skip
    else:
        folded = {key.casefold(): key for key in keys}
        exact = {key: key for key in keys}
        by_name = exact if len(folded) < len(keys) else {**folded, **exact}
        expected_names = list(raw.layout.classes)
        ordered = [by_name.get(n, by_name.get(n.casefold())) for n in expected_names]
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
    if not len(matrix) or not np.isfinite(matrix).all() or are_distributions(matrix).all():
        return "probabilities" if are_distributions(matrix).all() else "logits"
    if matrix.min() < 0:
        return "logits"  # logarithms of probabilities, too: their softmax are these
    theirs = f"{raw.classes.prefix}*" if raw.classes is not None else raw.names.get(name, name)
    raise InputError(
        f"holds no negative scores, and rows do not sum to 1 (row 0: {matrix[0].sum():g})",
        file=raw.file, field=theirs,
        remedy="They may be logits, which the softmax is taken of, or other scores, which are not "
        f"read. If they are logits: {raw.layout.say('columns', logits=theirs)}",
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
    if len(logits) < _MIN_ROWS or logits.shape[1] < 2 or not (logits.min() >= 0):
        return False
    return bool(are_distributions(logits, rounding=1e-3).all())


@dataclass(frozen=True, eq=False)
class Contents:
    """What a prediction file holds, before checks of its columns."""

    columns: dict[str, npt.NDArray[Any]]
    metadata: dict[str, str]
    scores: ScoreMatrix | None
    raw: RawFile


def read_predictions(
    source: Source, n_classes: int | None = None, layout: Layout = _DEFAULT
) -> Predictions:
    """Read and check a prediction file, or a table in memory."""
    found = read_contents(source, layout)
    raw = found.raw
    checked = check_predictions(
        found.columns, file=source, n_classes=n_classes, metadata=found.metadata,
        first_label=raw.layout.say("first_label"),
    )  # fmt: skip
    return with_keys(checked, found.columns, raw)


def with_keys(
    checked: Predictions, columns: Mapping[str, npt.NDArray[Any]], raw: RawFile
) -> Predictions:
    """Return predictions with the keys and groups of their file, in order of the indices."""
    order = None
    if "index" in columns and (raw.key is not None or raw.groups is not None):
        order = np.argsort(columns["index"], kind="stable")
    keys = None if raw.key is None else _objects(raw.key[1], order)
    groups = None if raw.groups is None else _objects(raw.groups, order)
    if groups is not None and len(groups) != len(checked):
        problem = f"{len(groups)} for {len(checked)} datapoints"
        raise InputError(problem, file=raw.file, field="group")
    is_identified = "index" in columns
    return replace(
        checked, keys=keys, groups=groups, is_identified=is_identified, told=tuple(raw.told)
    )


def _objects(column: Column, order: npt.NDArray[np.int64] | None) -> npt.NDArray[Any]:
    """Return the values of a column as objects, in an order."""
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    found = np.empty(len(values), object)
    found[:] = values
    return found if order is None else found[order]


def read_contents(
    source: Source,
    layout: Layout = _DEFAULT,
    *,
    scores: bool = False,
    labels: LabelRule = "required",
) -> Contents:
    """Read a prediction file of any format; with `scores`, also those of all classes."""
    raw = read_raw(source, layout, labels)
    if raw.either is not None:
        raw = _decided(raw, labels)
    columns = {name: values_of(raw, name) for name in PREDICTIONS.names if name in raw.columns}
    metadata = dict(raw.metadata)
    matrix, numbers = None, {}
    if layout.classes is not None:
        numbers["classes"] = len(layout.classes)
    is_complete = {"prediction", "probability"} <= set(columns)
    if scores or not is_complete:
        _check_order(raw, scores=True)
        matrix = find_scores(raw)
    _check_order(raw, scores=False)
    if matrix is not None:
        told = [text.replace("scores =", f"{matrix.kind} =", 1) for text in raw.told]
        raw = replace(raw, told=told)
    if is_complete:
        _check_not_of_class_1(columns, raw)
    if matrix is not None:
        numbers[matrix.kind] = matrix.values.shape[1]
        if not is_complete:
            found = most_probable(matrix.values, logits=matrix.kind == "logits")
            if "prediction" in columns:
                check_predicted(columns["prediction"], matrix, raw.file)
            columns |= dict(zip(("prediction", "probability"), found, strict=True))
            metadata[TIED] = str(n_tied(matrix.values))
    for field, n in numbers.items():
        known = metadata.setdefault("n_classes", str(n))
        if known != str(n):
            given = f"{n} classes are given" if field == "classes" else f"has {n} columns"
            problem = f"{given}, but the file is of {known:.20} classes"
            raise InputError(problem, file=raw.file, field=field)
    needed = [name for name in PREDICTIONS.names[1:] if name != "label" or labels == "required"]
    missing = [name for name in needed if name not in columns]
    if missing:
        raise _missing_error(missing, raw)
    return Contents(columns, metadata, matrix, raw)


def _decided(raw: RawFile, labels: LabelRule) -> RawFile:
    """Take a column that is truth or prediction for the prediction, if truth is not needed."""
    if labels == "required":
        say, either = raw.layout.say, str(raw.either)
        raise InputError(
            f"'{either}' may be the true class or, as in the output of timm and of pipelines of "
            f"Hugging Face, the predicted one; found {raw.shown}", file=raw.file,
            remedy="If it is the prediction, name the column of the true classes: "
            f"{say('columns', prediction=either, label='TRUTH')}, or put them beside the file as "
            "labels.csv. If it is the true class, name that of the predictions: "
            f"{say('columns', label=either, prediction='PREDICTED')}",
        )  # fmt: skip
    columns = dict(raw.columns)
    columns["prediction"] = columns.pop("label")
    return replace(raw, columns=columns, told=[f"prediction = `{raw.either}`", *raw.told])


def _check_order(raw: RawFile, *, scores: bool) -> None:
    """Refuse names of classes beside numbers, or scores in order, if their order is not known."""
    if raw.layout.classes is None or raw.layout.order_is_known:
        return
    said = dict[bool, str]()  # whether by name
    for name in ("label", "prediction"):
        if name in raw.columns:
            texts = formats.texts_of(raw.columns[name])
            is_named = texts is not None and as_numbers(texts).dtype == object
            said[is_named] = f"{name} is {'names' if is_named else 'numbers'}"
    if scores and raw.classes is not None:
        is_named = not raw.classes.numbered
        said[is_named] = f"columns of scores have {'names' if is_named else 'numbers'}"
    elif scores and {*KINDS, "scores"} & {*raw.columns}:
        said[False] = "scores are in an order that is not told"
    if len(said) == 2:
        raise InputError(
            f"which class has which number is not known: {said[True]}, {said[False]}",
            file=raw.file,
            remedy="Give the names of all classes in order of their labels: "
            + raw.layout.say("classes"),
        )


def _check_not_of_class_1(columns: dict[str, npt.NDArray[Any]], raw: RawFile) -> None:
    """Refuse probabilities of class 1 of two, also where class 0 is predicted."""
    p, predicted = columns["probability"], columns["prediction"]
    if len(p) < _MIN_ROWS or p.shape != predicted.shape or p.dtype.kind != "f":
        return
    classes = (predicted, columns.get("label", predicted))
    of_two = all(one.min() == 0 and one.max() == 1 for one in classes)
    if of_two and (p < 0.5).any() and np.array_equal(p >= 0.5, predicted == 1):
        theirs = raw.names.get("probability", "probability")
        raise InputError(
            "is below 0.5 exactly where class 0 is predicted: it is the probability of class 1, "
            "not of the predicted class", file=raw.file, field=theirs,
            remedy=f"If so, say it: {raw.layout.say('columns', probabilities=theirs)}",
        )  # fmt: skip


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


def _missing_error(missing: list[str], raw: RawFile) -> InputError:
    say = raw.layout.say
    remedy = f"If they have other names, say which: {say('columns', **_suggested(missing, raw))}"
    if missing == ["label"]:
        remedy = (
            "The true classes are needed here; only predictions of accuracy do without. Put them "
            f"beside the file, as labels.csv or labels.npy. {remedy}"
        )
    elif missing == ["probability"]:
        remedy = (
            "Matching needs probabilities; for the replication tables, give classes as datasets of "
            f"kind 'labels' (docs/replication.md). {remedy}"
        )
    elif list(raw.unused.values()).count("float") > 1 and "probability" in missing:
        remedy += (
            f". If columns are named by the classes, give these: {say('classes')}; or begin their "
            "names with logit_ or prob_"
        )
    elif raw.is_arrays:
        remedy = f"Give 'labels' and one of 'logits' and 'probabilities'. {remedy}"
    what = f"column{'s' * (len(missing) > 1)} {', '.join(missing)} missing; found {raw.shown}"
    return InputError(what, file=raw.file, remedy=remedy)


def _suggested(missing: list[str], raw: RawFile) -> dict[str, str]:
    """Return which columns may be the missing ones by their types, or examples."""
    form = {"label": ("whole", "text"), "prediction": ("whole", "text"), "probability": ("float",)}
    unused = dict(raw.unused)
    matrix = next((name for name, kind in unused.items() if kind == "matrix"), None)
    wanted = {name: form[name] for name in missing}
    if matrix is not None and "probability" in missing:
        wanted = {name: form[name] for name in missing if name == "label"} | {"logits": ("matrix",)}
    found = {
        ours: next((name for name, kind in unused.items() if kind in kinds), None)
        for ours, kinds in wanted.items()
    }
    if None not in found.values() and len({*found.values()}) == len(found):
        return {ours: theirs for ours, theirs in found.items() if theirs is not None}
    examples = {"label": "target", "prediction": "pred", "probability": "conf"}
    return {name: examples[name] for name in missing}


def with_shared_classes(sources: Sequence[Source], layout: Layout = _DEFAULT) -> Layout:
    """Return the layout with the names of classes that occur in files to be compared, sorted.

    Names that differ in case only are one class, unless a column has both.
    """
    by_column, orders = list[set[str]](), list[list[str]]()
    for source in sources:
        if not isinstance(source, formats.InMemory):
            path = Path(source)
            check_is_file(path)
            if formats.suffix_of(path) == ".parquet" and not _may_hold_names(path):
                continue
        try:
            raw = read_raw(source, layout)
        except InputError:  # where labels are required, reading it will say what is wrong
            raw = read_raw(source, layout, "optional")
        for name in {"label", "prediction"} & raw.columns.keys():
            texts = formats.texts_of(raw.columns[name])
            if texts is not None and as_numbers(texts).dtype == object:
                by_column.append(names_in(texts, raw.file))
        # Other columns may begin alike where prediction and probability are there.
        if raw.classes and not raw.classes.numbered and "probability" not in raw.columns:
            orders.append(list(raw.classes.columns))
            by_column.append(set(orders[-1]))
    found = set[str]().union(*by_column)
    folded = {name.casefold(): name for name in sorted(found, reverse=True)}
    if all(len({name.casefold() for name in names}) == len(names) for names in by_column):
        found = set(folded.values())
    if not found:
        return layout
    is_known = bool(orders) and all(order == sorted(order) for order in orders)
    return replace(layout, classes=tuple(sorted(found)), order_is_known=is_known)


def _may_hold_names(path: Path) -> bool:
    """Whether a Parquet file has columns other than our numbers and lists of them; cheap."""
    try:
        fields = [(str(field.type), field.name) for field in pq.read_schema(path)]
    except (OSError, ValueError, pa.ArrowException):
        return True  # reading it will say what is wrong
    numbers = ("int", "uint", "float", "double", "halffloat")
    return any(
        name not in COLUMNS or not kind.startswith(numbers)
        for kind, name in fields
        if name not in KINDS
    )


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
    return raw.layout.labels(values, raw.file, name)


def _are_one_hot(values: npt.NDArray[Any]) -> bool:
    """Whether rows are 1 at one class and 0 at the others, as labels of Keras."""
    if values.dtype.kind not in "iuf" or values.shape[1] < 2:
        return False
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())
