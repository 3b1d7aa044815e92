"""Reading published accuracies: a CSV file, a row per model.

Counts are kept whole: an accuracy is taken back to a number of correct datapoints where its digits
leave no choice, and refused where they do. Without the number of datapoints there is no interval.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows
from matcheval.predictions.label_files import models_at

UNITS = ("percent", "fraction", "correct")
_SINGLE_PRECISION = Decimal("1e-7")  # of a fraction: accuracies that were computed as float32


@dataclass(frozen=True)
class Accuracy:
    """A published accuracy; without the number of datapoints, n is 0 and n_correct -1."""

    model: str
    top: int
    accuracy: float
    n_correct: int = -1
    n: int = 0


def read_accuracies(
    path: Path, options: Mapping[str, Any], models: Sequence[str]
) -> Iterator[Accuracy]:
    """Read the accuracies of some models.

    Parameters
    ----------
    path : Path
        CSV with a header.
    options : mapping
        `columns`: the names of the columns `model` (or several, whose cells are joined by `-`),
        `top1` and perhaps `top5`; `unit`, one of `UNITS`, by default percent; `n`, the number of
        datapoints.
    models : sequence of str
        The models wanted, in order.

    Yields
    ------
    Accuracy
        By model, top-1 first.

    Raises
    ------
    InputError
        Naming file, column, model and value: a missing column or model, a model that is there
        twice, an empty cell or one that is no accuracy of `n` datapoints.
    """
    columns = options["columns"]
    key = [columns["model"]] if isinstance(columns["model"], str) else list(columns["model"])
    values = {int(name[3:]): columns[name] for name in ("top1", "top5") if name in columns}
    rows = read_csv_rows(path, [*key, *values.values()])
    at = models_at(["-".join(row[part] for part in key) for row in rows], models, path)
    numbers = {top: [_number(row[column]) for row in rows] for top, column in values.items()}
    # Writers drop final zeros: the column as a whole says how many digits there were.
    digits = {top: min(map(_exponent, numbers[top]), default=0) for top in values}
    for model, position in zip(models, at, strict=True):
        for top, column in values.items():
            place = {"file": f"{path}, model '{model}'", "field": column}
            accuracy, correct, n = _counts(numbers[top][position], digits[top], options, place)
            yield Accuracy(model, top, accuracy, correct, n)


def _number(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return Decimal("nan")


def _exponent(number: Decimal) -> int:
    return int(number.as_tuple().exponent) if number.is_finite() else 0


def _counts(
    number: Decimal, exponent: int, options: Mapping[str, Any], place: Mapping[str, str]
) -> tuple[float, int, int]:
    """Accuracy, number correct and number of datapoints of a cell."""
    unit, n = options.get("unit", "percent"), int(options.get("n", 0))
    whole = {"percent": 100, "fraction": 1, "correct": n}[unit]
    if not number.is_finite() or not 0 <= number <= whole:
        raise InputError(f"'{number}' is not in 0..{whole}", **place)
    if not n:
        return float(number / whole), -1, 0
    exact = number * n / whole
    # Half a unit of the last digit, in datapoints; rounding itself done in single precision.
    rounding = Decimal(1).scaleb(exponent) / 2 * n / whole if unit != "correct" else Decimal(0)
    rounding += _SINGLE_PRECISION * n
    least, most = math.ceil(exact - rounding), math.floor(exact + rounding)
    if least > most:
        raise InputError(
            f"{number} is no accuracy of {n} datapoints", **place, remedy="Check 'n' and 'unit'"
        )
    if least < most:
        raise InputError(
            f"{number} could be {least} to {most} of {n} datapoints",
            **place,
            remedy="Give more digits, or leave out 'n': there are then no intervals",
        )
    return least / n, least, n
