"""Reading prediction files of any format, and tables in memory, as checked predictions.

`formats` opens a file, `recognition` finds out which of its columns is what, and `layout` has what
a person says of it. Scores of all classes may take the place of prediction and probability. Rows
without a column `index` are in dataset order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.files import check_is_file
from matcheval.predictions import formats
from matcheval.predictions.alignment import key_texts
from matcheval.predictions.class_names import NamedColumn, names_in, one_vocabulary
from matcheval.predictions.column_names import COLUMNS, KINDS
from matcheval.predictions.copies import copied_rows, told_copies
from matcheval.predictions.formats import Column, Source
from matcheval.predictions.labels_beside import with_labels_beside, with_labels_of
from matcheval.predictions.layout import Layout, as_numbers
from matcheval.predictions.recognition import (
    RawFile,
    recognise,
)
from matcheval.predictions.records import (
    PREDICTIONS,
    ROWS_FROM_0,
    LabelRule,
    Predictions,
    check_predictions,
)
from matcheval.predictions.scores import (
    MIN_ROWS,
    ScoreMatrix,
    check_predicted,
    find_scores,
    values_of,
)
from matcheval.predictions.softmax import TIED, most_probable, n_tied
from matcheval.predictions.suspicions import NOTICED, suspicions, told_repeats

_DEFAULT = Layout()


def read_raw(source: Source, layout: Layout, labels: LabelRule = "required") -> RawFile:
    """Read a prediction file of any format, with required labels from a file beside if need be."""
    raw = recognise(formats.load(source), layout)
    if layout.labels_file is not None and not isinstance(source, formats.InMemory):
        return with_labels_of(raw, Path(source), Path(layout.labels_file))
    has_labels = "label" in raw.columns and raw.either is None
    if isinstance(source, formats.InMemory) or has_labels or labels == "optional":
        return raw
    has_more = raw.classes is not None or len({*raw.columns} - {"index"}) > 0
    return with_labels_beside(raw, Path(source)) if has_more else raw


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
    _check_accuracy(checked, raw)
    return with_keys(checked, found.columns, raw)


def _check_accuracy(checked: Predictions, raw: RawFile) -> None:
    """Compare the accuracy that a file states with that of its predictions, as far as it is exact.

    This is how labels in another order than the predictions, or of another set, are found.
    """
    if raw.accuracy is None:
        return
    (name, stated), counted = raw.accuracy, float(checked.correct.mean())
    decimals = len(f"{stated:.7g}".partition(".")[2])
    factor = 100 if stated > 1 else 1
    errors = (abs(stated - one * counted) for one in (factor, 100))
    if not min(errors) <= 0.5 * 10.0**-decimals + 1e-9:
        raise InputError(
            f"states an accuracy of {stated:.7g}, but {factor * counted:.7g} of the predictions "
            "are right by the labels", file=raw.file, field=name,
            remedy="Labels and predictions must be of the same datapoints in the same order. If it "
            "is the accuracy of something else, leave it out of the file",
        )  # fmt: skip


def with_keys(
    checked: Predictions, columns: Mapping[str, npt.NDArray[Any]], raw: RawFile
) -> Predictions:
    """Return predictions with keys, groups and copies of their file, in order of the indices."""
    order = np.argsort(columns["index"], kind="stable") if "index" in columns else None
    copies = columns.get("copies")
    keys = None if raw.key is None else _objects(raw.key[1], order)
    groups = None if raw.groups is None else _objects(raw.groups, order)
    if groups is not None and len(groups) != len(checked):
        problem = f"{len(groups)} for {len(checked)} datapoints"
        raise InputError(problem, file=raw.file, field="group")
    is_identified = "index" in columns
    return replace(
        checked,
        keys=keys,
        groups=groups,
        copies=copies if copies is None or order is None else copies[order],
        is_identified=is_identified,
        told=tuple(raw.told),
        key_name="" if raw.key is None else raw.key[0],
    )


def _objects(column: Column, order: npt.NDArray[np.int64] | None) -> npt.NDArray[Any]:
    """Return the values of a column as objects, in an order."""
    values = formats.as_list(column)
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
    reads_scores = scores or not is_complete
    _check_order(raw, scores=reads_scores)
    if reads_scores:
        matrix = find_scores(raw)
    if matrix is not None:
        told = [text.replace("scores =", f"{matrix.kind} =", 1) for text in raw.told]
        raw = replace(raw, told=told)
    if is_complete:
        _check_not_of_class_1(columns, raw)
    if matrix is not None:
        _check_not_transposed(columns.get("label"), matrix, raw)
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
    return _without_repeated(Contents(columns, metadata, matrix, raw))


def _without_repeated(found: Contents) -> Contents:
    """Drop rows that repeat a datapoint with all that is predicted of it; refuse others."""
    raw, metadata = found.raw, dict(found.metadata)
    noticed = [*raw.noticed]
    keys = None if raw.key is None else key_texts(formats.as_list(raw.key[1]))
    if raw.key is not None and keys is not None and len({*keys}) < len(keys):
        first = {key: row for row, key in reversed([*enumerate(keys)])}
        label = found.columns.get("label")
        if label is not None and any(
            label[row] != label[first[key]] for row, key in enumerate(keys)
        ):
            return replace(found, raw=replace(raw, key=None))  # it names something else
        whole = [*found.columns.values(), *([found.scores.values] if found.scores else [])]
        for row, key in enumerate(keys):
            if any(not np.array_equal(column[row], column[first[key]]) for column in whole):
                raise InputError(
                    f"'{key:.60}' occurs more than once ({len(keys) - len(first):,} rows repeat "
                    f"another's), with other values in row {row}", file=raw.file, field=raw.key[0],
                    remedy="Give each datapoint one row. If this names groups of datapoints, such "
                    f"as videos, call it group; {ROWS_FROM_0.lower()}",
                )  # fmt: skip
        kept = np.array(sorted(first.values()))
        noticed.append(
            f"{len(keys) - len(kept):,} rows repeat another's `{raw.key[0]}`, and count once"
        )
        raw = replace(
            raw, key=(raw.key[0], _objects(raw.key[1], kept)),
            groups=None if raw.groups is None else _objects(raw.groups, kept),
        )  # fmt: skip
        columns = {name: column[kept] for name, column in found.columns.items()}
        scores = found.scores and replace(found.scores, values=found.scores.values[kept])
        found = replace(found, columns=columns, scores=scores)
    if found.scores is not None and raw.groups is None:
        values, kind = found.scores.values, found.scores.kind
        copies = copied_rows(values, are_probabilities=kind == "probabilities")
        if copies is not None:
            found.columns["copies"] = copies
            noticed += told_copies(copies)
    elif raw.groups is None:
        noticed += told_repeats(found.columns)
    if noticed:
        metadata[NOTICED] = "\n".join(noticed)
    return replace(found, raw=raw, metadata=metadata)


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


def _check_not_transposed(
    label: npt.NDArray[Any] | None, scores: ScoreMatrix, raw: RawFile
) -> None:
    n, width = scores.values.shape
    if label is not None and len(label) != n and label.size == width:
        raise InputError(
            f"has {n:,} rows and {width:,} columns, for {width:,} labels", file=raw.file,
            field=scores.kind, remedy="Transpose the arrays: a row per datapoint, as Python reads "
            "them, is a column in MATLAB",
        )  # fmt: skip


def _check_not_of_class_1(columns: dict[str, npt.NDArray[Any]], raw: RawFile) -> None:
    """Refuse probabilities of class 1 of two, also where class 0 is predicted."""
    p, predicted = columns["probability"], columns["prediction"]
    if len(p) < MIN_ROWS or p.shape != predicted.shape or p.dtype.kind != "f":
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


def _missing_error(missing: list[str], raw: RawFile) -> InputError:
    say = raw.layout.say
    columns = _suggested(missing, raw) or dict.fromkeys(missing, "NAME")
    remedy = f"If they have other names, say which: {say('columns', **columns)}"
    if missing == ["label"]:
        remedy = (
            "The true classes are needed here; only predictions of accuracy do without. Put them "
            f"beside the file, as labels.csv or labels.npy. {remedy}"
        )
    elif single := [n for n in ("prediction", "probability") if _is_single(raw.columns.get(n))]:
        theirs = raw.names[single[0]]
        remedy = (
            f"If '{theirs}', a single column of scores, is the probability of class 1 of two, "
            f"write: {say('columns', probabilities=theirs)}"
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
        if Path(str(raw.file)).suffix in (".pt", ".pth"):
            remedy += "; torch.save({'labels': torch.cat(...), 'logits': torch.cat(...)}, file)"
    what = f"column{'s' * (len(missing) > 1)} {', '.join(missing)} missing; found {raw.shown}"
    return InputError(what, file=raw.file, remedy=remedy)


def _is_single(column: formats.Column | None) -> bool:
    """Whether an array is of one column of numbers that are not whole."""
    return isinstance(column, np.ndarray) and column.shape[1:] == (1,) and column.dtype.kind == "f"


def _suggested(missing: list[str], raw: RawFile) -> dict[str, str]:
    """Return which columns may be the missing ones by their types, if the file can be read so."""
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
    columns = {ours: theirs for ours, theirs in found.items() if theirs is not None}
    is_new = not {*columns} & {*raw.layout.columns}
    if len(columns) < len(found) or len({*columns.values()}) < len(found) or not is_new:
        return {}
    layout = replace(raw.layout, columns={**raw.layout.columns, **columns})
    try:
        read = read_predictions(raw.file, layout=layout)  # type: ignore[arg-type]
    except InputError:
        return {}
    looks_wrong = suspicions(read.label, read.prediction, read.probability, read.metadata)
    return {} if looks_wrong else columns


def with_shared_classes(sources: Sequence[Source], layout: Layout = _DEFAULT) -> Layout:
    """Return the layout with the names of classes that occur in files to be compared, sorted."""
    by_column, orders = list[NamedColumn](), list[list[str]]()
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
                by_column.append(names_in(name, texts, raw.file))
        # Other columns may begin alike where prediction and probability are there.
        if raw.classes and not raw.classes.numbered and "probability" not in raw.columns:
            orders.append(list(raw.classes.columns))
            by_column.append(NamedColumn("scores", frozenset(orders[-1]), 0, raw.file))
    if not by_column:
        return layout
    classes, merged = one_vocabulary(by_column, layout.say("classes"))
    is_known = bool(orders) and all(order == sorted(order) for order in orders)
    return replace(layout, classes=classes, merged=merged, order_is_known=is_known)


def _may_hold_names(path: Path) -> bool:
    """Whether a Parquet file has columns other than our numbers and lists of them; cheap."""
    import pyarrow.parquet as pq

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
