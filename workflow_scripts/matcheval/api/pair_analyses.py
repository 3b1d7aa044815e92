"""Analyses with a table per pair, of one model's prediction files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pandas as pd

from matcheval.errors import unknown_name_error
from matcheval.figures.saving import save_figure
from matcheval.io.text_tables import markdown, write_readable
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.registry import ANALYSES
from matcheval.study.artifacts import TABLE_SUFFIXES

_FIGURE_SUFFIXES = (".pdf", ".png", ".svg")


@dataclass(frozen=True)
class CommandAnalysis:
    """An analysis with its default settings.

    Attributes
    ----------
    kind : type of PairTableAnalysis
    """

    kind: type[PairTableAnalysis]

    def module(self, name: str) -> ModuleType:
        """Return a module of the folder that the analysis lies in.

        Parameters
        ----------
        name : str
            `tables` or `figures`.
        """
        return import_module(f"{self.kind.__module__.rpartition('.')[0]}.{name}")

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
        return AnalysisTable(self, self.module("tables").tabulate(known, **options))


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """An analysis and its table.

    Attributes
    ----------
    analysis : CommandAnalysis
    table : pandas.DataFrame
        Columns of `SCHEMA` of its module `tables`.
    """

    analysis: CommandAnalysis
    table: pd.DataFrame

    def describe(self) -> str:
        """Format the table as text, with a heading."""
        name = self.analysis.kind.name
        text = markdown(self.analysis.module("tables").text_columns(self.table))
        return f"\n{name} (docs/analyses/{name}.md)\n\n{text}"

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
        kind, tables = self.analysis.kind, self.analysis.module("tables")
        paths = [folder / kind.name / f"{pair}{suffix}" for suffix in TABLE_SUFFIXES]
        write_readable(self.table, tables.SCHEMA, tables.text_columns, paths)
        yield from paths
        if kind.has_figure:
            stem = folder / "figures" / kind.name / pair
            paths = [stem.with_name(f"{pair}{suffix}") for suffix in _FIGURE_SUFFIXES]
            save_figure(self.analysis.module("figures").plot(self.table), *paths)
            yield from paths


def chosen_analyses(names: Sequence[str]) -> list[CommandAnalysis]:
    """Find analyses by their names.

    Parameters
    ----------
    names : sequence of str

    Raises
    ------
    InputError
        If there is none of a name.
    """
    known = {one.name: one for one in ANALYSES if issubclass(one, PairTableAnalysis)}
    for name in names:
        if name not in known:
            raise unknown_name_error("analysis", name, known, field="--analyses")
    return [CommandAnalysis(known[name]) for name in dict.fromkeys(names)]
