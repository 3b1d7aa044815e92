"""Values that a paper prints, to set a study's results beside: a CSV file. Light to import.

A row says where the value is printed, and where in the study's tables its like is found, so that
a further value to compare is a further row and no code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows

COLUMNS = (
    "study", "source", "name", "quantity", "published", "table", "rows", "column", "statistic",
    "remark",
)  # fmt: skip
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_PUBLISHED = re.compile(rf"({_NUMBER})(?: \[({_NUMBER}), ({_NUMBER})\])?")


class Statistic(StrEnum):
    """What is taken of a column of the rows chosen."""

    VALUE = ""  # of a single row
    COUNT = "count"
    MIN = "min"
    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True)
class PublishedValue:
    """A printed value and where the study has it.

    Attributes
    ----------
    source : str
        Where it is printed: table or section.
    name, quantity : str
        Of what, and what, as the page says it.
    published : tuple of Decimal
        The value, or value, lower and upper bound; their digits are those printed.
    table : str
        Path of a Parquet table below the study's folder, without suffix; empty if the study
        cannot have the value, and the remark says why.
    rows : tuple of (str, str)
        Columns and values that choose rows of it.
    column : str
        Column; its bounds are those with `_low` and `_high`.
    statistic : Statistic
    remark : str
        Why the value differs, if it does.
    place : str
        File and line that say all this, for messages.
    """

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
    """Read the values published for a study; the file may have those of others.

    Raises
    ------
    InputError
        If the file is missing or a row is not as said; if there are none for the study, or a
        value twice.
    """
    rows = enumerate(read_csv_rows(path, COLUMNS), start=2)
    values = [_value(row, f"{path}, line {line}") for line, row in rows if row["study"] == study]
    if not values:
        raise InputError(f"no values of study '{study}'", file=path, field="study")
    _check_once(values)
    return values


def tables_of(values: Sequence[PublishedValue]) -> list[str]:
    """The tables that values are looked up in, each once."""
    return list(dict.fromkeys(value.table for value in values if value.table))


def _check_once(values: Sequence[PublishedValue]) -> None:
    """Every value has one cell of the page."""
    places: dict[tuple[str, str, str], str] = {}
    for value in values:
        key = (value.source, value.name, value.quantity)
        if key in places:
            raise InputError(
                f"{value.source}, {value.name} has this quantity already: {places[key]}",
                file=value.place,
                field="quantity",
                remedy="Leave one of them out, or name them apart",
            )
        places[key] = value.place


def _value(row: dict[str, str], place: str) -> PublishedValue:
    if None in row:  # where csv.DictReader keeps what no column has
        raise InputError(
            "has more cells than the header",
            file=place,
            remedy='Put text with commas into "quotes"',
        )
    found = _PUBLISHED.fullmatch(row["published"].strip())
    if not found:
        raise InputError(
            f"'{row['published']}' is neither a number nor one with an interval",
            file=place,
            field="published",
            remedy="As in '1.69 [1.63, 1.76]'",
        )
    if row["statistic"] not in [known.value for known in Statistic]:
        raise InputError(
            f"unknown statistic '{row['statistic']}'",
            file=place,
            field="statistic",
            remedy=f"Known: {', '.join(known.value for known in Statistic if known.value)}",
        )
    if not row["table"] and not row["remark"]:
        raise InputError("say why there is no such table", file=place, field="remark")
    statistic = Statistic(row["statistic"])
    if row["table"] and not row["column"] and statistic is not Statistic.COUNT:
        raise InputError(
            f"of which column of '{row['table']}'?",
            file=place,
            field="column",
            remedy="Name it; only a count needs none",
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
                f"'{part.strip()}' is no column with its value",
                file=place,
                field="rows",
                remedy="As in 'model=a;top=1'",
            )
        found.append((column, value))
    return tuple(found)
