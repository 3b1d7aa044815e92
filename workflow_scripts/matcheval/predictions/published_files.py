"""Reading published predictions without probabilities: predicted classes, most probable first.

A model's file is a JSON list or a `.npy` array with one class, or a row of top-k classes, per
datapoint. An archive (`.npz`) holds the classes of all models in one array.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.array_archives import UNREADABLE, array_names, read_arrays
from matcheval.io.files import readable
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.records import MAX_CLASSES, ROWS_FROM_0

Integers = npt.NDArray[np.integer[Any]]


def count_hits(
    classes: Integers,
    labels: Integers,
    *,
    file: object,
    n_classes: int | None = None,
    order_is_known: bool = False,
) -> list[int]:
    """Check one model's predicted classes, and count how often the label is among the top k.

    Parameters
    ----------
    classes : integer array, shape (n,) or (n, k)
        Predicted classes, most probable first.
    labels : integer array, shape (n,)
        True classes.
    file : object
        File that error messages name.
    n_classes : int, optional
        Number of classes; labels and predicted classes must be below it. By default the number
        of classes that int16 can hold.
    order_is_known : bool
        Whether the workflow wrote the columns, so that their order is not checked. The check would
        fail for datasets of images that models get wrong, whose labels models rank low.

    Returns
    -------
    list of int
        Number of datapoints whose label is among the top 1, top 2, ..., top k classes.

    Raises
    ------
    InputError
        If rows and labels differ in number, a class is out of range or occurs twice in a row, or
        the order of the columns seems to be least probable first.
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
    """Read a JSON list or `.npy` array of classes or labels."""
    with readable(path, f"readable as {path.suffix}", *UNREADABLE), path.open("rb") as file:
        if path.suffix.lower() == ".json":
            return _whole(np.asarray(json.load(file)), path)
        return _whole(np.lib.format.read_array(file, allow_pickle=False), path)


def read_archive(path: Path, options: Mapping[str, Any]) -> tuple[list[str], Integers, Integers]:
    """Read the classes of all models from an `.npz` archive."""
    wanted = [options.get(key, key) for key in ("models", "predictions", "labels")]
    found = read_arrays(path, wanted)
    if missing := [name for name in wanted if name not in found]:
        there = ", ".join(array_names(path))
        raise InputError(f"no array {' and '.join(missing)}; there are {there}", file=path)
    names = [str(name) for name in found[wanted[0]].ravel()]
    classes, labels = (_whole(found[name], path) for name in wanted[1:])
    if classes.shape[:2] == (len(labels), len(names)) and len(labels) != len(names):
        classes = np.swapaxes(classes, 0, 1)
    if classes.ndim not in (2, 3) or classes.shape[:2] != (len(names), len(labels)):
        problem = f"has shape {classes.shape}, with {len(names)} models and {len(labels)} labels"
        raise InputError(problem, file=path, field=wanted[1])
    return names, classes, labels


def models_at(names: list[str], wanted: Sequence[str], file: object) -> list[int]:
    """Find the positions of models in a list of names."""
    if missing := [model for model in wanted if model not in names]:
        raise InputError(f"no model {', '.join(missing)}", file=file, field="models")
    if twice := [model for model in wanted if names.count(model) > 1]:
        raise InputError(f"model {', '.join(twice)} occurs twice", file=file, field="models")
    return [names.index(model) for model in wanted]


def _whole(values: npt.NDArray[Any], path: Path) -> Integers:
    if values.dtype.kind not in "iu":
        remedy = "Give classes as whole numbers"
        raise InputError(f"values of type {values.dtype}", file=path, remedy=remedy)
    return values


_SINGLE_PRECISION = Decimal("1e-7")  # rounding of fractions that were computed in float32


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a model on a dataset."""

    model: str
    top: int
    accuracy: float
    n_correct: int
    n: int


def read_accuracies(
    path: Path, options: Mapping[str, Any], models: Sequence[str]
) -> Iterator[Accuracy]:
    """Read the accuracies of some models."""
    columns = options["columns"]
    key = [columns["model"]] if isinstance(columns["model"], str) else list(columns["model"])
    values = {int(name[3:]): columns[name] for name in ("top1", "top5") if name in columns}
    rows = read_csv_rows(path, [*key, *values.values()])
    at = models_at(["-".join(row[part] for part in key) for row in rows], models, path)
    numbers = {top: [_number(row[column]) for row in rows] for top, column in values.items()}
    last_digits = {top: last_digit(of_column) for top, of_column in numbers.items()}
    for model, position in zip(models, at, strict=True):
        for top, column in values.items():
            place = {"file": f"{path}, model '{model}'", "field": column}
            counts = counts_of(numbers[top][position], last_digits[top], options, place)
            yield Accuracy(model, top, *counts)


def _number(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return Decimal("nan")


def last_digit(numbers: Iterable[Decimal]) -> int:
    """Return the exponent of the last digit of a column: trailing zeros may have been dropped."""
    exponents = [int(n.as_tuple().exponent) for n in numbers if n.is_finite()]
    return min(exponents, default=0)


def counts_of(
    number: Decimal, exponent: int, options: Mapping[str, Any], place: Mapping[str, str]
) -> tuple[float, int, int]:
    """Return accuracy, number of correct datapoints and number of datapoints of a cell."""
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
