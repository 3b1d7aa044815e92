"""Figures as a part of a page: as SVG, or as PNG at the resolution of screens."""

import base64
import io
import os
from dataclasses import dataclass, field
from pathlib import Path

from matcheval.errors import InputError
from matcheval.report.sections import ShownFile

MOST_BYTES = 4_000_000  # of all figures of a page, as characters in it
LARGEST_SVG = 300_000  # bytes; a larger drawing is shown as PNG if there is one
_REDUCTION = 2  # from the 300 dpi of print
_COLORS = 64


@dataclass(frozen=True)
class ShownFigure:
    """A figure as part of a page."""

    title: str
    caption: str
    source: str
    path: str


@dataclass
class FigureSpace:
    """What is left of the size of a page for its figures."""

    left: int = MOST_BYTES
    left_out: list[str] = field(default_factory=list)

    def embed(self, shown: ShownFile, caption: str) -> ShownFigure:
        """Put a figure into the page, as long as there is room."""
        source = _source(shown.paths)
        if not source or len(source) > self.left:
            self.left_out.append(shown.paths[0])
            return ShownFigure(shown.title, caption, "", shown.paths[0])
        self.left -= len(source)
        return ShownFigure(shown.title, caption, source, shown.paths[0])


def _source(paths: tuple[str, ...]) -> str:
    """Return a figure's data as an address; empty if there is a PDF file only."""
    by_suffix = {Path(path).suffix: path for path in paths}
    svg, png = by_suffix.get(".svg"), by_suffix.get(".png")
    if svg and (not png or Path(svg).stat().st_size <= LARGEST_SVG):
        return _address("svg+xml", read_result(svg))
    return _address("png", _reduced(read_result(png))) if png else ""


def _address(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _reduced(content: bytes) -> bytes:
    """Reduce a figure for print to what a screen shows; the colours of a figure are few."""
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        small = image.convert("RGB").reduce(_REDUCTION)
    reduced = io.BytesIO()
    small.quantize(_COLORS).save(reduced, "png")
    return reduced.getvalue()


def read_result(path: str | os.PathLike[str]) -> bytes:
    """Read a file that the workflow wrote."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, remedy="Run the study again") from error
