"""Figures that notebooks show."""

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that a notebook shows as the last value of a cell, without `%matplotlib inline`."""

    def _repr_png_(self) -> bytes:
        """Return the figure as IPython asks for it."""
        from matcheval.figures.style import style

        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()
