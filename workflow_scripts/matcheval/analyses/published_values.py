"""Comparison of a study's results with the values printed in a paper: table and page.

A row of a CSV file says where a value is printed, and where it is in the study's tables.
"""

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.errors import InputError, check_known, suggest
from matcheval.io.tables import Column, TableSchema, read_parquet, text
from matcheval.io.text_tables import TextColumn, markdown
from matcheval.io.user_files import read_csv_rows
from matcheval.settings import Settings
from matcheval.study.analysis import Analysis
from matcheval.study.study import Study

COLUMNS = (
    "study", "source", "name", "quantity", "published", "table", "rows", "column", "statistic",
    "remark",
)  # fmt: skip
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_PUBLISHED = re.compile(rf"({_NUMBER})(?: \[({_NUMBER}), ({_NUMBER})\])?")


# How the selected rows of a column are reduced to one number, but for the value of a single row.
STATISTICS = ("count", "min", "mean", "max", "sum")


@dataclass(frozen=True)
class PublishedValue:
    """A value printed in a paper, and which cell of the study's tables it is compared with."""

    source: str
    name: str
    quantity: str
    published: tuple[Decimal, ...]
    table: str
    rows: tuple[tuple[str, str], ...]
    column: str
    statistic: str
    remark: str
    place: str


def read_published(path: str | Path, study: str) -> list[PublishedValue]:
    """Read from a CSV file the values published for a study, each quantity once."""
    rows = enumerate(read_csv_rows(path, COLUMNS), start=2)
    values = [_parse(row, f"{path}, line {line}") for line, row in rows if row["study"] == study]
    if not values:
        raise InputError(f"no values of study '{study}'", file=path, field="study")
    places: dict[tuple[str, str, str], str] = {}
    for value in values:
        first = places.setdefault((value.source, value.name, value.quantity), value.place)
        if first != value.place:
            problem = f"{value.source}, {value.name} already has this quantity: {first}"
            remedy = "Remove one of them, or give them different names"
            raise InputError(problem, file=value.place, field="quantity", remedy=remedy)
    return values


def compared_tables(values: Sequence[PublishedValue]) -> list[str]:
    """List the tables that printed values are compared with, each once."""
    return list(dict.fromkeys(value.table for value in values if value.table))


def _parse(row: dict[str, str], place: str) -> PublishedValue:
    """Check and convert a row of the CSV file; `place` names the line in errors."""
    wrong = partial(InputError, file=place)
    if None in row:  # the key of csv.DictReader for cells without a column
        raise wrong("has more cells than the header", remedy='Put text with commas into "quotes"')
    published = _PUBLISHED.fullmatch(row["published"].strip())
    if not published:
        problem = f"'{row['published']}' is neither a number nor a number with an interval"
        remedy = "Write it like '1.69' or '1.69 [1.63, 1.76]'"
        raise wrong(problem, field="published", remedy=remedy)
    if row["statistic"]:
        check_known("statistic", [row["statistic"]], STATISTICS, file=place, field="statistic")
    if not row["table"] and not row["remark"]:
        remedy = "Say why the study cannot compute the value"
        raise wrong("missing, although no table is given", field="remark", remedy=remedy)
    if row["table"] and not row["column"] and row["statistic"] != "count":
        remedy = "Name the column; only 'count' needs none"
        raise wrong(f"missing: which column of '{row['table']}'?", field="column", remedy=remedy)
    conditions = []
    for part in filter(str.strip, row["rows"].split(";")):
        column, _, value = map(str.strip, part.partition("="))
        if not (column and value):
            problem = f"'{part.strip()}' does not have the form column=value"
            raise wrong(problem, field="rows", remedy="Write conditions like 'model=a;top=1'")
        conditions.append((column, value))
    texts = ("source", "name", "quantity", "table", "column", "statistic", "remark")
    return PublishedValue(
        **{name: row[name] for name in texts}, rows=tuple(conditions), place=place,
        published=tuple(Decimal(text) for text in published.groups() if text),
    )  # fmt: skip


