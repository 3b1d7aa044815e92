"""Tables of a report, and what their columns are sorted by."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matcheval.errors import InputError
from matcheval.io.text_tables import TextColumn

LONGEST = 2500  # rows of a table that are shown
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class HtmlTable:
    """A table to show.

    Attributes
    ----------
    caption : str
    columns : tuple of TextColumn
        Of equal length. Browsers sort by the number that a cell begins with, else by its text.
    file : str
        Where the whole table lies; empty if it is nowhere else.
    """

    caption: str
    columns: tuple[TextColumn, ...]
    file: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].cells) if self.columns else 0

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cells of the rows that are shown."""
        shown = [column.cells[:LONGEST] for column in self.columns]
        return zip(*shown, strict=True)

    @property
    def n_hidden(self) -> int:
        """Rows that are not shown because there are too many."""
        return max(0, self.n_rows - LONGEST)


def read_markdown(text: str, file: str) -> tuple[list[TextColumn], list[str]]:
    """Read a table that `text_tables.markdown` wrote, and the paragraphs around it.

    Parameters
    ----------
    text : str
        Content of the file.
    file : str
        Its name, for messages.

    Returns
    -------
    columns : list of TextColumn
        Of the first table; none if there is none.
    paragraphs : list of str
        All other lines that are not empty.

    Raises
    ------
    InputError
        If rows of the table have different numbers of cells.
    """
    lines = text.splitlines()
    rows = [_cells(line) for line in lines if line.startswith("|")]
    paragraphs = [line.strip("# ") for line in lines if line.strip() and not line.startswith("|")]
    if len(rows) < 2:
        return [], paragraphs
    if len({len(row) for row in rows}) != 1:
        raise InputError(
            "is not a table: its rows differ in length", file=file,
            remedy="If the workflow wrote it, delete it and run again",
        )  # fmt: skip
    head, alignment, *body = rows
    cells: Sequence[Sequence[str]] = list(zip(*body, strict=True)) or [()] * len(head)
    columns = [
        TextColumn(name, list(column), is_number=mark.endswith(":"))
        for name, mark, column in zip(head, alignment, cells, strict=True)
    ]
    return columns, paragraphs


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in _CELLS.split(line)[1:-1]]
