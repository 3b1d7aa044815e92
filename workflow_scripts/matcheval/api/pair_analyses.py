"""Further analyses of a comparison: those of studies that make a table per pair."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.errors import InputError, unknown_name_error
from matcheval.figures.saving import save_figure
from matcheval.io.text_tables import markdown, write_readable
from matcheval.protocol.compared_models import ComparedModels
from matcheval.study.rules import TABLE_SUFFIXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.protocol.pair_tables import PairTableAnalysis

_FIGURE_SUFFIXES = (".pdf", ".png", ".svg")
_MAX_ROWS = 20  # of a table on the terminal: all classes of CIFAR-10 by both criteria


@dataclass(frozen=True)
class ChosenAnalysis:
    """An analysis with its default settings.

    Attributes
    ----------
    kind : type of PairTableAnalysis
    """

    kind: "type[PairTableAnalysis]"

    @property
    def name(self) -> str:
        """Its name in studies."""
        return self.kind.name

    @property
    def module(self) -> ModuleType:
        """The module of the analysis, with `SCHEMA`, `tabulate`, `text_columns` and `plot`."""
        return import_module(self.kind.__module__)

    def tabulated(self, known: ComparedModels) -> "AnalysisTable":
        """Make the table.

        Parameters
        ----------
        known : ComparedModels

        Raises
        ------
        InputError
            If the predictions are not what the analysis needs.
        """
        options = self.kind.options(self.kind.Settings())
        return AnalysisTable(self, self.module.tabulate(known, **options))


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """An analysis and its table.

    Attributes
    ----------
    analysis : ChosenAnalysis
    table : pandas.DataFrame
        Columns of `SCHEMA` of its module.
    """

    analysis: ChosenAnalysis
    table: pd.DataFrame

    def describe(self, where: str) -> str:
        """Format the first rows of the table as text, with a heading.

        Parameters
        ----------
        where : str
            Where all rows are.
        """
        name = self.analysis.name
        text = markdown(self.analysis.module.text_columns(self.table))
        head, rule, *rows = text.splitlines(keepends=True)
        more = len(rows) - _MAX_ROWS
        rest = f"... and {more:,} more rows: {where}\n" if more > 0 else ""
        shown = "".join([head, rule, *rows[:_MAX_ROWS]])
        return f"\n{name} (docs/analyses/{name}.md)\n\n{shown}{rest}"

    def figure(self) -> "Figure":
        """Draw its figure.

        Raises
        ------
        InputError
            If the analysis has none.
        """
        if not self.analysis.kind.has_figure:
            raise InputError(f"the analysis '{self.analysis.name}' has no figure")
        drawn: Figure = self.analysis.module.plot(self.table)
        return drawn

    def write(self, pair: str, folder: Path) -> Iterator[Path]:
        """Write table and figure, laid out like a study's results.

        Parameters
        ----------
        pair : str
            Name of the pair.
        folder : Path
            It receives `<analysis>/<pair>` and `figures/<analysis>/<pair>` in several formats.

        Yields
        ------
        Path
            Every file, after it was written.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        kind, tables = self.analysis.kind, self.analysis.module
        paths = [folder / kind.name / f"{pair}{suffix}" for suffix in TABLE_SUFFIXES]
        write_readable(self.table, tables.SCHEMA, tables.text_columns, paths)
        yield from paths
        if kind.has_figure:
            stem = folder / "figures" / kind.name / pair
            paths = [stem.with_name(f"{pair}{suffix}") for suffix in _FIGURE_SUFFIXES]
            save_figure(self.figure(), *paths)
            yield from paths


def chosen_analyses(names: Sequence[str]) -> list[ChosenAnalysis]:
    """Find analyses by their names; those of studies are imported only if there are any.

    Parameters
    ----------
    names : sequence of str

    Raises
    ------
    InputError
        If there is none of a name, or it is not of a pair's matched predictions.
    """
    if not names:
        return []
    from matcheval.protocol.pair_tables import PairTableAnalysis
    from matcheval.registry import ANALYSES

    known = {one.name: one for one in ANALYSES if issubclass(one, PairTableAnalysis)}
    of_studies = {one.name for one in ANALYSES} - known.keys()
    for name in names:
        if name in of_studies:
            raise InputError(
                f"the analysis '{name}' needs a study", remedy=f"Here there are {', '.join(known)}"
            )
        if name not in known:
            raise unknown_name_error("analysis", str(name), known)
    return [ChosenAnalysis(known[name]) for name in dict.fromkeys(names)]
