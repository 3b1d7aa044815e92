"""Reading prediction files of any format, and tables in memory, as checked predictions.

A file passes five steps, in `read_contents`: `formats.load` opens it; `recognition.recognise` finds
out which column is what; true classes are taken from a file beside, if it has none; `scores` turns
columns into numbers, and scores of all classes into prediction and probability; rows that repeat a
datapoint are dropped. `records.check_columns` then checks the values. Rows without a column `index`
are in dataset order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError, listed
from matcheval.io.files import check_is_file
from matcheval.names import NAMED_SUFFIXES, PREDICTION_SUFFIXES
from matcheval.predictions.column_names import COLUMNS, KINDS, snake_case
from matcheval.predictions.datapoints import (
    choose_key_fold,
    copied_rows,
    copies_warning,
    keys_as_texts,
)
from matcheval.predictions.formats import Column, InMemory, Source, load, stem_of, suffix_of
from matcheval.predictions.layout import Layout, NamedColumn, as_numbers, merge_spellings, names_in
from matcheval.predictions.recognition import RawFile, recognise
from matcheval.predictions.records import (
    PREDICTIONS,
    ROWS_FROM_0,
    LabelRule,
    Predictions,
    check_columns,
)
from matcheval.predictions.scores import (
    MIN_ROWS,
    ScoreMatrix,
    check_predicted,
    find_scores,
    read_values,
)
from matcheval.predictions.softmax import TIED, most_probable, n_tied
from matcheval.predictions.suspicions import WARNINGS, repeats_warning

LABELS_FILE = "labels_file"  # key of the metadata
_DEFAULT = Layout()


@dataclass(frozen=True, eq=False)
class Contents:
    """The columns and scores of a prediction file, before their values are checked."""

    columns: dict[str, npt.NDArray[Any]]
    metadata: dict[str, str]
    scores: ScoreMatrix | None
    raw: RawFile

    def checked(self) -> dict[str, Any]:
        """Check the columns, and convert them to the types and the row order of `Predictions`."""
        layout = self.raw.layout
        return check_columns(
            self.columns, file=self.raw.file, n_classes=layout.n_classes, metadata=self.metadata,
            first_label=layout.say("first_label"),
        )  # fmt: skip


def read_predictions(source: Source, layout: Layout = _DEFAULT) -> Predictions:
    """Read and check the predictions in a file or in a table in memory."""
    contents = read_contents(source, layout)
    checked = Predictions(**contents.checked(), metadata=contents.metadata)
    _check_accuracy(checked, contents.raw)
    return with_keys(checked, contents.columns, contents.raw)


def read_contents(
    source: Source,
    layout: Layout = _DEFAULT,
    *,
    scores: bool = False,
    labels: LabelRule = "required",
) -> Contents:
    """Read a prediction file of any format; with `scores`, also the scores of all classes."""
    raw = read_raw(source, layout, labels)
    if raw.either is not None and labels == "required":
        raise _missing_columns_error(["label"], raw)
    columns = {name: read_values(raw, name) for name in PREDICTIONS.names if name in raw.columns}
    metadata = dict(raw.metadata)
    if layout.classes is not None:
        _check_n_classes(metadata, len(layout.classes), "classes", raw)
    is_complete = {"prediction", "probability"} <= columns.keys()
    needs_scores = scores or not is_complete
    _check_class_order(raw, scores=needs_scores)
    matrix = find_scores(raw) if needs_scores else None
    if is_complete:
        _check_not_of_class_1(columns, raw)
    if matrix is not None:
        raw = replace(raw, notes=[n.replace("scores =", f"{matrix.kind} =", 1) for n in raw.notes])
        _check_not_transposed(columns.get("label"), matrix, raw)
        _check_n_classes(metadata, matrix.values.shape[1], matrix.kind, raw)
        if not is_complete:
            if "prediction" in columns:
                check_predicted(columns["prediction"], matrix, raw.file)
            columns["prediction"], columns["probability"] = most_probable(
                matrix.values, logits=matrix.kind == "logits"
            )
            metadata[TIED] = str(n_tied(matrix.values))
    needed = [name for name in PREDICTIONS.names[1:] if name != "label" or labels == "required"]
    if missing := [name for name in needed if name not in columns]:
        raise _missing_columns_error(missing, raw)
    return _add_copies_and_warnings(_drop_repeated_rows(Contents(columns, metadata, matrix, raw)))


def read_raw(source: Source, layout: Layout, labels: LabelRule = "required") -> RawFile:
    """Recognise the columns of a file; take labels from a file beside it if they are missing."""
    raw = recognise(load(source), layout)
    if isinstance(source, InMemory):
        return raw
    path = Path(source)
    if layout.labels_file is not None:
        return _with_labels_from(raw, path, Path(layout.labels_file))
    is_empty = raw.classes is None and not {*raw.columns} - {"index"}
    if "label" in raw.columns or labels == "optional" or is_empty:
        return raw
    file = _find_labels_file(path)
    return raw if file is None else _with_labels_from(raw, path, file)


def with_keys(
    checked: Predictions, columns: Mapping[str, npt.NDArray[Any]], raw: RawFile
) -> Predictions:
    """Add a file's keys, groups and copies to its checked predictions, in order of `index`."""
    is_identified = "index" in columns
    order = np.argsort(columns["index"], kind="stable") if is_identified else slice(None)
    copies = columns.get("copies")
    if raw.groups is not None and len(raw.groups) != len(checked):
        problem = f"{len(raw.groups)} for {len(checked)} datapoints"
        raise InputError(problem, file=raw.file, field="group")
    return replace(
        checked,
        keys=None if raw.key is None else raw.key[1].astype(object)[order],
        groups=None if raw.groups is None else raw.groups.astype(object)[order],
        copies=None if copies is None else copies[order],
        is_identified=is_identified,
        notes=tuple(raw.notes),
        key_name="" if raw.key is None else raw.key[0],
    )


