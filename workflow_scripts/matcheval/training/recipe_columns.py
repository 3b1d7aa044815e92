"""Values of a recipe's columns: reading them from JSON and CSV, and their ranges."""

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field
from typing import Any

from matcheval.errors import InputError

Options = Mapping[str, Any]

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def is_optional(field: "Field[Any]") -> bool:
    """Tell whether a column may be missing or empty."""
    return default_of(field) is not MISSING


def default_of(field: "Field[Any]") -> Any:
    """Return the default of a column; `dataclasses.MISSING` if it has none."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def parse(value: Any, kind: Any, field: str, name: str | None) -> Any:
    """Convert a JSON value or a CSV string to a field's type, never changing its value."""
    text = str(value).strip() if value is not None else ""
    try:
        if kind == Options:
            options = json.loads(value) if isinstance(value, str) else value
            if not isinstance(options, Mapping):
                raise ValueError("not a mapping")
            return dict(options)
        if kind is bool:
            return _BOOLEANS[text.lower()]
        if isinstance(value, bool):
            raise ValueError("a boolean")
        if kind is str:
            if not isinstance(value, str):
                raise ValueError("not text")
            return text
        if kind == float | None and not text:
            return None
        if kind is int:
            # Spreadsheets write 3 as 3.0. Conversion through float would round long seeds.
            return int(text.removesuffix(".0"))
        return float(text)
    except (ValueError, OverflowError, KeyError) as error:
        words = {str: "text", int: "a whole number", bool: "true or false"}
        wanted = (words | {Options: 'a JSON object, as {"betas": [0.9, 0.99]}'}).get(kind)
        raise InputError(
            f"cannot read '{text}'", file=name, field=field, remedy=f"Give {wanted or 'a number'}"
        ) from error


def check_range(
    value: float,
    field: str,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> None:
    """Check that a number is in its range."""
    above = low < value if open_low else low <= value
    below = value < high if open_high else value <= high
    if not (above and below) or not math.isfinite(value):
        least = "more than" if open_low else "at least"
        most = "less than" if open_high else "at most"
        end = f" and {most} {high:g}" if math.isfinite(high) else ""
        raise InputError(f"is {value}", field=field, remedy=f"Give {least} {low:g}{end}")
