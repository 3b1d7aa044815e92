"""Text tables that others wrote (CSV, TSV, ...): separator, encoding, decimal comma are found."""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.errors import InputError
from matcheval.io.files import BROKEN, open_text, readable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_NAMES = {
    ",": "commas", "\t": "tabs between columns", ";": "semicolons between columns",
    "|": "vertical bars between columns",
}  # fmt: skip
_HEAD_BYTES = 1 << 20  # that a header may have
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_SPREADSHEET = "cp1252"  # what spreadsheets save where it is not UTF-8: Latin-1, and some more
_DECIMAL_COMMA = r"^\s*[+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?\s*$"


def read_delimited(path: Path, *, as_text: bool = False) -> "tuple[pa.Table, list[str]]":
    """Read a CSV-like table; also return which other separator, encoding or decimal mark it has.

    With `as_text`, all cells are text as it is written, 00000 and 1.0, too.
    """
    import pyarrow as pa

    what = "a readable CSV file"
    with readable(path, what, pa.ArrowException, csv.Error, *BROKEN):
        with open_text(path) as stream:
            head = stream.read(_HEAD_BYTES)
        encoding = next((e for m, e in _BYTE_ORDER_MARKS.items() if head.startswith(m)), "utf8")
        if b"\0" in head and encoding != "utf-16":
            raise ValueError("it holds a NUL")
        lines = head.decode(encoding, "replace").lstrip("\ufeff").splitlines()
        above = _count_lines_above_header(lines)
        separator = _find_separator(lines[above:][:1])
        notes = [] if separator == "," or path.suffix.lower() == ".tsv" else [_NAMES[separator]]
        try:
            table = _read_with_pyarrow(path, separator, encoding, above)
        except UnicodeDecodeError:
            encoding = _SPREADSHEET
            table = _read_with_pyarrow(path, separator, encoding, above)
        if encoding in ("utf-16", _SPREADSHEET):
            notes.append("UTF-16" if encoding == "utf-16" else "Latin-1")
        has_points = any(pa.types.is_floating(column.type) for column in table.columns)
        commas = [c for c in table.columns if separator != "," and _has_decimal_commas(c)]
        is_sure = any(text.strip().startswith("0,") for c in commas for text in c.to_pylist())
        if commas and (is_sure or not has_points):
            _check_no_thousands(table, path)
            notes.append("decimal commas")
            table = _read_with_pyarrow(path, separator, encoding, above, decimal_point=",")
        if as_text:
            texts = dict.fromkeys(table.schema.names, pa.string())
            table = _read_with_pyarrow(path, separator, encoding, above, column_types=texts)
    # NumPy's `savetxt` writes the header as a comment.
    names = [name.removeprefix("# ").strip() for name in table.schema.names]
    return unescape_formulas(table.rename_columns(names)), notes


def _count_lines_above_header(lines: list[str]) -> int:
    """Count the lines above the header: Excel's `sep=;`, and `#` comments other than the header."""
    if lines and re.fullmatch('"?sep=.?"?', lines[0]):
        return 1
    n = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    above, after = (
        (re.split("[,;\t|]", line) for line in (lines[n - 1], lines[n])) if n else ([], [])
    )
    is_header = len(above) == len(after) and any(is_number(cell.strip()) for cell in after)
    return n - 1 if n and is_header else n