# --- true classes in a file of their own, such as `labels.npy` beside `logits.npy`

_TRUTHS = (
    "labels", "label", "targets", "target", "targs", "y_true", "y_test", "y", "ground_truth", "gt",
    "truth",
)  # fmt: skip
_SCORES = re.compile(
    r"(?<![a-z0-9])(logits?|outputs?|prob(abilitie)?s?|softmax|scores?|pred(iction)?s?|y_(pred|score|prob))"
    r"(?![a-z0-9])"
)


def _find_labels_file(path: Path) -> Path | None:
    """Find the file beside a prediction file that has its true classes; refuse two candidates."""
    stem = snake_case(stem_of(path))
    own = {f"{stem}_{truth}" for truth in _TRUTHS} | {_SCORES.sub(t, stem) for t in _TRUTHS}
    readable = {*PREDICTION_SUFFIXES, *NAMED_SUFFIXES}
    files = [file for file in sorted(path.parent.iterdir()) if suffix_of(file) in readable]
    stems = {file: snake_case(stem_of(file)) for file in files if file.is_file() and file != path}
    for wanted in (own - {*_TRUTHS, stem}, {*_TRUTHS} - {stem}):
        matches = [file for file, name in stems.items() if name in wanted]
        if len(matches) > 1:
            raise InputError(
                f"has no true classes, and beside it are {listed(file.name for file in matches)}",
                file=path, remedy="Keep the one that holds its true classes",
            )  # fmt: skip
        if matches:
            return matches[0]
    return None


