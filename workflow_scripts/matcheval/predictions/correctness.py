"""What models predict correctly on a dataset of any kind: each datapoint, and counts as a table.

Everything downstream (intervals, ranks, fits) reads the table, and so does not depend on whether
the accuracies come from inference, the user's prediction files or published classes. Of published
classes, a model's file is a JSON list or a `.npy` array with one class, or a row of top-k classes
from the most probable on, per datapoint; an archive (`.npz`) has those of all models in one array.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.kinds import (
    ACCURACIES_KIND,
    ARCHIVE_KIND,
    LABELS_KIND,
    PREDICTIONS_KIND,
    DatasetSpec,
)
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.array_archives import UNREADABLE, array_names, read_arrays
from matcheval.io.files import readable
from matcheval.io.tables import DATASET, MODEL, TOP_K, Column, TableSchema, fraction
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import layout_of
from matcheval.predictions.records import MAX_CLASSES, ROWS_FROM_0, Predictions
from matcheval.predictions.softmax import read_top_k
from matcheval.predictions.suspicions import SameModels, SameScores, check_truth

Integers = npt.NDArray[np.integer[Any]]
ACCURACIES = TableSchema(
    "accuracies of a dataset",
    MODEL,
    DATASET,
    TOP_K,
    Column("n_correct", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
    Column("n", pa.int64(), "datapoints", "size of the dataset; 0 if unknown"),
    fraction("accuracy", "n_correct over n, or as published"),
)


@dataclass(frozen=True)
class Accuracy:
    """A model's top-k accuracy on a dataset, with its counts."""

    model: str
    top: int
    accuracy: float
    n_correct: int
    n: int


def dataset_accuracies(
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str] = (),
    top_k_files: Sequence[str] = (),
) -> pa.Table:
    """Tabulate the accuracies of models on a dataset, also top-k where it is known."""
    if spec.kind == ACCURACIES_KIND:
        return accuracy_table(spec.name, list(_read_accuracies(spec, models)))
    if spec.kind in (LABELS_KIND, ARCHIVE_KIND):
        published = _read_published_classes(spec, models)
        hits = {model: (len(labels), of_model) for model, labels, of_model, _ in published}
    else:
        top_k = dict(zip(models, top_k_files, strict=True)) if top_k_files else {}

        def count(model: str, checked: Predictions) -> tuple[int, list[int]]:
            if model in top_k:
                return len(checked), _count_top_k_hits(checked, top_k[model])
            return len(checked), [int(checked.correct.sum())]

        hits = dict(zip(models, _read_all(spec, models, predictions, count)[1], strict=True))
    return accuracy_table(
        spec.name,
        [
            Accuracy(model, k, correct / n, correct, n)
            for model, (n, of_model) in hits.items()
            for k, correct in enumerate(of_model, start=1)
        ],
    )


def accuracy_table(dataset: str, rows: Sequence[Accuracy]) -> pa.Table:
    """Build the table `ACCURACIES` of a dataset, a row per model and k."""
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows]
        for name in ("model", "top", "n_correct", "n", "accuracy")
    }
    return ACCURACIES.table(columns | {"dataset": [dataset] * len(rows)})


def _count_top_k_hits(predictions: Predictions, file: str) -> list[int]:
    """Count labels in the top 1, ..., k of a top-k file, which must agree with the predictions."""
    labels, classes = read_top_k(file)
    if not np.array_equal(classes[:, 0], predictions.prediction):
        raise InputError(
            "its top-1 classes differ from the prediction file beside it", file=file,
            remedy="Delete both files, and run again",
        )  # fmt: skip
    return count_hits(classes, labels, file=file, order_is_known=True)


@dataclass(frozen=True)
class Correctness:
    """Which datapoints of a dataset each model predicts correctly (top-1)."""

    models: tuple[str, ...]
    index: npt.NDArray[np.int64]  # positions of the datapoints in the dataset
    labels: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]  # shape (n_models, n)

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.labels)

    def rows_of(self, positions: Sequence[int], file: object = None) -> npt.NDArray[np.int64]:
        """Find the rows of datapoints by their positions in the dataset, which come from `file`."""
        row = {int(position): i for i, position in enumerate(self.index)}
        wrong = partial(InputError, file=file, field="index")
        if unknown := [position for position in positions if position not in row]:
            of_others = f"{len(unknown)} of the values are not datapoints of the dataset"
            raise wrong(f"{of_others}, such as {unknown[0]}")
        if len(set(positions)) < len(positions):
            raise wrong("a datapoint occurs twice")
        return np.array([row[position] for position in positions], np.int64)


