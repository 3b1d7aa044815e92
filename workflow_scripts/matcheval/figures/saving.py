"""Saving figures as PDF, PNG and SVG files."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from matcheval.figures.style import DPI, fix_layout, style
from matcheval.io.files import atomic_file, check_format

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without a creation date, so that the bytes do not depend on the time of writing.
_OPTIONS: dict[str, dict[str, Any]] = {
    ".pdf": {"format": "pdf", "metadata": {"CreationDate": None}},
    ".png": {"format": "png", "dpi": DPI},
    ".svg": {"format": "svg", "metadata": {"Date": None}},
}


def save_figure(figure: "Figure", *paths: str | os.PathLike[str]) -> None:
    """Save a figure atomically as PDF, PNG or SVG, depending on the suffixes of `paths`."""
    for path in paths:
        options = _OPTIONS[check_figure(path)]
        fonts = _small_fonts() if options["format"] == "pdf" else nullcontext()
        with style(), fonts, atomic_file(path) as partial:
            fix_layout(figure)
            figure.savefig(partial, **options)


def check_figure(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a figure file, once it is known to be a supported format."""
    return check_format(path, tuple(_OPTIONS), "cannot save {} figures")


@contextmanager
def _small_fonts() -> Iterator[None]:
    """Embed fonts without what a PDF does not use, and without a message for every glyph.

    Matplotlib has no option for it. Taking the glyphs of a figure out of the tables for complex
    scripts and formulas takes longer than all else of a PDF.
    """
    from fontTools.subset import Options

    logger, unused = logging.getLogger("fontTools"), ["GDEF", "GPOS", "GSUB", "MATH"]
    level, dropped = logger.level, Options._drop_tables_default
    logger.setLevel(logging.WARNING)
    Options._drop_tables_default = [*dropped, *unused]
    try:
        yield
    finally:
        logger.setLevel(level)
        Options._drop_tables_default = dropped