def _check_no_thousands(table: "pa.Table", path: Path) -> None:
    """Refuse columns where only some numbers have a comma before three digits: 12 and 1,140."""
    import pyarrow as pa

    for name, column in zip(table.schema.names, table.columns, strict=True):
        cells = column.to_pylist() if pa.types.is_string(column.type) else []
        commas = [cell.strip() for cell in cells if "," in cell]
        are_groups = all(re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+", cell) for cell in commas)
        if commas and len(commas) < len(cells) and are_groups:
            raise InputError(
                f"holds '{commas[0]}' beside numbers without a comma, which may group thousands or "
                "mark decimals", file=path, field=name,
                remedy="Write thousands without a separator: 1140",
            )  # fmt: skip


def _find_separator(header: list[str]) -> str:
    """Return the separator that splits the header into the most cells."""
    return max(_NAMES, key=lambda separator: len(next(csv.reader(header, delimiter=separator), [])))


def _read_with_pyarrow(
    path: Path, separator: str, encoding: str, skip_rows: int, **options: Any
) -> "pa.Table":
    """Read a CSV file with PyArrow; raise `UnicodeDecodeError` if the encoding is wrong."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    # One thread: files are small, and an order of threads would be one of errors.
    reading = pa_csv.ReadOptions(use_threads=False, encoding=encoding, skip_rows=skip_rows)
    parsing = pa_csv.ParseOptions(delimiter=separator)
    with open_text(path) as stream:
        table = pa_csv.read_csv(
            stream,
            read_options=reading, parse_options=parsing,
            convert_options=pa_csv.ConvertOptions(**options),
        )  # fmt: skip
    for column in table.columns:
        if pa.types.is_binary(column.type):  # text that is not UTF-8
            raise UnicodeDecodeError("utf-8", b"", 0, 0, "a column")
    return table


def _has_decimal_commas(column: "pa.ChunkedArray") -> bool:
    """Whether a column of texts holds only numbers, of which some have a decimal comma."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return False
    import pyarrow.compute as pc

    filled = column.filter(pc.not_equal(pc.utf8_trim_whitespace(column), ""))
    numbers, commas = (
        pc.match_substring_regex(filled, _DECIMAL_COMMA),
        pc.match_substring(filled, ","),
    )
    return bool(pc.all(numbers).as_py() and pc.any(commas).as_py())


def check_has_header(table: "pa.Table", path: Path) -> None:
    """Refuse a table whose first line holds data, not names, or that has two header lines."""
    names = table.schema.names
    are_numbers = names and all(is_number(name) for name in names)
    cells = names[0].split() if len(names) == 1 else []
    is_single = len(names) == 1 and names != ["0"]  # which pandas calls a column without a name
    is_data = are_numbers and (is_single or any("." in name for name in names))
    if is_data or (len(cells) > 1 and is_number(cells[-1])):
        raise InputError(
            f"its first line is '{','.join(names):.60}', which holds data", file=path,
            remedy="Write the names of the columns above it, separated by commas as the cells are: "
            "label,prediction,probability",
        )  # fmt: skip
    second = [str(column[0].as_py()) for column in table.columns] if table.num_rows else []
    if len({*names}) < len(names) and {"label", "prediction"} <= {*second}:
        raise InputError(
            f"has two header lines, of which the first is '{','.join(names):.60}'", file=path,
            remedy="Leave the line with the names of the columns only",
        )  # fmt: skip


def is_number(text: str) -> bool:
    """Whether Python's `float` can parse a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- texts that spreadsheets would take for formulas: in CSV files, written after an apostrophe.
# A person who opens a table must not run what a stranger's file name says (`=HYPERLINK(...)`).

# Further apostrophes are counted in, so that the one put before is known. A lone word in capitals
# after "= ", as in the state "= ERM" of tables here, runs nothing: it is left as it always was.
_START = r"('*(?:[+\-@\t\r]|=(?:$|[^ ]| (?:$|[^A-Z]|[A-Z]+[^A-Z]))))"


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return re.sub(rf"\A{_START}", r"'\1", text)


def unescape_formula(text: str) -> str:
    """Remove the apostrophe that `escape_formula` puts before a text."""
    return re.sub(rf"\A'{_START}", r"\1", text) if text.startswith("'") else text


def escape_formulas(table: "pa.Table") -> "pa.Table":
    """Apply `escape_formula` to all texts of a table."""
    return _replace_in_texts(table, rf"\A{_START}", r"'\1")


def unescape_formulas(table: "pa.Table") -> "pa.Table":
    """Apply `unescape_formula` to all texts of a table."""
    return _replace_in_texts(table, rf"\A'{_START}", r"\1")


def escape_frame_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Apply `escape_formula` to all texts of a data frame."""
    return frame.map(lambda cell: escape_formula(cell) if isinstance(cell, str) else cell)


def _replace_in_texts(table: "pa.Table", pattern: str, replacement: str) -> "pa.Table":
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            import pyarrow.compute as pc  # not for numbers alone: it is slow to import

            column = pc.replace_substring_regex(table.column(at), pattern, replacement)
            table = table.set_column(at, field, column)
    return table
