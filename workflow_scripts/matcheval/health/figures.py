"""Whether figures can be drawn, with the font that makes them the same on every machine."""

import os
from collections.abc import Iterator
from pathlib import Path

from matcheval.health.findings import NOTE, OK, PROBLEM, Finding

_FONT = "DejaVu Sans"


def check_fonts() -> Iterator[Finding]:
    """Check the font of all figures, and matplotlib's folder."""
    try:
        import matplotlib as mpl
        from matplotlib import font_manager
    except Exception as error:  # whatever a broken installation raises
        yield Finding(
            "figures", PROBLEM, f"matplotlib cannot be imported: {error}",
            "pip install --force-reinstall matplotlib",
        )  # fmt: skip
        return
    try:
        font = Path(font_manager.findfont(_FONT, fallback_to_default=False))
        yield Finding("figures", OK, f"font {_FONT} in {font.parent}")
    except ValueError:
        yield Finding(
            "figures", PROBLEM, f"the font {_FONT}, which comes with matplotlib, is not found",
            f"Delete {mpl.get_cachedir()}, or install matplotlib again",
        )  # fmt: skip
    folder = Path(mpl.get_cachedir())
    if not os.access(folder, os.W_OK):
        yield Finding(
            "figures", NOTE, f"{folder} cannot be written, so that every job looks for fonts again",
            "Set MPLCONFIGDIR to a folder that can",
        )  # fmt: skip
