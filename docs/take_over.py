"""Update the results that a page contains.

The text between `<!-- begin NAME -->` and `<!-- end -->` is replaced by the table of that name.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from matcheval.io.text_tables import TextColumn, markdown

BLOCK = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], n_texts: int = 1) -> str:
    """Lay out rows in Markdown, with text in the first columns and numbers in the others."""
    columns = enumerate(zip(head, zip(*rows, strict=True), strict=True))
    return markdown(
        [TextColumn(name, cells, number >= n_texts) for number, (name, cells) in columns]
    )


def take_over(page: str, read: Callable[[str], str]) -> str:
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


PROSE = re.compile(r"<!-- numbers (\S+) -->\n(.*?)<!-- end -->\n", re.DOTALL)
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")


def untold_numbers(page: str, further: Callable[[str], set[str]]) -> list[str]:
    """List the decimal numbers of marked prose that are not in the table that the mark names.

    Prose is marked by `<!-- numbers FILE -->` and `<!-- end -->`; FILE may be that of a block of
    the same page.

    Parameters
    ----------
    page : str
        Text of the page.
    further : callable
        Takes a FILE, and returns the numbers of its table that the block does not show.

    Returns
    -------
    list of str
        File and number, as `digits-shifts: 4.0`.
    """
    blocks = {block[2]: set(_DECIMAL.findall(block[0])) for block in BLOCK.finditer(page)}
    return [
        f"{file}: {number}"
        for file, prose in PROSE.findall(page)
        for number in _DECIMAL.findall(prose)
        if number not in blocks.get(file, set()) | further(file)
    ]


def update_page(page: Path, read: Callable[[str], str]) -> None:
    """Replace the content of every block of a page on file.

    Parameters
    ----------
    page : Path
    read : callable
        As for `take_over`.
    """
    page.write_text(take_over(page.read_text(encoding="utf-8"), read), encoding="utf-8")
