"""Reading prediction files: Parquet of the workflow, and the formats of `formats` of the user.

A file holds `label`, `prediction`, `probability` and optionally `index` (without it, rows are in
dataset order). Scores of all classes may take the place of prediction and probability: lists
`logits` or `probabilities`, or columns `logit_0`, `logit_1`, ... or `p_0`, `p_1`, ..., or with the
names of the classes, `prob_cat`, `prob_dog`, .... Classes may be names instead of numbers. How a
file differs from this is described by a `layout.Layout`. A table in memory is read in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
from matcheval.predictions.formats import Column, RawFile, Source
from matcheval.predictions.layout import KINDS, ClassColumns, Kind, Layout, as_numbers, names_in
from matcheval.predictions.records import (
    MAX_CLASSES,
    PREDICTIONS,
    ROWS_FROM_0,
    LabelRule,
    Predictions,
    check_predictions,
)
from matcheval.predictions.softmax import TIED, most_probable, n_tied

# Logits of fewer rows may be probabilities by chance.
_MIN_ROWS = 10
_DEFAULT = Layout()


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
    given: dict[str, Kind] = {kind: kind for kind in KINDS if kind in raw.columns}
    per_class = None
    for kind in KINDS:
        if found := raw.layout.class_columns(list(raw.columns), kind):
            per_class = found
            given[next(iter(found.columns.values()))] = kind
    if not given:
        return None
    if len(given) > 1:
        shown = " and ".join(f"{kind} ({name})" for name, kind in given.items())
        remedy = "Give one of 'logits' and 'probabilities'"
        raise InputError(f"holds {shown}", file=raw.file, remedy=remedy)
    ((name, kind),) = given.items()
    column = raw.columns[name]
    if per_class is not None:
        names = _in_order(per_class, raw)
        values = np.stack([_numbers(raw.columns[n], n, raw.file) for n in names], axis=1)
    else:
        values = column if isinstance(column, np.ndarray) else _of_lists(column, kind, raw.file)
    return ScoreMatrix(kind, _checked_scores(kind, values, raw.file))


def _in_order(found: ClassColumns, raw: RawFile) -> list[str]:
    """Return the names of the columns of single classes in order of the labels."""
    first = raw.layout.first_label
    if found.numbered:
        expected = [str(first + label) for label in range(len(found.columns))]
        example = f"{found.prefix}{first}, {found.prefix}{first + 1}"
        remedy = f"Give one per class, named {example}, ... without gaps"
        if "0" not in found.columns and not first:
            remedy += "; if labels are counted from 1, say so (--first-label 1, or 'first_label')"
    elif raw.layout.classes is None:
        raise InputError(
            f"columns such as '{next(iter(found.columns.values()))}' have names of classes",
            file=raw.file,
            remedy="Give the classes in the order of their labels ('classes' of the dataset)",
        )
    else:
        expected = list(raw.layout.classes)
        remedy = "Give one per class, for all classes"
    missing = [name for name in expected if name not in found.columns]
    wrong = missing or [name for name in found.columns if name not in expected]
    if wrong:
        what = (
            f"'{found.prefix}{wrong[0]}' is {'missing or repeated' if missing else 'of no class'}"
        )
        problem = f"has {len(found.columns)} columns {found.prefix}..., of which {what}"
        raise InputError(problem, file=raw.file, remedy=remedy)
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
        raise InputError(f"value {row} is empty or NaN", file=file, field=name, remedy=ROWS_FROM_0)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"is of type {column.type}", file=file, field=name, remedy="Give numbers")
    values = formats.plain_values(column)
    # A column of a CSV file with only whole numbers is read as integers.
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _checked_scores(kind: Kind, matrix: npt.NDArray[Any], file: object) -> npt.NDArray[Any]:
    """Check shape, type and values of scores, and return them."""
    wrong = partial(InputError, file=file, field=kind)
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating) or not matrix.shape[1]:
        raise wrong(
            f"has shape {matrix.shape} and dtype {matrix.dtype}",
            remedy="Give floats, one row per datapoint and one column per class",
        )
    if matrix.shape[1] > MAX_CLASSES:
        raise wrong(f"has {matrix.shape[1]} columns; the maximum is {MAX_CLASSES} classes")
    if kind == "logits":
        if not np.isfinite(matrix).all():
            row = int((~np.isfinite(matrix)).any(axis=1).argmax())
            raise wrong(f"row {row} holds NaN or infinite values", remedy=ROWS_FROM_0)
        if are_softmaxed(matrix):
            raise wrong(
                "all rows lie in [0, 1] and sum to 1: these are probabilities, after the softmax",
                remedy="Name them 'probabilities' (in a column per class: prob_...)",
            )
    elif not (fine := _are_distributions(matrix)).all():
        row = int((~fine).argmax())
        remedy = "If these are scores before the softmax, name the array 'logits'"
        if (matrix >= 0).all() and (abs(matrix.sum(axis=1, dtype=np.float64) - 100) <= 1).all():
            remedy = "These look like percentages: divide them by 100"
        raise wrong(
            f"row {row} is not a probability distribution (sum {matrix[row].sum():g}, range "
            f"{matrix[row].min():g} to {matrix[row].max():g})",
            remedy=f"{remedy}. {ROWS_FROM_0}",
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
    return bool(_are_distributions(logits, rounding=1e-3).all())


def _are_distributions(matrix: npt.NDArray[Any], rounding: float = 1e-2) -> npt.NDArray[np.bool_]:
    """Say which rows are probability distributions, up to rounding."""
    totals = matrix.sum(axis=1, dtype=np.float64)
    inside = ((matrix >= 0) & (matrix <= 1 + 1e-6)).all(axis=1)
    return np.asarray(inside & (abs(totals - 1) <= rounding))


@dataclass(frozen=True, eq=False)
class Contents:
    """What a prediction file holds, before checks of its columns."""

    columns: dict[str, npt.NDArray[Any]]
    metadata: dict[str, str]
    scores: ScoreMatrix | None


def read_predictions(
    source: Source, n_classes: int | None = None, layout: Layout = _DEFAULT
) -> Predictions:
    """Read and check a prediction file, or a table in memory."""
    found = read_contents(source, layout)
    return check_predictions(
        found.columns, file=source, n_classes=n_classes, metadata=found.metadata
    )  # fmt: skip


def read_contents(
    source: Source,
    layout: Layout = _DEFAULT,
    *,
    scores: bool = False,
    labels: LabelRule = "required",
) -> Contents:
    """Read a prediction file of any format; with `scores`, also those of all classes."""
    raw = formats.read_raw(source, layout)
    columns = {name: values_of(raw, name) for name in PREDICTIONS.names if name in raw.columns}
    metadata = dict(raw.metadata)
    matrix, numbers = None, {}
    if layout.classes is not None:
        numbers["classes"] = len(layout.classes)
    is_complete = {"prediction", "probability"} <= set(columns)
    if scores or not is_complete:
        matrix = find_scores(raw)
    if matrix is not None:
        numbers[matrix.kind] = matrix.values.shape[1]
        if not is_complete:
            found = most_probable(matrix.values, logits=matrix.kind == "logits")
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
    return Contents(columns, metadata, matrix)


def _missing_error(missing: list[str], raw: RawFile) -> InputError:
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
        remedy = f"{formats.CLASSES_ONLY}. {remedy}"
    elif raw.is_arrays:
        remedy = f"Give 'labels' and one of 'logits' and 'probabilities'. {remedy}"
    what = f"column{'s' * (len(missing) > 1)} {', '.join(missing)} missing; found {raw.shown}"
    return InputError(what, file=raw.file, remedy=remedy)


def shared_classes(
    sources: Sequence[Source], layout: Layout = _DEFAULT
) -> tuple[str, ...] | None:  # fmt: skip
    """Return the names of classes that occur in files that are to be compared, sorted."""
    found: set[str] = set()
    for source in sources:
        if not isinstance(source, formats.InMemory):
            path = Path(source)
            check_is_file(path)
            if formats.suffix_of(path) == ".parquet" and not _may_hold_names(path):
                continue
        raw = formats.read_raw(source, layout)
        for name in {"label", "prediction"} & raw.columns.keys():
            texts = formats.texts_of(raw.columns[name])
            if texts is not None and as_numbers(texts).dtype == object:
                found |= names_in(texts, raw.file)
        for kind in KINDS:
            columns = layout.class_columns(list(raw.columns), kind)
            # Other columns may begin alike where prediction and probability are there.
            if columns and not columns.numbered and "probability" not in raw.columns:
                found |= set(columns.columns)
    return tuple(sorted(found)) or None


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


def values_of(raw: RawFile, name: str) -> npt.NDArray[Any]:
    """Return a column as numbers, without nulls; names of classes and first labels are resolved."""
    column = raw.columns[name]
    if not isinstance(column, np.ndarray) and pa.types.is_nested(column.type):
        raise InputError("holds lists or records, not values", file=raw.file, field=name)
    if not isinstance(column, np.ndarray) and column.null_count:
        row = column.is_null().to_numpy().argmax()
        problem = f"row {row} is empty or NaN"
        raise InputError(problem, file=raw.file, field=name, remedy=ROWS_FROM_0)
    texts = formats.texts_of(column)
    if texts is None:
        values = column if isinstance(column, np.ndarray) else formats.plain_values(column)
    else:
        may_be_numbers = name != "probability" and raw.layout.classes is None
        values = as_numbers(texts) if may_be_numbers else texts
    if name not in ("label", "prediction"):
        return values
    return raw.layout.labels(values, raw.file, name)