def look_up(table: pa.Table, value: PublishedValue, column: str) -> float:
    """Return the number in a table to compare a published value with; fractions in percent."""
    frame = table.to_pandas()

    def existing_column(name: str, field: str) -> pd.Series:
        if name not in frame:
            columns = ", ".join(frame.columns)
            problem = f"no column '{name}' in '{value.table}'; its columns are {columns}"
            raise InputError(problem, file=value.place, field=field)
        return frame[name]

    is_selected = np.ones(len(frame), bool)
    for name, wanted in value.rows:
        texts, alternatives = existing_column(name, "rows").astype(str), wanted.split("|")
        for absent in [name for name in alternatives if name not in set(texts)]:
            problem = f"'{absent}' does not occur in column '{name}' of '{value.table}'"
            remedy = suggest(absent, texts.unique().tolist())
            raise InputError(problem, file=value.place, field="rows", remedy=remedy)
        is_selected &= texts.isin(alternatives).to_numpy()
    if value.statistic == "count":
        return float(is_selected.sum())
    cells = existing_column(column, "column")[is_selected]
    if not pd.api.types.is_numeric_dtype(cells):
        raise InputError(f"'{column}' holds no numbers", file=value.place, field="column")
    if (not value.statistic and len(cells) != 1) or cells.empty:
        problem = f"{len(cells)} rows of '{value.table}' for '{value.name}', {value.quantity}"
        remedy = "Select one row, or give a 'statistic' of several rows"
        raise InputError(problem, file=value.place, field="rows", remedy=remedy)
    reduced = cells.agg(value.statistic) if value.statistic else cells.iloc[0]
    unit = (table.schema.field(column).metadata or {}).get(b"unit", b"")
    number = float(reduced) * (100 if unit == b"fraction" else 1)
    return number if math.isfinite(number) else math.nan


_AGREES = "whether rounding to the printed digits gives the printed number"


def _number_column(name: str, meaning: str) -> Column:
    return Column(name, pa.float64(), "as printed", meaning)


COMPARED = TableSchema(
    "comparison with published values",
    text("source", "where the number is printed: table or section"),
    text("name", "what the number is about: row of the comparison"),
    text("quantity", "what the number is: column of the comparison"),
    text("part", "value, or a bound of its interval: low or high"),
    _number_column("published", "the printed number"),
    Column("digits", pa.int16(), "1", "digits printed after the decimal point"),
    _number_column("computed", "the number computed by this study; NaN if there is none"),
    _number_column("difference", "computed minus published"),
    Column("agrees", pa.bool_(), "", _AGREES),
    text("table", "table of the study with the computed number"),
    text("column", "column of that table"),
    text("remark", "why the computed number differs or is missing"),
    shown={
        "Source": "{source}", "Of": "{name}", "Quantity": "{quantity}", "": "{part}",
        "Paper": "{published:.{digits}f}", "Computed": "{computed:.{digits}f}",
    },
)  # fmt: skip

_PARTS = ("value", "low", "high")
_ROUNDING = Decimal("1e-9")  # numbers this close to halfway are rounded both ways


def compare_published(values: Sequence[PublishedValue], folder: Path) -> pd.DataFrame:
    """Tabulate published values beside the study's numbers, and whether they agree."""
    tables: dict[str, pa.Table] = {}
    rows = []
    for value in values:
        if value.table and value.table not in tables:
            tables[value.table] = read_parquet(folder / f"{value.table}.parquet")
        for part, printed in zip(_PARTS, value.published, strict=False):
            column = value.column if part == "value" else f"{value.column}_{part}"
            computed = look_up(tables[value.table], value, column) if value.table else math.nan
            digits = max(0, -int(printed.as_tuple().exponent))
            agrees = not math.isnan(computed) and printed in _roundings(computed, digits, part)
            rows.append(
                (value.source, value.name, value.quantity, part, float(printed), digits, computed,
                 computed - float(printed), agrees, value.table, column, value.remark)
            )  # fmt: skip
    return pd.DataFrame(rows, columns=COMPARED.names)


def write_comparison(
    *, study: str, published: Path, folder: Path, outputs: Sequence[Path]
) -> None:  # fmt: skip
    """Compare published values with computed ones, and write the table in all formats."""
    compared = compare_published(read_published(published, study), folder)
    COMPARED.write(compared, outputs, page=format_page(compared, study))
    n_agree, n_computed = compared["agrees"].sum(), compared["computed"].count()
    logging.info("%d of %d printed numbers agree", n_agree, n_computed)


def format_page(compared: pd.DataFrame, study: str) -> str:
    """Format the comparison as a Markdown page, with a table per source and remarks below it."""
    n_agree, n_computed = compared["agrees"].sum(), compared["computed"].count()
    lines = [
        f"<!-- Written by the workflow (rule compare_published), study {study}. -->\n",
        f"Of {n_computed} printed numbers that have a counterpart in the released data, "
        f"{n_agree} agree to every printed digit; the others are bold. "
        "Bounds of intervals also agree if they do when rounded outward; computed numbers are "
        "shown rounded to the nearest.\n",
    ]
    for source, rows in compared.groupby("source", sort=False):
        lines += [f"**{source}**\n", markdown(_text_columns(rows)), *_list_remarks(rows)]
    return "\n".join(lines)


def _roundings(computed: float, digits: int, part: str) -> set[Decimal]:
    """Return a computed number rounded to the nearest and, if it is a bound, also outward."""
    outward = {"value": ROUND_HALF_EVEN, "low": ROUND_FLOOR, "high": ROUND_CEILING}[part]
    rounded = Decimal(computed).quantize(Decimal(1).scaleb(-digits), outward)
    return {*_round_to_nearest(computed, digits), rounded}


