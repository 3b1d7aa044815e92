"""The table of a further analysis of a comparison: its text, files, figure and section."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.style import save_figure
from matcheval.io.text_tables import TABLE_SUFFIXES, markdown
from matcheval.report.sections import Section, ShownFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.protocol.analysis import PairTableAnalysis

_MAX_ROWS = 20  # of a text: all classes of CIFAR-10 by both criteria


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """The table that a further analysis makes of a comparison, and in which forms it is shown."""

    kind: "type[PairTableAnalysis]"
    table: pd.DataFrame

    @property
    def module(self) -> ModuleType:
        """The analysis's module, with `SCHEMA`, `tabulate` and `plot`."""
        # No field, as a module cannot be copied.
        return import_module(self.kind.__module__)

    def figure(self) -> "Figure":
        """Draw the analysis's figure; raise an error if it has none."""
        if not self.kind.has_figure:
            raise InputError(f"the analysis '{self.kind.name}' has no figure")
        return self.module.plot(self.table)

    def lines(self, where: str) -> list[str]:
        """Return heading and first rows as lines of text; `where` says where the others are."""
        name, columns = self.kind.name, self.module.SCHEMA.text_columns(self.table)
        head, rule, *rows = markdown(columns).splitlines()
        more = len(rows) - _MAX_ROWS
        rest = [f"... and {more:,} more rows: {where}"] if more > 0 else []
        return [f"{name} (docs/analyses.md#{name})", "", head, rule, *rows[:_MAX_ROWS], *rest]

    def write(self, folder: Path, pair: str, formats: Sequence[str]) -> Iterator[Path]:
        """Write the table in all formats, and the figure in those given; yield the paths."""
        name = self.kind.name
        paths = [folder / name / f"{pair}{suffix}" for suffix in TABLE_SUFFIXES]
        self.module.SCHEMA.write(self.table, paths)
        yield from paths
        if self.kind.has_figure:
            paths = [folder / "figures" / name / f"{pair}.{end}" for end in formats]
            save_figure(self.figure(), *paths)
            yield from paths

    def section(self, folder: Path, pair: str) -> Section:
        """Return the analysis's section of the report, of the files that `write` has written."""
        kind, name, title = self.kind, self.kind.name, self.kind.title()
        shown = [ShownFile((str(folder / name / f"{pair}.md"),), title)]
        if kind.has_figure:
            shown.append(ShownFile((str(folder / "figures" / name / f"{pair}.svg"),), title))
        return Section(name, title, kind.__module__.rpartition(".")[0], tuple(shown))
