"""Reading prediction files: Parquet of the workflow, and the formats of `formats` of the user.

A file holds `label`, `prediction`, `probability` and optionally `index` (without it, rows are in
dataset order). Scores of all classes may take the place of prediction and probability: lists
`logits` or `probabilities`, or columns `logit_0`, `logit_1`, ... or `p_0`, `p_1`, ..., or with the
names of the classes, `prob_cat`, `prob_dog`, .... Classes may be names instead of numbers. How a
file differs from this is described by a `layout.Layout`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.predictions.class_names import as_numbers, labels_of_names, names_in
from matcheval.predictions.formats import Column, RawFile, check_is_file, read_raw, texts_of
from matcheval.predictions.layout import KINDS, Layout
from matcheval.predictions.matrices import ScoreMatrix, find_matrix
from matcheval.predictions.records import PREDICTIONS, LabelRule, Predictions, check_predictions
from matcheval.predictions.softmax import most_probable

_LABELS_ONLY = (
    "Matching needs probabilities; for the replication tables, give classes as datasets of kind "
    "'labels' (docs/replication.md)"
)
_DEFAULT = Layout()
_MAX_SHOWN = 20  # columns in a message


@dataclass(frozen=True, eq=False)
class Contents:
    """What a prediction file holds, before checks of its columns."""

    columns: dict[str, npt.NDArray[Any]]
    metadata: dict[str, str]
    scores: ScoreMatrix | None = None


def read_predictions(
    path: str | os.PathLike[str], n_classes: int | None = None, layout: Layout = _DEFAULT
) -> Predictions:
    """Read and check a prediction file."""
    found = read_contents(path, layout=layout)
    return check_predictions(
        found.columns, file=path, n_classes=n_classes, metadata=found.metadata
    )  # fmt: skip


def read_contents(
    path: str | os.PathLike[str],
    *,
    scores: bool = False,
    labels: LabelRule = "required",
    layout: Layout = _DEFAULT,
) -> Contents:
    """Read a prediction file of any format."""
    return contents_of(read_raw(Path(path), layout), scores=scores, labels=labels, layout=layout)


def contents_of(
    raw: RawFile,
    *,
    scores: bool = False,
    labels: LabelRule = "required",
    layout: Layout = _DEFAULT,
) -> Contents:
    """Return what the columns of a prediction file, or of a table in memory, hold."""
    columns = {
        name: values_of(raw, name, layout) for name in PREDICTIONS.names if name in raw.columns
    }
    metadata = raw.metadata
    if layout.classes is not None:
        metadata = _with_n_classes(metadata, len(layout.classes), raw.file, "classes")
    if scores or not {"prediction", "probability"} <= set(columns):
        matrix = find_matrix(raw.columns, layout, raw.file)
        if matrix is not None:
            return _complete(_with_scores(columns, metadata, matrix, raw.file), raw, labels)
    return _complete(Contents(columns, metadata), raw, labels)


def _complete(found: Contents, raw: RawFile, labels: LabelRule) -> Contents:
    """Return contents if no column is missing."""
    missing = [name for name in PREDICTIONS.names[1:] if name not in found.columns]
    if labels == "optional" and "label" in missing:
        missing.remove("label")
    if not missing:
        return found
    remedy = (
        "If they have other names, say which: --columns label=target,probability=conf, 'columns' "
        "of the dataset, or in Python columns={'label': 'target', 'probability': 'conf'}"
    )
    if missing == ["label"]:
        remedy = (
            "The true classes are needed here; only predictions of accuracy (matched-eval "
            f"predict-accuracy) do without. {remedy}"
        )
    elif missing == ["probability"]:
        remedy = f"{_LABELS_ONLY}. {remedy}"
    elif raw.is_arrays:
        remedy = f"Give 'labels' and one of 'logits' and 'probabilities'. {remedy}"
    shown = ", ".join(raw.names[:_MAX_SHOWN]) + ", ..." * (len(raw.names) > _MAX_SHOWN)
    raise InputError(
        f"column{'s' * (len(missing) > 1)} {', '.join(missing)} missing; found {shown or 'none'}",
        file=raw.file,
        remedy=remedy,
    )


def shared_classes(
    paths: Sequence[str | os.PathLike[str]], layout: Layout = _DEFAULT
) -> tuple[str, ...] | None:
    """Return the names of classes that occur in files that are to be compared, sorted."""
    found: set[str] = set()
    for path in map(Path, paths):
        if check_is_file(path) == ".parquet" and not _may_hold_names(path):
            continue
        found |= class_names_of(read_raw(path, layout), layout)
    return tuple(sorted(found)) if found else None


def class_names_of(raw: RawFile, layout: Layout = _DEFAULT) -> set[str]:
    """Return the names of classes that occur in a file or table; none if classes are numbers."""
    found: set[str] = set()
    texts = [texts_of(raw.columns[n]) for n in ("label", "prediction") if n in raw.columns]
    for values in texts:
        if values is not None and as_numbers(values).dtype == object:
            found |= names_in(values, raw.file)
    for kind in KINDS:
        columns = layout.class_columns(list(raw.columns), kind)
        # Other columns may begin alike where prediction and probability are there.
        if columns and not columns.numbered and "probability" not in raw.columns:
            found |= set(columns.columns)
    return found


def _may_hold_names(path: Path) -> bool:
    """Whether a Parquet file has columns other than numbers and lists of them; cheap."""
    try:
        fields = [(str(field.type), field.name) for field in pq.read_schema(path)]
    except (OSError, ValueError, pa.ArrowException):
        return True  # reading it will say what is wrong
    return any(
        not kind.startswith(("int", "uint", "float", "double", "halffloat")) or "_" in name
        for kind, name in fields
        if name not in KINDS
    )


def values_of(raw: RawFile, name: str, layout: Layout) -> npt.NDArray[Any]:
    """Return a column as numbers, without nulls; names of classes and first labels are resolved."""
    column = raw.columns[name]
    _check_no_nulls(column, name, raw.file)
    texts = texts_of(column)
    if texts is not None:
        values = as_numbers(texts) if name != "probability" and layout.classes is None else texts
    else:
        values = column if isinstance(column, np.ndarray) else column.to_numpy()
    if name not in ("label", "prediction"):
        return values
    return labels_of_names(
        values, layout.classes, layout.first_label, file=raw.file, field=name
    )  # fmt: skip


def _check_no_nulls(column: Column, name: str, file: object) -> None:
    if not isinstance(column, np.ndarray) and column.null_count:
        row = column.is_null().to_numpy().argmax()
        raise InputError(
            f"row {row} is empty or NaN", file=file, field=name, remedy="Rows are counted from 0"
        )


def _with_n_classes(
    metadata: dict[str, str], n_classes: int, file: object, field: str
) -> dict[str, str]:
    """Return metadata with a number of classes that must not contradict theirs."""
    known = metadata.get("n_classes", str(n_classes))
    if known != str(n_classes):
        raise InputError(
            f"has {n_classes} columns, but the file is of {known:.20} classes"
            if field != "classes"
            else f"{n_classes} classes are given, but the file is of {known:.20}",
            file=file,
            field=field,
        )
    return metadata | {"n_classes": str(n_classes)}


def _with_scores(
    columns: dict[str, Any], metadata: dict[str, str], matrix: ScoreMatrix, file: object
) -> Contents:
    """Add prediction, probability and number of classes, where they follow from the scores only."""
    metadata = _with_n_classes(metadata, matrix.values.shape[1], file, matrix.kind)
    if len(matrix.values):
        prediction, probability = most_probable(matrix.values, logits=matrix.kind == "logits")
    else:
        prediction, probability = np.empty(0, np.int16), np.empty(0, np.float32)
    if not {"prediction", "probability"} <= set(columns):
        columns = columns | {"prediction": prediction, "probability": probability}
    return Contents(columns, metadata, matrix)
