"""Texts of CSV files that spreadsheets would take for formulas: written after an apostrophe.

A person who opens a table must not run what a stranger's file name says (`=HYPERLINK(...)`).
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Further apostrophes are counted in, so that the one put before is known. A lone word in capitals
# after "= ", as in the state "= ERM" of tables here, runs nothing: it is left as it always was.
_START = r"('*(?:[+\-@\t\r]|=(?:$|[^ ]| (?:$|[^A-Z]|[A-Z]+[^A-Z]))))"


def marked(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula."""
    return re.sub(rf"\A{_START}", r"'\1", text)


def unmarked(text: str) -> str:
    """Take off the apostrophe that `marked` has put before a text."""
    return re.sub(rf"\A'{_START}", r"\1", text) if text.startswith("'") else text


def marked_table(table: "pa.Table") -> "pa.Table":
    """Mark the texts of a table; numbers stay."""
    return _replaced(table, rf"\A{_START}", r"'\1")


def unmarked_table(table: "pa.Table") -> "pa.Table":
    """Take off the marks of a table's texts."""
    return _replaced(table, rf"\A'{_START}", r"\1")


def marked_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Mark the texts of a data frame; numbers stay."""
    return frame.map(lambda cell: marked(cell) if isinstance(cell, str) else cell)


def _replaced(table: "pa.Table", pattern: str, by: str) -> "pa.Table":
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            import pyarrow.compute as pc  # not for numbers alone: it is slow to import

            column = pc.replace_substring_regex(table.column(at), pattern, by)
            table = table.set_column(at, field, column)
    return table
