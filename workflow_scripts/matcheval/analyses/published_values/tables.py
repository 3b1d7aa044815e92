"""Results beside the values that a paper prints."""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.analyses.published_values.values import PublishedValue, Statistic
from matcheval.errors import InputError, suggest
from matcheval.io.files import atomic_file
from matcheval.io.tables import Column, TableSchema, read_parquet
from matcheval.io.text_tables import TextColumn, markdown, write_readable

COMPARED = TableSchema(
    "published values beside computed ones",
    (
        Column("source", pa.string(), "", "where it is printed"),
        Column("name", pa.string(), "", "of what"),
        Column("quantity", pa.string(), "", "what"),
        Column("part", pa.string(), "", "value, or low or high: a bound of its interval"),
        Column("published", pa.float64(), "as printed", "the number printed"),
        Column("digits", pa.int16(), "1", "digits printed after the point"),
        Column("computed", pa.float64(), "as printed", "by this study; NaN if it cannot be"),
        Column("difference", pa.float64(), "as printed", "computed minus published"),
        Column("agrees", pa.bool_(), "", "rounded to the digits printed it is the number printed"),
        Column("table", pa.string(), "", "table of the study that has the computed number"),
        Column("column", pa.string(), "", "its column"),
        Column("remark", pa.string(), "", "why it differs or is not there"),
    ),
)

_PARTS = ("value", "low", "high")
_ROUNDING = Decimal("1e-9")  # numbers so near to a half are taken for one


def compare_published(values: Sequence[PublishedValue], folder: Path) -> pd.DataFrame:
    """Look published values up in the study's tables.

    Parameters
    ----------
    values : sequence of PublishedValue
    folder : Path
        The study's folder, with its tables.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.COMPARED`, a row per number, in order. A computed number agrees if
        rounding it to the digits printed gives the number printed; bounds of intervals may
        instead be rounded outward, as some of the paper's are. Fractions are taken in percent.
        What is not finite is not computable: NaN.

    Raises
    ------
    InputError
        If a table lacks a column, nowhere has a value that rows are chosen by, or the rows chosen
        are not one where there should be one.
    """
    tables: dict[str, pa.Table] = {}
    rows = []
    for value in values:
        if value.table and value.table not in tables:
            tables[value.table] = read_parquet(folder / f"{value.table}.parquet")
        for part, printed in zip(_PARTS, value.published, strict=False):
            column = value.column if part == "value" else f"{value.column}_{part}"
            computed = math.nan
            if value.table:
                computed = _look_up(tables[value.table], value, column)
            rows.append(_compared(value, part, column, printed, computed))
    return pd.DataFrame(rows)[COMPARED.names]


def write_comparison(
    values: Sequence[PublishedValue], folder: Path, study: str, paths: Sequence[Path]
) -> pd.DataFrame:
    """Write the comparison for machines and for reading, by the suffixes of `paths`.

    Parameters
    ----------
    values, folder
        As for `compare_published`.
    study : str
        Name of the study.
    paths : sequence of Path
        Files to write; the Markdown file is the page, with remarks.

    Returns
    -------
    pandas.DataFrame
        Columns of `COMPARED`.

    Raises
    ------
    InputError
        As `compare_published`.
    """
    compared = compare_published(values, folder)
    pages = [path for path in paths if path.suffix == ".md"]
    tables = [path for path in paths if path not in pages]
    write_readable(compared, COMPARED, compared_columns, tables)
    for path in pages:
        with atomic_file(path) as partial:
            partial.write_text(page(compared, study), encoding="utf-8")
    return compared


def page(compared: pd.DataFrame, study: str) -> str:
    """Write the comparison as Markdown: a table per source, paper and computed line by line.

    What differs is bold, and remarks follow the table.
    """
    known = compared[compared["computed"].notna()]
    lines = [
        f"<!-- Made by the workflow (rule compare_published), study {study}. -->\n",
        f"Of {len(known)} printed numbers that have a counterpart in the released data, "
        f"{int(known['agrees'].sum())} come out to every digit printed; the others are bold. "
        "Bounds of intervals come out too if they do so rounded outward; what was computed is "
        "shown rounded to the nearest.\n",
    ]
    for source, of_source in compared.groupby("source", sort=False):
        lines += [f"**{source}**\n", markdown(_columns(of_source))]
        lines += _remarks(of_source)
    return "\n".join(lines)


