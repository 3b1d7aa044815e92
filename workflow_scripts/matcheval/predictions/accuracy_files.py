"""Reading published accuracies from a CSV file with a row per model.

Where the number of datapoints is known, an accuracy is converted back to the number of correct
datapoints, which its digits must determine uniquely; otherwise it is rejected. Without the number
of datapoints there are no confidence intervals.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.label_files import models_at

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
    # Trailing zeros may have been dropped, so the column as a whole shows the number of digits.
    digits = {top: min(map(_exponent, numbers[top]), default=0) for top in values}
    for model, position in zip(models, at, strict=True):
        for top, column in values.items():
            place = {"file": f"{path}, model '{model}'", "field": column}
            accuracy, correct, n = counts_of(numbers[top][position], digits[top], options, place)
            yield Accuracy(model, top, accuracy, correct, n)


def _number(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return Decimal("nan")


def _exponent(number: Decimal) -> int:
    return int(number.as_tuple().exponent) if number.is_finite() else 0


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
    # Half a unit of the last digit, in datapoints; plus the rounding error of single precision.
    rounding = Decimal(1).scaleb(exponent) / 2 * n / whole if unit != "correct" else Decimal(0)
    rounding += _SINGLE_PRECISION * n
    least, most = math.ceil(exact - rounding), math.floor(exact + rounding)
    if least > most:
        raise InputError(
            f"{number} is not an accuracy on {n} datapoints", **place, remedy="Check 'n' and 'unit'"
        )
    if least < most:
        raise InputError(
            f"{number} could be {least} to {most} of {n} datapoints",
            **place,
            remedy="Give more digits, or omit 'n', in which case there are no intervals",
        )
    return least / n, least, n