def _with_labels_from(raw: RawFile, path: Path, file: Path) -> RawFile:
    """Add the true classes of another file, matched by a key if both have one, else row by row."""
    loaded = load(file)
    truth = recognise(loaded, replace(raw.layout, columns={}))
    names = [name for name in loaded.names if truth.key is None or name != truth.key[0]]
    if "label" in truth.columns:
        label = truth.columns["label"]
    elif len(names) == 1:
        label = loaded.read(names)[names[0]]
    else:
        raise InputError(
            f"is to have the true classes of {path.name}, but has no column of them; "
            f"found {truth.shown}", file=file, remedy="Name the column 'label'",
        )  # fmt: skip
    columns = [*raw.columns.values(), *(raw.classes.columns.values() if raw.classes else ())]
    note = f"label = `{file.name}`"
    if raw.key is not None and truth.key is not None:
        rows = np.array(_find_key_rows(raw.key[1], truth.key[1], file, truth.key[0]))
        note += f", by `{truth.key[0]}`"
        if (unused := len(label.values) - len({*rows.tolist()})) > 0:
            note += f" ({unused:,} further rows are not used)"
        label = replace(label, values=label.values[rows])
    elif truth.key is not None:
        raise InputError(
            f"names datapoints by '{truth.key[0]}', {path.name} does not", file=file,
            remedy=f"Give {path.name} this column, or leave it out of both in the same order",
        )  # fmt: skip
    elif len(label.values) != len(columns[0].values):
        problem = f"has {len(label.values):,} rows, {path.name} has {len(columns[0].values):,}"
        remedy = "Give both the same datapoints, or a column with file names"
        raise InputError(problem, file=file, remedy=remedy)
    kept = [text for text in raw.notes if not text.startswith("label =")]
    return replace(
        raw, columns={**raw.columns, "label": label}, either=None, notes=[note, *kept],
        metadata={**raw.metadata, LABELS_FILE: str(file)},
    )  # fmt: skip


def _find_key_rows(
    wanted_keys: npt.NDArray[Any], file_keys: npt.NDArray[Any], file: Path, field: str
) -> list[int]:
    """Return the row of each wanted key in a file; refuse repeated and missing keys."""
    keys, wanted = keys_as_texts(file_keys), keys_as_texts(wanted_keys)
    fold, _ = choose_key_fold(wanted, keys)
    position = {fold(key): row for row, key in enumerate(keys)}
    if len(position) < len(keys):
        raise InputError(
            f"{len(keys) - len(position):,} rows repeat another's", file=file, field=field,
            remedy="Give each datapoint one row",
        )  # fmt: skip
    if missing := [key for key in wanted if fold(key) not in position]:
        problem = f"has no row of {listed([key[:100] for key in missing], 1)}"
        remedy = "Give every datapoint its true class"
        raise InputError(problem, file=file, field=field, remedy=remedy)
    return [position[fold(key)] for key in wanted]


# --- rows that repeat others


def _drop_repeated_rows(contents: Contents) -> Contents:
    """Drop rows that repeat another row's key and values; refuse a key with other values."""
    raw, scores = contents.raw, contents.scores
    if raw.key is None:
        return contents
    name, values = raw.key
    first: dict[str, int] = {}
    rows = np.array([first.setdefault(key, row) for row, key in enumerate(keys_as_texts(values))])
    whole = [*contents.columns.values(), *([scores.values] if scores else [])]
    n = len(rows)
    if len(first) == n or any(len(column) != n for column in whole):
        return contents
    label = contents.columns.get("label")
    if label is not None and (label != label[rows]).any():
        return replace(contents, raw=replace(raw, key=None))  # it names something else
    differs = [(column != column[rows]).reshape(n, -1).any(axis=1) for column in whole]
    if (bad := np.flatnonzero(np.any(differs, axis=0))).size:
        raise InputError(
            f"'{values[bad[0]]!s:.60}' occurs more than once ({n - len(first):,} rows repeat "
            f"another's), with other values in row {bad[0]}", file=raw.file, field=name,
            remedy="Give each datapoint one row. If this names groups of datapoints, such as "
            f"videos, call it group; {ROWS_FROM_0.lower()}",
        )  # fmt: skip
    kept = np.unique(rows)
    warning = f"{n - len(kept):,} rows repeat another's `{name}`, and count once"
    return Contents(
        {name: column[kept] for name, column in contents.columns.items()},
        contents.metadata,
        scores and replace(scores, values=scores.values[kept]),
        replace(
            raw, key=(name, raw.key[1][kept]), warnings=[*raw.warnings, warning],
            groups=None if raw.groups is None else raw.groups[kept],
        ),
    )  # fmt: skip


