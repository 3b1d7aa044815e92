"""Tables for human readers: Markdown and LaTeX (booktabs), rounded as in papers."""

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

TABLE_SUFFIXES = (".parquet", ".csv", ".tex", ".md")
_ROUNDING = 1e-9  # numbers this close to a rounded one count as equal to it
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "Δ": r"$\Delta$", "−": "$-$", "ρ": r"$\rho$", "τ": r"$\tau$", "²": r"$^2$", "≤": r"$\le$",
    "|": "$|$", "×": r"$\times$", "μ": r"$\mu$", "σ": r"$\sigma$", "–": "--",
})  # fmt: skip


@dataclass(frozen=True)
class TextColumn:
    """A column of a table for human readers: its heading and formatted cells."""

    head: str
    cells: Sequence[str]
    is_number: bool = True


class _ReaderFormatter(string.Formatter):
    """Formats numbers without the percent sign, with a typographic minus, and NaN as a dash."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a value by a format specification; without one, return `str(value)`."""
        if not format_spec:
            return str(value)
        if value != value:
            return "–"
        shown = format(value, format_spec).removesuffix("%")
        return f"−{shown[1:]}" if shown.startswith("-") else shown


def format_row(text: str, row: Mapping[Any, Any]) -> str:
    """Fill a format string such as `{gap:.1%}` with the values of a row, formatted for readers."""
    return _ReaderFormatter().vformat(text, (), row)


def level_text(level: float) -> str:
    """Format the level of an interval in percent, such as `90 %`."""
    return f"{100 * level:g} %"


def lay_out(table: "pd.DataFrame", columns: Mapping[str, str]) -> list[TextColumn]:
    """Format the rows of a table for readers; `columns` maps headings to format strings.

    Cells are as by `str.format`: `{gap:+.1%} [{gap_low:+.1%}, {gap_high:+.1%}]`. Columns with a
    format, as here, are aligned to the right; an interval is left out where it is unknown.
    """
    rows: Any = table.to_dict("records")
    laid_out = []
    for head, text in columns.items():
        cells = [format_row(text, row).removesuffix(" [–, –]") for row in rows]
        laid_out.append(TextColumn(head, cells, is_number=":" in text))
    return laid_out


def with_interval(name: str, form: str = ".1%") -> str:
    """Return the format string, for `lay_out`, that shows a column with its interval."""
    return f"{{{name}:{form}}} [{{{name}_low:{form}}}, {{{name}_high:{form}}}]"


def markdown(columns: Sequence[TextColumn]) -> str:
    """Return a Markdown table."""
    lines = [
        [column.head for column in columns],
        ["--:" if column.is_number else "---" for column in columns],
        *zip(*(column.cells for column in columns), strict=True),
    ]
    return "".join(
        f"| {' | '.join(' '.join(c.replace('|', chr(92) + '|').splitlines()) for c in r)} |\n"
        for r in lines
    )


def latex(columns: Sequence[TextColumn]) -> str:
    """Return a LaTeX `tabular`, which requires the package `booktabs`."""
    alignment = "".join("r" if column.is_number else "l" for column in columns)
    heads = _latex_row([column.head for column in columns])
    rows = zip(*(column.cells for column in columns), strict=True)
    body = "".join(f"{_latex_row(row)}\n" for row in rows)
    return (
        f"\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{heads}\n\\midrule\n{body}"
        "\\bottomrule\n\\end{tabular}\n"
    )


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Pad cells so that columns line up; rows with only a first cell do not widen its column."""
    columns = zip(*(row for row in rows if any(row[1:])), strict=True)
    first, *widths = (max(map(len, cells)) for cells in columns)
    return [
        "  ".join([name.ljust(first), *map(str.rjust, numbers, widths)]).rstrip()
        for name, *numbers in rows
    ]


def outward(low: float, high: float, digits: int) -> tuple[str, str]:
    """Format the bounds of an interval, rounded outward so that they enclose the interval."""
    unit = 10.0**digits
    down = math.floor(low * unit + _ROUNDING) / unit
    up = math.ceil(high * unit - _ROUNDING) / unit
    return signed(down, digits), signed(up, digits)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 model` or `3 models`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def signed(value: float, digits: int, *, plus: bool = False) -> str:
    """Format a number with a typographic minus sign (U+2212), or with `plus` also a plus sign."""
    if math.isnan(value):
        return "undefined"
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return ("−" if value < 0 else "+" * plus) + text


def supported_digits(low: float, high: float) -> int:
    """Return how many decimals (0 to 2) show two significant digits of an interval's half-width."""
    half = (high - low) / 2
    return max(0, min(2, 1 - math.floor(math.log10(half)))) if half > 0 else 2


def accuracy_cells(table: "pd.DataFrame") -> Sequence[str]:
    """Format the accuracies of a table in percent, with their confidence intervals."""
    return lay_out(table, {"": with_interval("accuracy")})[0].cells


def signed_cells(values: Sequence[float], digits: int = 1) -> list[str]:
    """Format differences of fractions in percentage points, with a plus or minus sign."""
    return [_ReaderFormatter().format_field(value, f"+.{digits}%") for value in values]


def percent_cell(value: float) -> str:
    """Format a fraction in percent, with one digit after the decimal point."""
    return _ReaderFormatter().format_field(value, ".1%")


def with_last_row(columns: Sequence[TextColumn], cells: Sequence[str]) -> list[TextColumn]:
    """Append one cell to each column: together they are a last row, such as that of the means."""
    pairs = zip(columns, cells, strict=True)
    return [
        TextColumn(column.head, [*column.cells, last], column.is_number) for column, last in pairs
    ]


def columns_by_part(
    table: "pd.DataFrame", part: str, accuracy: str, heading_format: str
) -> list[TextColumn]:
    """Lay out a table of accuracies: a row per model and one of means, a column per part."""
    columns, means = [TextColumn("Model", table["model"].unique().tolist(), False)], ["mean"]
    for _, rows in table.groupby(part):
        heading = format_row(heading_format, rows.head(1).to_dict("records")[0])
        columns += lay_out(rows, {heading: with_interval(accuracy)})
        means.append(percent_cell(rows[accuracy].mean()))
    return with_last_row(columns, means)
