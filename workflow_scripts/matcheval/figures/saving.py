"""The one place where figures become files."""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.errors import InputError
from matcheval.figures.style import style
from matcheval.io.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 300

# What would make the bytes depend on the time of writing is left out.
_OPTIONS: dict[str, dict[str, Any]] = {
    ".pdf": {"format": "pdf", "metadata": {"CreationDate": None}},
    ".png": {"format": "png", "dpi": DPI},
}


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Save a figure as PDF or PNG, by the suffix of `path`, whole or not at all.

    The same figure gives the same bytes under one version of matplotlib, and the same layout in
    every format. Its layout is fixed by the first saving.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure; at its own size, PNG at 300 dpi.
    path : path-like
        Where to; missing parent folders are made.

    Raises
    ------
    InputError
        If the suffix is neither `.pdf` nor `.png`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _OPTIONS:
        raise InputError(f"cannot save '{suffix}' figures", file=path, remedy="Use .pdf or .png")
    with style(), _quiet("fontTools"), whole_file(path) as partial:
        fix_layout(figure)
        figure.savefig(partial, **_OPTIONS[suffix])


def save_figures(figure: "Figure", paths: Iterable[str | os.PathLike[str]]) -> None:
    """Save a figure to every path, as `save_figure` does."""
    for path in paths:
        save_figure(figure, path)


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a package's chatter of level INFO out of the log: every letter that it embeds."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


def fix_layout(figure: "Figure") -> None:
    """Lay out once and for all: constrained layout moves things a little with every drawing."""
    if figure.get_layout_engine() is None:
        return
    figure.set_dpi(DPI)  # at a lower resolution letters are rounded to fewer, other pixels
    for _ in range(2):  # the second time corrects for what the first one resized
        figure.draw_without_rendering()
    figure.set_layout_engine(None)
