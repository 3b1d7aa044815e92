"""Values printed in a paper, read from a CSV file.

A row says where a value is printed and where the study's tables have its counterpart, so that
comparing a further value takes a further row and no code. Imports no pandas, so that configurations
load quickly.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows

COLUMNS = (
    "study", "source", "name", "quantity", "published", "table", "rows", "column", "statistic",
    "remark",
)  # fmt: skip
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_PUBLISHED = re.compile(rf"({_NUMBER})(?: \[({_NUMBER}), ({_NUMBER})\])?")


class Statistic(StrEnum):
    """How the selected rows of a column are reduced to one number."""

    VALUE = ""  # the value of a single row
    COUNT = "count"
    MIN = "min"
    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True)
class PublishedValue:
    """A printed value, and where the study's tables have its counterpart."""

    source: str
    name: str
    quantity: str
    published: tuple[Decimal, ...]
    table: str
    rows: tuple[tuple[str, str], ...]
    column: str
    statistic: Statistic
    remark: str
    place: str


def read_published(path: str | Path, study: str) -> list[PublishedValue]:
    """Read the values published for a study."""
    rows = enumerate(read_csv_rows(path, COLUMNS), start=2)
    values = [_value(row, f"{path}, line {line}") for line, row in rows if row["study"] == study]
    if not values:
        raise InputError(f"no values of study '{study}'", file=path, field="study")
    _check_once(values)
    return values


def tables_of(values: Sequence[PublishedValue]) -> list[str]:
    """List the tables that values are looked up in, each once."""
    return list(dict.fromkeys(value.table for value in values if value.table))


def _check_once(values: Sequence[PublishedValue]) -> None:
    """Check that no two values share a cell of the comparison."""
    places: dict[tuple[str, str, str], str] = {}
    for value in values:
        key = (value.source, value.name, value.quantity)
        if key in places:
            raise InputError(
                f"{value.source}, {value.name} already has this quantity: {places[key]}",
                file=value.place,
                field="quantity",
                remedy="Remove one of them, or give them different names",
            )
        places[key] = value.place


def _value(row: dict[str, str], place: str) -> PublishedValue:
    if None in row:  # the key of csv.DictReader for cells without a column
        raise InputError(
            "has more cells than the header",
            file=place,
            remedy='Put text with commas into "quotes"',
        )
    found = _PUBLISHED.fullmatch(row["published"].strip())
    if not found:
        raise InputError(
            f"'{row['published']}' is neither a number nor a number with an interval",
            file=place,
            field="published",
            remedy="Write it like '1.69' or '1.69 [1.63, 1.76]'",
        )
    if row["statistic"] not in [known.value for known in Statistic]:
        raise InputError(
            f"unknown statistic '{row['statistic']}'",
            file=place,
            field="statistic",
            remedy=f"Known: {', '.join(known.value for known in Statistic if known.value)}",
        )
    if not row["table"] and not row["remark"]:
        raise InputError(
            "missing, although no table is given",
            file=place,
            field="remark",
            remedy="Say why the study cannot compute the value",
        )
    statistic = Statistic(row["statistic"])
    if row["table"] and not row["column"] and statistic is not Statistic.COUNT:
        raise InputError(
            f"missing: which column of '{row['table']}'?",
            file=place,
            field="column",
            remedy="Name the column; only 'count' needs none",
        )
    return PublishedValue(
        source=row["source"],
        name=row["name"],
        quantity=row["quantity"],
        published=tuple(Decimal(text) for text in found.groups() if text),
        table=row["table"],
        rows=_conditions(row["rows"], place),
        column=row["column"],
        statistic=statistic,
        remark=row["remark"],
        place=place,
    )


def _conditions(text: str, place: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in filter(str.strip, text.split(";")):
        column, equals, value = map(str.strip, part.partition("="))
        if not (column and equals and value):
            raise InputError(
                f"'{part.strip()}' does not have the form column=value",
                file=place,
                field="rows",
                remedy="Write conditions like 'model=a;top=1'",
            )
        found.append((column, value))
    return tuple(found)
