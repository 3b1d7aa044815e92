"""Update the results that a page contains.

The text between `<!-- begin NAME -->` and `<!-- end -->` is replaced by the table of that name.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from matcheval.io.text_tables import TextColumn, markdown

BLOCK = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], n_texts: int = 1) -> str:
    """Return rows as a Markdown table, with text in the first columns, numbers in the others."""
    columns = enumerate(zip(head, zip(*rows, strict=True), strict=True))
    return markdown(
        [TextColumn(name, cells, number >= n_texts) for number, (name, cells) in columns]
    )


def replace_blocks(page: str, read: Callable[[str], str]) -> str:
    """Replace the content of every block of a page.

    Parameters
    ----------
    page : str
        Text of the page.
    read : callable
        Takes the file that a block names, and returns its new content.

    Returns
    -------
    str
        Text of the page with the new content.
    """
    return BLOCK.sub(lambda block: f"{block[1]}{read(block[2])}{block[3]}", page)


def update_page(page: Path, read: Callable[[str], str]) -> None:
    """Replace the content of every block of a page on file.

    Parameters
    ----------
    page : Path
    read : callable
        As for `replace_blocks`.
    """
    page.write_text(replace_blocks(page.read_text(encoding="utf-8"), read), encoding="utf-8")
