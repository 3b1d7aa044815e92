"""Models compared on a pair of sets: matched, tabulated, their gaps and further analyses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.api.pairs import UNNAMED, warnings_of
from matcheval.errors import InputError, unknown_name_error
from matcheval.figures.saving import save_figure
from matcheval.io.terminal import each
from matcheval.io.text_tables import markdown, write_readable
from matcheval.protocol.compared_models import ComparedModels, MatchedModel
from matcheval.protocol.comparisons import suspicions_of
from matcheval.protocol.gaps import GapTables, estimate_gaps
from matcheval.protocol.settings import Criterion, MatchingMethod
from matcheval.protocol.tables import tabulate_runs
from matcheval.study.rules import TABLE_SUFFIXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.protocol.pair_tables import PairTableAnalysis

KINDS = ("gaps", "matched_accuracy", "confidence", "reliability")
_FIGURE_SUFFIXES = (".pdf", ".png", ".svg")
_MAX_ROWS = 20  # of a table on the terminal: all classes of CIFAR-10 by both criteria


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """A further analysis of a study that makes a table per pair, with default settings."""

    kind: "type[PairTableAnalysis]"
    table: pd.DataFrame

    @classmethod
    def of(cls, kind: "type[PairTableAnalysis]", known: ComparedModels) -> "AnalysisTable":
        """Make the table."""
        options = kind.options(kind.Settings())
        return cls(kind, import_module(kind.__module__).tabulate(known, **options))

    @property
    def module(self) -> ModuleType:
        """The module of the analysis, with `SCHEMA`, `tabulate`, `text_columns` and `plot`."""
        return import_module(self.kind.__module__)

    def describe(self, where: str) -> str:
        """Format the first rows of the table as text, with a heading; `where` all rows are."""
        name = self.kind.name
        text = markdown(self.module.text_columns(self.table))
        head, rule, *rows = text.splitlines(keepends=True)
        more = len(rows) - _MAX_ROWS
        rest = f"... and {more:,} more rows: {where}\n" if more > 0 else ""
        shown = "".join([head, rule, *rows[:_MAX_ROWS]])
        return f"\n{name} (docs/analyses/{name}.md)\n\n{shown}{rest}"

    def figure(self) -> "Figure":
        """Draw its figure, if the analysis has one."""
        if not self.kind.has_figure:
            raise InputError(f"the analysis '{self.kind.name}' has no figure")
        drawn: Figure = self.module.plot(self.table)
        return drawn

    def write(self, pair: str, folder: Path) -> Iterator[Path]:
        """Write table and figure, laid out like a study's results; yield each file once written."""
        name, tables = self.kind.name, self.module
        paths = [folder / name / f"{pair}{suffix}" for suffix in TABLE_SUFFIXES]
        write_readable(self.table, tables.SCHEMA, tables.text_columns, paths)
        yield from paths
        if self.kind.has_figure:
            paths = [folder / "figures" / name / f"{pair}{suffix}" for suffix in _FIGURE_SUFFIXES]
            save_figure(self.figure(), *paths)
            yield from paths


def chosen_analyses(names: str | Sequence[str]) -> "list[type[PairTableAnalysis]]":
    """Find analyses by their names; those of studies are imported only if there are any."""
    names = [names] if isinstance(names, str) else [*names]
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
    return [known[name] for name in dict.fromkeys(names)]


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison with its results, by criterion: every model in the order of `known`."""

    known: ComparedModels
    matched: Mapping[Criterion, Sequence[MatchedModel]]
    tables: Mapping[Criterion, pd.DataFrame]  # columns of `MODEL_TABLE`, a row per model
    gaps: GapTables
    analyses: Mapping[str, AnalysisTable]

    @property
    def pair(self) -> str:
        """Name of the pair."""
        return self.known.pair.name

    @property
    def title(self) -> str:
        """What is compared: a model by its name, if it has one."""
        sets = " against ".join(
            name if origin in (name, name.rpartition(" (")[2][:-1]) else f"{name} ({origin})"
            for origin, name in self.known.pair.datasets.items()
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
        return warnings_of(self.known, shares)

    def figure(self, kind: str, criterion: Criterion | None = None) -> "Figure":
        """Draw a figure, one of `KINDS`, by default of the first criterion."""
        from matcheval.protocol.confidence import plot_confidence
        from matcheval.protocol.gap_figures import plot_gaps, plot_matched_accuracy

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
            (matched,), method = self.matched[criterion], self.known.methods[criterion.value]
            return reliability_figure(self.known, matched, method)
        means = self.gaps.means
        mean = means[means["matching"] == criterion.value].iloc[0]
        return plot_gaps(table, gaps, mean, criterion.description)


def reliability_figure(
    known: ComparedModels, matched: MatchedModel, method: MatchingMethod
) -> "Figure":
    """Draw accuracy against confidence in bins, for the subsets of a matching of one model."""
    from matcheval.protocol.reliability import plot_reliability, reliability_data

    title, (comparison,) = method.criterion.description, known.comparisons
    data = reliability_data(comparison, matched.pairs(), title, method.epsilon, known.seeds)
    return plot_reliability(data)


def compare_models(
    known: ComparedModels,
    analyses: "Sequence[type[PairTableAnalysis]]" = (),
    *,
    progress: bool = False,
) -> Compared:
    """Match models by all criteria, tabulate the runs, and estimate gaps."""
    found = {
        kind.name: AnalysisTable.of(kind, known)
        for kind in each(analyses, "analyses", progress=progress)
    }
    matched = {
        Criterion(name): [MatchedModel.of(one, method, known.seeds) for one in known.comparisons]
        for name, method in known.methods.items()
    }
    tables = {}
    for criterion, models in matched.items():
        shown = each(models, f"matching by {criterion.label}", progress=progress)
        tables[criterion] = tabulate_runs([one.runs() for one in shown])
    return Compared(known, matched, tables, estimate_gaps(known, progress=progress), found)