def _add_copies_and_warnings(contents: Contents) -> Contents:
    """Add a column of which rows are copies, and put warnings into the metadata."""
    raw, scores, columns = contents.raw, contents.scores, dict(contents.columns)
    warnings = [*raw.warnings]
    if scores is not None and raw.groups is None:
        is_probability = scores.kind == "probabilities"
        copies = copied_rows(scores.values, are_probabilities=is_probability)
        if copies is not None:
            columns["copies"] = copies
            warnings += copies_warning(copies)
    elif raw.groups is None:
        warnings += repeats_warning(columns)
    metadata = contents.metadata | ({WARNINGS: "\n".join(warnings)} if warnings else {})
    return replace(contents, columns=columns, metadata=metadata)


# --- checks


def _check_n_classes(metadata: dict[str, str], n: int, field: str, raw: RawFile) -> None:
    """Check that a number of classes is that of the metadata; enter it there if there is none."""
    stated = metadata.setdefault("n_classes", str(n))
    if stated != str(n):
        what = f"{n} classes are given" if field == "classes" else f"has {n} columns"
        problem = f"{what}, but the file is of {stated:.20} classes"
        raise InputError(problem, file=raw.file, field=field)


def _check_class_order(raw: RawFile, *, scores: bool) -> None:
    """Refuse names of classes beside numbers, or bare scores, if the classes' order is unknown."""
    if raw.layout.classes is None or raw.layout.order_is_known:
        return
    by_form = dict[bool, str]()  # what are names of classes, and what numbers
    for role in {"label", "prediction"} & raw.columns.keys():
        is_named = _holds_class_names(raw.columns[role])
        by_form[is_named] = f"{role} is {'names' if is_named else 'numbers'}"
    if scores and raw.classes is not None:
        is_named = not raw.classes.numbered
        by_form[is_named] = f"columns of scores have {'names' if is_named else 'numbers'}"
    elif scores and {*KINDS, "scores"} & raw.columns.keys():
        by_form[False] = "nothing says which class each score is of"
    if len(by_form) == 2:
        raise InputError(
            f"which class has which number is not known: {by_form[True]}, {by_form[False]}",
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
            field=scores.kind, remedy="Transpose the arrays: give a row per datapoint",
        )  # fmt: skip


def _check_not_of_class_1(columns: dict[str, npt.NDArray[Any]], raw: RawFile) -> None:
    """Refuse probabilities of class 1 of two where those of the predicted class are needed."""
    p, predicted = columns["probability"], columns["prediction"]
    if len(p) < MIN_ROWS or p.shape != predicted.shape or p.dtype.kind != "f":
        return
    classes = (predicted, columns.get("label", predicted))
    of_two = all(column.min() == 0 and column.max() == 1 for column in classes)
    if of_two and (p < 0.5).any() and np.array_equal(p >= 0.5, predicted == 1):
        theirs = raw.names.get("probability", "probability")
        raise InputError(
            "is below 0.5 exactly where class 0 is predicted: it is the probability of class 1, "
            "not of the predicted class", file=raw.file, field=theirs,
            remedy=f"If so, say it: {raw.layout.say('columns', probabilities=theirs)}",
        )  # fmt: skip


