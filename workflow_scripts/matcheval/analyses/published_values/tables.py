"""Comparison of a study's results with the values printed in a paper: table and page."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.analyses.published_values.lookup import look_up
from matcheval.analyses.published_values.values import PublishedValue
from matcheval.io.files import atomic_file
from matcheval.io.tables import Column, TableSchema, read_parquet
from matcheval.io.text_tables import TextColumn, markdown, write_readable

COMPARED = TableSchema(
    "comparison with published values",
    (
        Column("source", pa.string(), "", "where the number is printed: table or section"),
        Column("name", pa.string(), "", "what the number is about: row of the comparison"),
        Column("quantity", pa.string(), "", "what the number is: column of the comparison"),
        Column("part", pa.string(), "", "value, or a bound of its interval: low or high"),
        Column("published", pa.float64(), "as printed", "the printed number"),
        Column("digits", pa.int16(), "1", "digits printed after the decimal point"),
        Column(
            "computed",
            pa.float64(),
            "as printed",
            "the number computed by this study; NaN if there is none",
        ),
        Column("difference", pa.float64(), "as printed", "computed minus published"),
        Column(
            "agrees",
            pa.bool_(),
            "",
            "whether rounding to the printed digits gives the printed number",
        ),
        Column("table", pa.string(), "", "table of the study with the computed number"),
        Column("column", pa.string(), "", "column of that table"),
        Column("remark", pa.string(), "", "why the computed number differs or is missing"),
    ),
)

_PARTS = ("value", "low", "high")
_ROUNDING = Decimal("1e-9")  # numbers this close to halfway are rounded both ways


def compare_published(values: Sequence[PublishedValue], folder: Path) -> pd.DataFrame:
    """Compare published values with their counterparts in the study's tables."""
    tables: dict[str, pa.Table] = {}
    rows = []
    for value in values:
        if value.table and value.table not in tables:
            tables[value.table] = read_parquet(folder / f"{value.table}.parquet")
        for part, printed in zip(_PARTS, value.published, strict=False):
            column = value.column if part == "value" else f"{value.column}_{part}"
            computed = math.nan
            if value.table:
                computed = look_up(tables[value.table], value, column)
            rows.append(_compared(value, part, column, printed, computed))
    return pd.DataFrame(rows)[COMPARED.names]


def write_comparison(
    values: Sequence[PublishedValue], folder: Path, study: str, paths: Sequence[Path]
) -> pd.DataFrame:
    """Compare published values, and write the comparison as tables and as a page."""
    compared = compare_published(values, folder)
    pages = [path for path in paths if path.suffix == ".md"]
    tables = [path for path in paths if path not in pages]
    write_readable(compared, COMPARED, compared_columns, tables)
    for path in pages:
        with atomic_file(path) as partial:
            partial.write_text(page(compared, study), encoding="utf-8")
    return compared


def page(compared: pd.DataFrame, study: str) -> str:
    """Format the comparison as a Markdown page with a table per source."""
    known = compared[compared["computed"].notna()]
    lines = [
        f"<!-- Written by the workflow (rule compare_published), study {study}. -->\n",
        f"Of {len(known)} printed numbers that have a counterpart in the released data, "
        f"{int(known['agrees'].sum())} agree to every printed digit; the others are bold. "
        "Bounds of intervals also agree if they do when rounded outward; computed numbers are "
        "shown rounded to the nearest.\n",
    ]
    for source, of_source in compared.groupby("source", sort=False):
        lines += [f"**{source}**\n", markdown(_columns(of_source))]
        lines += _remarks(of_source)
    return "\n".join(lines)


def compared_columns(compared: pd.DataFrame) -> list[TextColumn]:
    """Format the comparison for a LaTeX table."""
    heads = (("Source", "source"), ("Of", "name"), ("Quantity", "quantity"), ("", "part"))
    return [
        *(TextColumn(head, compared[name].tolist(), is_number=False) for head, name in heads),
        *(
            TextColumn(head, list(map(_text, compared[name].tolist(), compared["digits"].tolist())))
            for head, name in (("Paper", "published"), ("Computed", "computed"))
        ),
    ]


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
    """All roundings of a computed number that count as agreeing with the printed one."""
    found = set(_nearest(computed, digits))
    outward = {"low": ROUND_FLOOR, "high": ROUND_CEILING}.get(part)
    if outward:
        found.add(Decimal(computed).quantize(Decimal(1).scaleb(-digits), outward))
    return found


def _nearest(computed: float, digits: int) -> list[Decimal]:
    """Round a number to the nearest; both ways if it is halfway."""
    unit, exact = Decimal(1).scaleb(-digits), Decimal(computed)
    return [(exact + shift).quantize(unit, ROUND_HALF_EVEN) for shift in (-_ROUNDING, _ROUNDING)]


def _columns(of_source: pd.DataFrame) -> list[TextColumn]:
    """Two rows per name, printed and computed numbers, and a column per quantity."""
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
    """Format `value` or `value [low, high]`; in bold, with one more digit, if it differs."""
    numbers = list(group[["published", "computed", "digits"]].itertuples(index=False, name=None))
    if not is_computed:
        return _interval([_text(printed, digits) for printed, _, digits in numbers])
    computed = group["computed"]
    if computed.isna().any():
        return "–"
    if group["agrees"].all():
        return _interval([_rounded(*number) for number in numbers])
    extra = int((computed != computed.round()).any())
    return f"**{_interval([_text(number, digits + extra) for _, number, digits in numbers])}**"


def _rounded(printed: float, computed: float, digits: int) -> str:
    """Round a computed number to the printed digits; if halfway, to the printed number."""
    nearest = [float(number) for number in _nearest(computed, digits)]
    return _text(printed if printed in nearest else nearest[0], digits)


def _interval(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def _text(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def _remarks(of_source: pd.DataFrame) -> list[str]:
    """List the remarks, each once, with the names that it applies to."""
    remarked = of_source[of_source["remark"] != ""]
    lines = []
    for remark, group in remarked.groupby("remark", sort=False):
        names = list(dict.fromkeys(group["name"]))
        applies_to_all = set(names) == set(of_source["name"])
        lines.append(f"- {remark}" if applies_to_all else f"- {', '.join(names)}: {remark}")
    return [line for line, _ in groupby(lines)] + ([""] if lines else [])
