"""Further analyses of a pair, made with default settings: tables, figures, parts of a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.errors import InputError, check_known
from matcheval.figures.style import save_figure
from matcheval.io.text_tables import TABLE_SUFFIXES, markdown
from matcheval.protocol.analysis import PairTableAnalysis
from matcheval.registry import ANALYSES
from matcheval.report.sections import Section, ShownFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_ROWS = 20  # of a table on the terminal: all classes of CIFAR-10 by both criteria


def chosen_analyses(names: Sequence[str]) -> list[type[PairTableAnalysis]]:
    """Find analyses by their names."""
    of_pairs = {kind.name: kind for kind in ANALYSES if issubclass(kind, PairTableAnalysis)}
    for name in names:
        if name not in of_pairs and name in {kind.name for kind in ANALYSES}:
            remedy = f"Here there are {', '.join(of_pairs)}"
            raise InputError(f"the analysis '{name}' needs a study", remedy=remedy)
    check_known("analysis", names, of_pairs)
    return [of_pairs[name] for name in dict.fromkeys(names)]


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """The table of an analysis of a pair."""

    kind: type[PairTableAnalysis]
    table: pd.DataFrame

    @property
    def module(self) -> ModuleType:
        """With `SCHEMA`, `tabulate` and `plot`; no field, as a module has no copy."""
        return import_module(self.kind.__module__)

    def figure(self) -> "Figure":
        """Draw its figure, if the analysis has one."""
        if not self.kind.has_figure:
            raise InputError(f"the analysis '{self.kind.name}' has no figure")
        return self.module.plot(self.table)

    def lines(self, where: str) -> list[str]:
        """Return its first rows as text; `where` says where the others are."""
        name, columns = self.kind.name, self.module.SCHEMA.text_columns(self.table)
        head, rule, *rows = markdown(columns).splitlines()
        more = len(rows) - _MAX_ROWS
        rest = [f"... and {more:,} more rows: {where}"] if more > 0 else []
        return [f"{name} (docs/analyses.md#{name})", "", head, rule, *rows[:_MAX_ROWS], *rest]

    def write(self, folder: Path, pair: str, formats: Sequence[str]) -> Iterator[Path]:
        """Write the table in all its forms, and the figure in some."""
        name = self.kind.name
        paths = [folder / name / f"{pair}{suffix}" for suffix in TABLE_SUFFIXES]
        self.module.SCHEMA.write(self.table, paths)
        yield from paths
        if self.kind.has_figure:
            paths = [folder / "figures" / name / f"{pair}.{end}" for end in formats]
            save_figure(self.figure(), *paths)
            yield from paths

    def section(self, folder: Path, pair: str) -> Section:
        """Return its part of the report, of what has been written to a folder."""
        kind, name, title = self.kind, self.kind.name, self.kind.title()
        shown = [ShownFile((str(folder / name / f"{pair}.md"),), title)]
        if kind.has_figure:
            shown.append(ShownFile((str(folder / "figures" / name / f"{pair}.svg"),), title))
        return Section(name, title, kind.__module__.rpartition(".")[0], tuple(shown))
