"""Figures that notebooks show."""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that a notebook shows as the last value of a cell, without `%matplotlib inline`."""

    def __init__(
        self,
        style: Callable[[], AbstractContextManager[None]],
        fix_layout: Callable[[Figure], None],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._style, self._fix_layout = style, fix_layout

    def _repr_png_(self) -> bytes:
        """Return the figure as IPython asks for it."""
        buffer = io.BytesIO()
        with self._style():
            self._fix_layout(self)  # as files: a single run of the layout may cut off a note
            self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()