def dataset_correctness(
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str] = (),
    is_right: Callable[[Predictions], npt.NDArray[np.bool_]] = lambda checked: checked.correct,
    same_models: SameModels | None = None,
) -> Correctness:
    """Determine which datapoints of a dataset each model predicts correctly."""
    if spec.kind == ACCURACIES_KIND:
        problem = "has accuracies only, no predictions of single datapoints"
        raise InputError(problem, file=spec.name, remedy="Remove it from the analysis")
    if not models:
        raise InputError("no models", field="models")
    if spec.kind in (LABELS_KIND, ARCHIVE_KIND):
        _, of_models, _, right = zip(*_read_published_classes(spec, models), strict=True)
        labels = of_models[0].astype(np.int64)
        return Correctness(tuple(models), np.arange(len(labels)), labels, np.stack(right))
    same = same_models or SameModels()

    def check(model: str, checked: Predictions) -> npt.NDArray[np.bool_]:
        same.check(model, spec.name, checked.metadata)
        return np.asarray(is_right(checked))

    first, rows = _read_all(spec, models, predictions, check)
    index, labels = first.index.astype(np.int64), first.label.astype(np.int64)
    return Correctness(tuple(models), index, labels, np.stack(rows))


def _read_all(
    spec: DatasetSpec,
    models: Sequence[str],
    files: Sequence[str],
    use: Callable[[str, Predictions], Any],
) -> tuple[Predictions, list[Any]]:
    """Read all models' predictions; return the first's, and `use(model, predictions)` of each."""
    layout, errors, used = layout_of(spec), ErrorCollector(), list[Any]()
    same, right = SameScores(spec.name), list[npt.NDArray[np.bool_]]()
    first: tuple[str, Predictions] | None = None
    for model, file in zip(models, files, strict=True):
        with errors.collected():
            checked = read_predictions(file, layout=layout)
            first = first or (model, checked)
            if checked.datapoints_digest != first[1].datapoints_digest:
                problem = f"model '{model}' has other indices or labels than model '{first[0]}'"
                raise InputError(problem, file=file)
            same.check(model, file, checked)
            right.append(checked.correct)
            used.append(use(model, checked))
    errors.raise_any()
    assert first is not None
    if spec.kind == PREDICTIONS_KIND:
        check_truth(right, layout, spec.name)
    return first[1], used


# --- published classes


def _read_published_classes(
    spec: DatasetSpec, models: Sequence[str]
) -> Iterator[tuple[str, Integers, list[int], npt.NDArray[np.bool_]]]:
    """Yield per model: name, labels, hits in the top 1, 2, ..., k, and where its top-1 is right."""
    errors, options = ErrorCollector(), spec.options
    if spec.kind == LABELS_KIND:
        labels = read_integers(Path(options["labels"]))
    else:
        path = Path(options["file"])
        names, archive, labels = _read_class_archive(path, options)
        positions = _find_model_positions(names, [spec.alias(model) for model in models], path)
    for number, model in enumerate(models):
        with errors.collected():
            if spec.kind == LABELS_KIND:
                file: object = Path(spec.results_file(model))
                classes = read_integers(Path(spec.results_file(model)))
            else:
                file, classes = f"{path}, model '{model}'", archive[positions[number]]
            if model in options.get("reversed", ()):
                classes = classes[..., ::-1] if classes.ndim > 1 else classes
            hits = count_hits(classes, labels, file=file, n_classes=options.get("classes"))
            first = classes if classes.ndim == 1 else classes[:, 0]
            yield model, labels, hits, first == labels
    errors.raise_any()