def _round_to_nearest(computed: float, digits: int) -> list[Decimal]:
    """Round a number to the nearest; two results that differ if it is halfway between them."""
    unit, exact = Decimal(1).scaleb(-digits), Decimal(computed)
    return [(exact + shift).quantize(unit, ROUND_HALF_EVEN) for shift in (-_ROUNDING, _ROUNDING)]


def _text_columns(rows: pd.DataFrame) -> list[TextColumn]:
    """Lay out a column per quantity, and for each name a row of printed and of computed numbers."""
    names, groups = rows["name"].unique(), rows.groupby(["name", "quantity"])
    cells = {
        key: (
            _format_value(list(map(_format_number, group["published"], group["digits"]))),
            _format_computed(group),
        )
        for key, group in groups
    }
    columns = [
        TextColumn("", [text for name in names for text in (name, "")], is_number=False),
        TextColumn("", ["paper", "computed"] * len(names), is_number=False),
    ]
    for quantity in rows["quantity"].unique():
        texts = [cells.get((name, quantity), ("", "")) for name in names]
        columns.append(TextColumn(quantity, list(chain.from_iterable(texts))))
    return columns


def _format_computed(group: pd.DataFrame) -> str:
    """Format a computed value like the printed one; if it differs, bold, with one more digit."""
    computed, digits = group["computed"], group["digits"]
    if computed.isna().any():
        return "–"
    if group["agrees"].all():
        return _format_value(list(map(_format_rounded, group["published"], computed, digits)))
    extra = int((computed != computed.round()).any())
    return f"**{_format_value(list(map(_format_number, computed, digits + extra)))}**"


def _format_rounded(printed: float, computed: float, digits: int) -> str:
    """Round a computed number to the printed digits; if halfway, to the printed number."""
    nearest = [float(number) for number in _round_to_nearest(computed, digits)]
    return _format_number(printed if printed in nearest else nearest[0], digits)


def _format_value(texts: Sequence[str]) -> str:
    """Format a value, given alone or with the bounds of its interval, as `a` or `a [b, c]`."""
    return texts[0] if len(texts) == 1 else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def _format_number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def _list_remarks(rows: pd.DataFrame) -> list[str]:
    """Return a list item for each different remark, with the names that it applies to."""
    lines = []
    for remark, group in rows[rows["remark"] != ""].groupby("remark", sort=False):
        names = group["name"].unique()
        is_of_all = len(names) == rows["name"].nunique()
        lines.append(f"- {remark}" if is_of_all else f"- {', '.join(names)}: {remark}")
    return [*lines, ""] if lines else []


class PublishedValuesSettings(Settings):
    """The published values that results are compared with."""

    file: str = Field("", description="CSV file of the published values; empty for none")


class PublishedValues(Analysis):
    """Compare every published value with its counterpart in a table of the study."""

    name: ClassVar[str] = "published_values"
    Settings: ClassVar[type[PublishedValuesSettings]] = PublishedValuesSettings
    settings: PublishedValuesSettings

    def __init__(self, settings: PublishedValuesSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.result = self.table(
            "comparison",
            "Values printed in a paper, beside those of this study. Numbers that differ after "
            "rounding to the printed digits are bold; remarks give the reason.",
            {"table": self.name},
        )

    @cached_property
    def values(self) -> list[PublishedValue]:
        """The values published for this study; none if the settings name no file."""
        return read_published(self.settings.file, self.study.name) if self.settings.file else []

    def check(self) -> None:
        """Check that the study makes every table that a printed value is compared with."""
        written = self._written_tables if self.values else []
        for value in self.values:
            if value.table and value.table not in written:
                problem = f"the study does not write a table '{value.table}'"
                remedy = suggest(value.table, written)
                raise InputError(problem, file=value.place, field="table", remedy=remedy)

    @property
    def targets(self) -> list[str]:
        """Files of the comparison; none if the settings name no file of published values."""
        return self.result.expand() if self.settings.file else []

    @property
    def tables(self) -> list[str]:
        """Files of the tables that published values are compared with."""
        return [f"{self.study.folder}/{table}.parquet" for table in compared_tables(self.values)]

    @property
    def _written_tables(self) -> list[str]:
        """Tables that the study writes, as paths below its folder without `.parquet`."""
        files = list(map(self.study.accuracies_file, self.study.paired))
        for analysis in self.study.analyses.values():
            files += analysis.targets if analysis is not self else []
        folder, end = f"{self.study.folder}/", ".parquet"
        tables = [file for file in files if file.startswith(folder) and file.endswith(end)]
        return [file.removeprefix(folder).removesuffix(end) for file in tables]