def _check_accuracy(checked: Predictions, raw: RawFile) -> None:
    """Refuse a file that states another accuracy than its predictions have."""
    if raw.accuracy is None:
        return
    (name, stated), counted = raw.accuracy, float(checked.correct.mean())
    rounding = 0.5 * 10.0 ** -len(f"{stated:.7g}".partition(".")[2]) + 1e-9
    if not min(abs(stated - counted), abs(stated - 100 * counted)) <= rounding:
        counted *= 100 if stated > 1 else 1
        raise InputError(
            f"states an accuracy of {stated:.7g}, but {counted:.7g} of the predictions are right "
            "by the labels", file=raw.file, field=name,
            remedy="Labels and predictions must be of the same datapoints in the same order. If it "
            "is the accuracy of something else, leave it out of the file",
        )  # fmt: skip


def _missing_columns_error(missing: list[str], raw: RawFile) -> InputError:
    say = raw.layout.say
    problem = f"column{'s' * (len(missing) > 1)} {', '.join(missing)} missing; found {raw.shown}"
    remedy = (
        f"If they have other names, say which: {say('columns', **dict.fromkeys(missing, 'NAME'))}"
    )
    if raw.either is not None:
        problem = (
            f"'{raw.either}' may be the true class or, as in the output of timm and of pipelines "
            f"of Hugging Face, the predicted one; found {raw.shown}"
        )
        remedy = (
            "If it is the prediction, name the column of the true classes: "
            f"{say('columns', prediction=raw.either, label='TRUTH')}, or put them beside the file "
            "as labels.csv. If it is the true class, name that of the predictions: "
            f"{say('columns', label=raw.either, prediction='PREDICTED')}"
        )
    elif missing == ["label"]:
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
    else:
        remedy = (
            "Give the prediction and its probability, or the scores of all classes: 'logits' or "
            "'probabilities', or columns that begin with logit_ or prob_ or are named by the "
            f"classes, if these are given: {say('classes')}. {remedy}"
        )
    return InputError(problem, file=raw.file, remedy=remedy)


def _is_single(column: Column | None) -> bool:
    """Whether an array is a single column of floats, (n, 1)."""
    values = np.empty(0) if column is None else column.values
    return values.shape[1:] == (1,) and values.dtype.kind == "f"


# --- names of classes that files share


def with_shared_classes(sources: Sequence[Source], layout: Layout = _DEFAULT) -> Layout:
    """Add to a layout, as its classes, all class names that occur in some files, sorted."""
    by_column, orders = list[NamedColumn](), list[list[str]]()
    for source in sources:
        if not isinstance(source, InMemory):
            path = Path(source)
            check_is_file(path)
            if suffix_of(path) == ".parquet" and not _may_hold_class_names(path):
                continue
        try:
            raw = read_raw(source, layout)
        except InputError:  # where labels are required, reading it will say what is wrong
            raw = read_raw(source, layout, "optional")
        for role in {"label", "prediction"} & raw.columns.keys():
            if _holds_class_names(raw.columns[role]):
                by_column.append(names_in(role, raw.columns[role].values, raw.file))
        # Other columns may begin alike where prediction and probability are there.
        if raw.classes and not raw.classes.numbered and "probability" not in raw.columns:
            orders.append(list(raw.classes.columns))
            by_column.append(NamedColumn("scores", frozenset(orders[-1]), 0, raw.file))
    if not by_column:
        return layout
    classes, merged = merge_spellings(by_column, layout.say("classes"))
    is_known = bool(orders) and all(order == sorted(order) for order in orders)
    return replace(layout, classes=classes, merged=merged, order_is_known=is_known)


def _holds_class_names(column: Column) -> bool:
    return column.form == "text" and as_numbers(column.values).dtype == object


def _may_hold_class_names(path: Path) -> bool:
    """Whether a Parquet file's schema has columns other than standard numbers and score lists."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, ValueError, pa.ArrowException):
        return True  # reading it will say what is wrong
    numbers = ("int", "uint", "float", "double", "halffloat")
    return any(
        field.name not in COLUMNS or not str(field.type).startswith(numbers)
        for field in schema
        if field.name not in KINDS
    )
