"""Tables of a report, and what their columns are sorted by."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matcheval.errors import InputError
from matcheval.io.text_tables import TextColumn

LONGEST = 2500  # rows of a table that are shown
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class HtmlTable:
    """A table to show."""

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


@dataclass(frozen=True)
class MarkdownTable:
    """A table of a Markdown file, and the paragraphs around it."""

    heading: str
    columns: tuple[TextColumn, ...]
    paragraphs: tuple[str, ...]


def read_markdown(text: str, file: str) -> list[MarkdownTable]:
    """Read the tables that `text_tables.markdown` wrote, and the paragraphs around them."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("<!--")]
    starts = [i for i, line in enumerate(lines) if _is_heading(lines, i)]
    pieces = itertools.pairwise([0, *starts, len(lines)])
    return [_read_piece(lines[start:end], file) for start, end in pieces if start < end]


def _is_heading(lines: Sequence[str], i: int) -> bool:
    is_bold = lines[i].startswith("**") and lines[i].endswith("**")
    return is_bold and lines[i + 1 : i + 2] != [] and lines[i + 1].startswith("|")


def _read_piece(lines: Sequence[str], file: str) -> MarkdownTable:
    heading = lines[0].strip("*") if _is_heading(lines, 0) else ""
    rows = [_cells(line) for line in lines if line.startswith("|")]
    others = lines[1:] if heading else lines
    paragraphs = tuple(line.strip("# ") for line in others if not line.startswith("|"))
    if len(rows) < 2:
        return MarkdownTable(heading, (), paragraphs)
    if len({len(row) for row in rows}) != 1:
        raise InputError(
            "is not a table: its rows differ in length", file=file,
            remedy="If the workflow wrote it, delete it and run again",
        )  # fmt: skip
    head, alignment, *body = rows
    cells: Sequence[Sequence[str]] = list(zip(*body, strict=True)) or [()] * len(head)
    columns = tuple(
        TextColumn(name, list(column), is_number=mark.endswith(":"))
        for name, mark, column in zip(head, alignment, cells, strict=True)
    )
    return MarkdownTable(heading, columns, paragraphs)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in _CELLS.split(line)[1:-1]]
