"""The one place where figures become files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.errors import InputError
from matcheval.figures.style import style
from matcheval.files import whole_file

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

    The same figure gives the same bytes under one version of matplotlib.

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
    with style(), whole_file(path) as partial:
        figure.savefig(partial, **_OPTIONS[suffix])