def count_hits(
    classes: Integers,
    labels: Integers,
    *,
    file: object,
    n_classes: int | None = None,
    order_is_known: bool = False,
) -> list[int]:
    """Check a model's top-k classes, (n,) or (n, k), and count the labels in its top 1, 2, ..., k.

    The order of columns that the workflow wrote is not checked: that check would fail for datasets
    of images that models get wrong, whose labels they rank low.
    """
    wrong = partial(InputError, file=file)
    if labels.ndim != 1 or not len(labels) or classes.shape[:1] != labels.shape or classes.ndim > 2:
        raise wrong(
            f"classes of shape {classes.shape} for labels of shape {labels.shape}",
            remedy="Give a row per datapoint, in the order of the labels",
        )
    rows = classes[:, None] if classes.ndim == 1 else classes
    largest = (n_classes or MAX_CLASSES) - 1
    for what, values in (("label", labels[:, None]), ("class", rows)):
        bad = (values < 0) | (values > largest)
        if bad.any():
            at, column = np.unravel_index(int(bad.argmax()), bad.shape)
            problem = f"row {at}: {what} {values[at, column]} is not in 0..{largest}"
            raise wrong(problem, remedy=ROWS_FROM_0)
    ordered = np.sort(rows, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if repeated.any():
        row = int(repeated.argmax())
        raise wrong(f"row {row} holds a class twice: {rows[row].tolist()}", remedy=ROWS_FROM_0)
    by_column = (rows == labels[:, None]).sum(axis=0)
    first, last = int(by_column[0]), int(by_column[-1])
    if not order_is_known and last - first > 4 * np.sqrt(first + last):  # beyond chance
        raise wrong(
            f"its columns match {', '.join(map(str, by_column))} labels, as if the least probable "
            "class came first",
            remedy="If so, list the model under the dataset's 'reversed'",
        )
    return [int(n) for n in np.cumsum(by_column)]


def read_integers(path: Path) -> Integers:
    """Read an array of classes or labels from a JSON or `.npy` file; refuse all but integers."""
    with readable(path, f"readable as {path.suffix}", *UNREADABLE), path.open("rb") as file:
        if path.suffix.lower() == ".json":
            return _check_integers(np.asarray(json.load(file)), path)
        return _check_integers(np.lib.format.read_array(file, allow_pickle=False), path)


def _read_class_archive(
    path: Path, options: Mapping[str, Any]
) -> tuple[list[str], Integers, Integers]:
    """Read model names, classes (a row per model) and labels from an `.npz` archive."""
    wanted = [options.get(key, key) for key in ("models", "predictions", "labels")]
    arrays = read_arrays(path, wanted)
    if missing := [name for name in wanted if name not in arrays]:
        there = ", ".join(array_names(path))
        raise InputError(f"no array {' and '.join(missing)}; there are {there}", file=path)
    names = [str(name) for name in arrays[wanted[0]].ravel()]
    classes, labels = (_check_integers(arrays[name], path) for name in wanted[1:])
    if classes.shape[:2] == (len(labels), len(names)) and len(labels) != len(names):
        classes = np.swapaxes(classes, 0, 1)
    if classes.ndim not in (2, 3) or classes.shape[:2] != (len(names), len(labels)):
        problem = f"has shape {classes.shape}, with {len(names)} models and {len(labels)} labels"
        raise InputError(problem, file=path, field=wanted[1])
    return names, classes, labels


def _find_model_positions(names: list[str], wanted: Sequence[str], file: object) -> list[int]:
    """Find the positions of models in a list of names; refuse missing or repeated names."""
    if missing := [model for model in wanted if model not in names]:
        raise InputError(f"no model {', '.join(missing)}", file=file, field="models")
    if twice := [model for model in wanted if names.count(model) > 1]:
        raise InputError(f"model {', '.join(twice)} occurs twice", file=file, field="models")
    return [names.index(model) for model in wanted]


def _check_integers(values: npt.NDArray[Any], path: Path) -> Integers:
    if values.dtype.kind not in "iu":
        remedy = "Give classes as whole numbers"
        raise InputError(f"values of type {values.dtype}", file=path, remedy=remedy)
    return values


# --- published accuracies

_SINGLE_PRECISION = Decimal("1e-7")  # rounding of fractions that were computed in float32


def _read_accuracies(spec: DatasetSpec, models: Sequence[str]) -> Iterator[Accuracy]:
    """Read the published accuracies of models, top-1 and top-5, from a CSV file."""
    path, columns = Path(spec.options["file"]), spec.options["columns"]
    key = [columns["model"]] if isinstance(columns["model"], str) else list(columns["model"])
    values = {int(name[3:]): columns[name] for name in ("top1", "top5") if name in columns}
    rows = read_csv_rows(path, [*key, *values.values()])
    names = [spec.alias(model) for model in models]
    at = _find_model_positions(["-".join(row[part] for part in key) for row in rows], names, path)
    numbers = {top: [_parse_decimal(row[column]) for row in rows] for top, column in values.items()}
    last_digits = {top: last_digit_exponent(of_column) for top, of_column in numbers.items()}
    for model, name, position in zip(models, names, at, strict=True):
        for top, column in values.items():
            place = {"file": f"{path}, model '{name}'", "field": column}
            counts = find_counts(numbers[top][position], last_digits[top], spec.options, place)
            yield Accuracy(model, top, *counts)


def _parse_decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return Decimal("nan")


def last_digit_exponent(numbers: Iterable[Decimal]) -> int:
    """Return the exponent of the last decimal place of a column: -2 if its longest cell is 0.97."""
    exponents = [int(n.as_tuple().exponent) for n in numbers if n.is_finite()]
    return min(exponents, default=0)


def find_counts(
    number: Decimal, exponent: int, options: Mapping[str, Any], place: Mapping[str, str]
) -> tuple[float, int, int]:
    """Return a published accuracy as a fraction, the number correct, and n: -1 and 0 if unknown."""
    unit, n = options.get("unit", "percent"), int(options.get("n", 0))
    whole = {"percent": 100, "fraction": 1, "correct": n}[unit]
    if not number.is_finite() or not 0 <= number <= whole:
        raise InputError(f"'{number}' is not in 0..{whole}", **place)
    if not n:
        return float(number / whole), -1, 0
    exact = number * n / whole
    rounding = Decimal(0)
    if unit != "correct":
        # Half a unit of the last digit, in datapoints; plus the rounding error of single precision.
        rounding = Decimal(1).scaleb(exponent) / 2 * n / whole + _SINGLE_PRECISION * n
    least, most = math.ceil(exact - rounding), math.floor(exact + rounding)
    if least > most:
        problem = f"{number} is not an accuracy on {n} datapoints"
        raise InputError(problem, **place, remedy="Check 'n' and 'unit'")
    if least < most:
        remedy = "Give more digits, or omit 'n', in which case there are no intervals"
        problem = f"{number} could be {least} to {most} of {n} datapoints"
        raise InputError(problem, **place, remedy=remedy)
    return least / n, least, n
