"""Models compared on a pair of sets: matched, tabulated, and their gaps estimated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.api.pairs import UNNAMED, input_warnings, unmatched_warning
from matcheval.errors import InputError, unknown_name_error
from matcheval.figures.saving import save_figure
from matcheval.io.progress import each
from matcheval.io.text_tables import markdown, write_readable
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.gap_estimates import GapTables, estimate_gaps
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.suspicions import suspicions_of
from matcheval.protocol.tables import tabulate_runs
from matcheval.study.artifacts import TABLE_SUFFIXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.protocol.pair_tables import PairTableAnalysis

KINDS = ("gaps", "matched_accuracy", "confidence", "reliability")


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison with its results.

    Attributes
    ----------
    known : ComparedModels
    matched : mapping of Criterion to sequence of MatchedComparison
        Every model, in the order of `known`.
    tables : mapping of Criterion to pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, a row per model.
    gaps : GapTables
        What the gaps consist of, by the names of the criteria.
    analyses : mapping of str to AnalysisTable
        Further analyses, by name.
    """

    known: ComparedModels
    matched: Mapping[Criterion, Sequence[MatchedComparison]]
    tables: Mapping[Criterion, pd.DataFrame]
    gaps: GapTables
    analyses: "Mapping[str, AnalysisTable]" = field(default_factory=dict)

    @property
    def pair(self) -> str:
        """Name of the pair."""
        return self.known.pair.name

    @property
    def title(self) -> str:
        """What is compared: a model by its name, if it has one."""
        pair = self.known.pair
        sets = " against ".join(
            name if origin in (name, name.rpartition(" (")[2][:-1]) else f"{name} ({origin})"
            for origin, name in pair.datasets.items()
        )
        n, first = len(self.known.comparisons), self.known.comparisons[0]
        if n > 1:
            return f"{n} models: {sets}"
        return sets if first.model == UNNAMED else f"{first.model}: {sets}"

    @property
    def titles(self) -> dict[str, str]:
        """What readers call the matchings, by name."""
        return {criterion.value: criterion.description for criterion in self.tables}

    @property
    def suspicions(self) -> list[tuple[str, str]]:
        """Models, and what looks wrong about their predictions."""
        return [(one.model, text) for one in self.known.comparisons for text in suspicions_of(one)]

    @property
    def warnings(self) -> list[str]:
        """What looks wrong about predictions, and where most targets are unmatched."""
        shares = {c: float(t["fraction_unmatched_mean"].mean()) for c, t in self.tables.items()}
        unmatched = [unmatched_warning(share, criterion) for criterion, share in shares.items()]
        return [*input_warnings(self.known), *filter(None, unmatched)]

    def figure(self, kind: str, criterion: Criterion | None = None) -> "Figure":
        """Draw a figure.

        Parameters
        ----------
        kind : str
            One of `KINDS`.
        criterion : Criterion, optional
            By default the first one.

        Raises
        ------
        InputError
            If it is a reliability diagram of more than one model.
        """
        from matcheval.protocol.figures.confidence import plot_confidence
        from matcheval.protocol.figures.gaps import plot_gaps
        from matcheval.protocol.figures.matched_accuracy import plot_matched_accuracy

        criterion = criterion or next(iter(self.tables))
        table, gaps = self.tables[criterion], self.gaps.models[criterion.value]
        if kind == "confidence":
            return plot_confidence(table)
        if kind == "matched_accuracy":
            return plot_matched_accuracy(table, gaps=gaps)
        if kind == "reliability":
            if len(self.known.comparisons) > 1:
                raise InputError(
                    f"a reliability diagram is of one model, not of {len(self.known.comparisons)}",
                    remedy="Compare the model alone",
                )
            method = self.known.methods[criterion.value]
            (comparison,), (matched,) = self.known.comparisons, self.matched[criterion]
            return reliability_figure(comparison, matched, method, self.known.seeds)
        means = self.gaps.means
        mean = means[means["matching"] == criterion.value].iloc[0]
        return plot_gaps(table, gaps, mean, criterion.description)


def reliability_figure(
    comparison: Comparison, matched: MatchedComparison, method: MatchingMethod, seeds: Sequence[int]
) -> "Figure":
    """Draw accuracy against confidence in bins, for the subsets of a matching.

    Parameters
    ----------
    comparison : Comparison
    matched : MatchedComparison
        The same, matched.
    method : MatchingMethod
        How.
    seeds : sequence of int
        Of the runs.
    """
    from matcheval.protocol.figures.reliability import plot_reliability
    from matcheval.protocol.figures.subsets import reliability_data

    title = method.criterion.description
    data = reliability_data(comparison, matched.pairs(), title, method.epsilon, seeds)
    return plot_reliability(data)


def compare_models(
    known: ComparedModels, analyses: "Sequence[ChosenAnalysis]" = (), *, progress: bool = False
) -> Compared:
    """Match models by all criteria, tabulate the runs, and estimate gaps.

    Parameters
    ----------
    known : ComparedModels
        Matchings are named by their criteria.
    analyses : sequence of ChosenAnalysis
        Further analyses.
    progress : bool
        Whether a terminal shows progress bars.

    Raises
    ------
    InputError
        As `tabulate_runs` and `estimate_gaps`; or if an analysis needs other predictions.
    """
    found = {
        one.name: one.tabulated(known) for one in each(analyses, "analyses", progress=progress)
    }
    matched = {
        Criterion(name): [MatchedComparison(one, method, known.seeds) for one in known.comparisons]
        for name, method in known.methods.items()
    }
    tables = {}
    for criterion, models in matched.items():
        shown = each(models, f"matching by {criterion.label}", progress=progress)
        tables[criterion] = tabulate_runs([one.runs() for one in shown])
    return Compared(known, matched, tables, estimate_gaps(known, progress=progress), found)


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
    analysis : ChosenAnalysis
    table : pandas.DataFrame
        Columns of `SCHEMA` of its module `tables`.
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
        text = markdown(self.analysis.module("tables").text_columns(self.table))
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
        drawn: Figure = self.analysis.module("figures").plot(self.table)
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
        kind, tables = self.analysis.kind, self.analysis.module("tables")
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
