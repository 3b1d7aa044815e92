"""Tables for reading: Markdown and LaTeX (booktabs), rounded as papers print them."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.io.files import whole_file
from matcheval.io.tables import TableSchema, write_table

_ROUNDING = 1e-9  # numbers so near to a printed one are that one
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "Δ": r"$\Delta$", "−": "$-$", "ρ": r"$\rho$", "τ": r"$\tau$", "²": r"$^2$", "≤": r"$\le$",
    "|": "$|$", "×": r"$\times$", "μ": r"$\mu$", "σ": r"$\sigma$", "–": "--",
}  # fmt: skip


@dataclass(frozen=True)
class TextColumn:
    """A column of a table for reading."""

    head: str
    cells: Sequence[str]
    is_number: bool = True


def write_readable(
    table: pd.DataFrame,
    schema: TableSchema,
    readable: Callable[[pd.DataFrame], list[TextColumn]],
    paths: Iterable[str | os.PathLike[str]],
) -> None:
    """Write a table for machines and for reading, by the suffixes of `paths`.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `schema`.
    schema : TableSchema
        Of the `.parquet` and `.csv` files.
    readable : callable
        Gives the columns of the `.md` (Markdown) and `.tex` (LaTeX) files.
    paths : iterable of path-like
        Files to write, whole or not at all.

    Raises
    ------
    InputError
        If a suffix is another, or a place cannot be written to.
    """
    texts: dict[str, Callable[[Sequence[TextColumn]], str]] = {".md": markdown, ".tex": latex}
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix not in texts:
            write_table(schema.from_frame(table), path)
            continue
        with whole_file(path) as partial:
            partial.write_text(texts[suffix](readable(table)), encoding="utf-8")


def markdown(columns: Sequence[TextColumn]) -> str:
    """Write a Markdown table."""
    lines = [
        [column.head for column in columns],
        ["--:" if column.is_number else "---" for column in columns],
        *zip(*(column.cells for column in columns), strict=True),
    ]
    return "".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |\n" for r in lines)


def latex(columns: Sequence[TextColumn]) -> str:
    """Write a LaTeX `tabular`, to be used with the package `booktabs`."""
    alignment = "".join("r" if column.is_number else "l" for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            _latex_row([column.head for column in columns]),
            r"\midrule",
            *map(_latex_row, rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def outward(low: float, high: float, digits: int) -> tuple[str, str]:
    """Print bounds so that what is printed holds the interval: down below, up above.

    The intervals of fits in Recht et al. (2019) look rounded like that.
    """
    unit = 10.0**digits
    down = math.floor(low * unit + _ROUNDING) / unit
    up = math.ceil(high * unit - _ROUNDING) / unit
    return signed(down, digits), signed(up, digits)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"


def signed(value: float, digits: int, *, plus: bool = False) -> str:
    """Write a number with a true minus sign, without a sign on zero."""
    if math.isnan(value):
        return "undefined"
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return ("−" if value < 0 else "+" * plus) + text


def accuracy_cells(table: pd.DataFrame, part: str) -> list[str]:
    """Cells like `93.1 [92.0, 94.1]` of columns `accuracy_<part>`, `..._low`, `..._high`.

    Without a part, of `accuracy` and its bounds; without bounds, cells like `93.1`.
    """
    name = f"accuracy_{part}" if part else "accuracy"
    values = zip(table[name], table[f"{name}_low"], table[f"{name}_high"], strict=True)
    return [
        "–"
        if pd.isna(accuracy)
        else f"{100 * accuracy:.1f}"
        + ("" if pd.isna(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")
        for accuracy, low, high in values
    ]


def signed_cells(values: Sequence[float], digits: int = 1) -> list[str]:
    """Percentage points with a sign."""
    texts = ["–" if pd.isna(value) else f"{100 * value:+.{digits}f}" for value in values]
    return [text.replace("-", "−") for text in texts]


def percent_cell(value: float) -> str:
    """Write a fraction in percent with one digit; a dash for NaN."""
    return "–" if pd.isna(value) else f"{100 * value:.1f}"


def columns_by_part(table: pd.DataFrame, part: str, heads: Mapping[Any, str]) -> list[TextColumn]:
    """A row per model and one for their mean, a column per part of the datapoints."""
    columns = [TextColumn("Model", [*table["model"].unique(), "mean"], is_number=False)]
    for number, of_part in table.groupby(part):
        mean = 100 * of_part[f"accuracy_{part}"].mean()
        cells = [*accuracy_cells(of_part, part), "–" if pd.isna(mean) else f"{mean:.1f}"]
        n = of_part[f"n_{part}"].iloc[0]
        columns.append(TextColumn(f"{heads[number]}, n = {n:,} (%)", cells))
    return columns