def compared_columns(compared: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.COMPARED` for a LaTeX table."""
    heads = (("Source", "source"), ("Of", "name"), ("Quantity", "quantity"), ("", "part"))
    return [
        *(TextColumn(head, compared[name].tolist(), is_number=False) for head, name in heads),
        *(
            TextColumn(head, list(map(_text, compared[name].tolist(), compared["digits"].tolist())))
            for head, name in (("Paper", "published"), ("Computed", "computed"))
        ),
    ]


def _look_up(table: pa.Table, value: PublishedValue, column: str) -> float:
    """Find the computed number; fractions in percent."""
    whole = table.to_pandas()
    chosen = np.ones(len(whole), bool)
    for name, wanted in value.rows:
        _check_column(name, whole, value, "rows")
        found = (whole[name].astype(str) == wanted).to_numpy()
        if not found.any():
            raise InputError(
                f"'{wanted}' is nowhere in column '{name}' of '{value.table}'",
                file=value.place,
                field="rows",
                remedy=suggest(wanted, whole[name].astype(str).unique().tolist()),
            )
        chosen &= found
    frame = whole[chosen]
    if value.statistic is Statistic.COUNT:
        return float(len(frame))
    _check_column(column, frame, value, "column")
    if not pd.api.types.is_numeric_dtype(frame[column]):
        raise InputError(f"'{column}' holds no numbers", file=value.place, field="column")
    if (value.statistic is Statistic.VALUE and len(frame) != 1) or frame.empty:
        raise InputError(
            f"{len(frame)} rows of '{value.table}' for '{value.name}', {value.quantity}",
            file=value.place,
            field="rows",
            remedy="Choose one, or say with 'statistic' what to take of several",
        )
    take: Callable[[pd.Series], float] = {
        Statistic.VALUE: lambda cells: cells.iloc[0],
        Statistic.MIN: lambda cells: cells.min(),
        Statistic.MEAN: lambda cells: cells.mean(),
        Statistic.MAX: lambda cells: cells.max(),
    }[value.statistic]
    unit = (table.schema.field(column).metadata or {}).get(b"unit", b"")
    number = float(take(frame[column])) * (100 if unit == b"fraction" else 1)
    return number if math.isfinite(number) else math.nan


def _check_column(name: str, frame: pd.DataFrame, value: PublishedValue, field: str) -> None:
    if name not in frame:
        raise InputError(
            f"no column '{name}' in '{value.table}'; there are {', '.join(frame.columns)}",
            file=value.place,
            field=field,
        )


def _compared(
    value: PublishedValue, part: str, column: str, printed: Decimal, computed: float
) -> dict[str, Any]:
    digits = max(0, -int(printed.as_tuple().exponent))
    return {
        "source": value.source,
        "name": value.name,
        "quantity": value.quantity,
        "part": part,
        "published": float(printed),
        "digits": digits,
        "computed": computed,
        "difference": computed - float(printed),
        "agrees": not math.isnan(computed) and printed in _roundings(computed, digits, part),
        "table": value.table,
        "column": column,
        "remark": value.remark,
    }


def _roundings(computed: float, digits: int, part: str) -> set[Decimal]:
    """What the number may be in print."""
    found = set(_nearest(computed, digits))
    outward = {"low": ROUND_FLOOR, "high": ROUND_CEILING}.get(part)
    if outward:
        found.add(Decimal(computed).quantize(Decimal(1).scaleb(-digits), outward))
    return found


def _nearest(computed: float, digits: int) -> list[Decimal]:
    """The number rounded to the nearest, both ways if it is half way."""
    unit, exact = Decimal(1).scaleb(-digits), Decimal(computed)
    return [(exact + shift).quantize(unit, ROUND_HALF_EVEN) for shift in (-_ROUNDING, _ROUNDING)]


def _columns(of_source: pd.DataFrame) -> list[TextColumn]:
    """Two lines per name, what the paper has and what was computed; a column per quantity."""
    names = list(dict.fromkeys(of_source["name"]))
    quantities = list(dict.fromkeys(of_source["quantity"]))
    cells = dict(iter(of_source.groupby(["name", "quantity"], sort=False)))
    columns = [
        TextColumn("", [text for name in names for text in (name, "")], is_number=False),
        TextColumn("", ["paper", "computed"] * len(names), is_number=False),
    ]
    for quantity in quantities:
        texts: list[str] = []
        for name in names:
            group = cells.get((name, quantity))
            texts += ["", ""] if group is None else [_cell(group, False), _cell(group, True)]
        columns.append(TextColumn(quantity, texts))
    return columns


def _cell(group: pd.DataFrame, is_computed: bool) -> str:
    """Print `value` or `value [low, high]`; what differs is bold, with a digit more."""
    numbers = list(group[["published", "computed", "digits"]].itertuples(index=False, name=None))
    if not is_computed:
        return _interval([_text(printed, digits) for printed, _, digits in numbers])
    computed = group["computed"]
    if computed.isna().any():
        return "–"
    if group["agrees"].all():
        return _interval([_rounded(*number) for number in numbers])
    more = int((computed != computed.round()).any())
    return f"**{_interval([_text(number, digits + more) for _, number, digits in numbers])}**"


def _rounded(printed: float, computed: float, digits: int) -> str:
    """The computed number with the digits printed; half way between two, the one printed."""
    nearest = [float(number) for number in _nearest(computed, digits)]
    return _text(printed if printed in nearest else nearest[0], digits)


def _interval(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def _text(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def _remarks(of_source: pd.DataFrame) -> list[str]:
    """Remarks, each once, with the names that it is about."""
    about = of_source[of_source["remark"] != ""]
    lines = []
    for remark, group in about.groupby("remark", sort=False):
        names = list(dict.fromkeys(group["name"]))
        everything = set(names) == set(of_source["name"])
        lines.append(f"- {remark}" if everything else f"- {', '.join(names)}: {remark}")
    return [line for line, _ in groupby(lines)] + ([""] if lines else [])
