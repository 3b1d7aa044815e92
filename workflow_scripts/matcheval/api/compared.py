"""Models compared on a pair of sets: matched, tabulated, and their gaps estimated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.api.reading import UNNAMED, input_warnings, unmatched_warning
from matcheval.errors import InputError
from matcheval.io.progress import each
from matcheval.protocol.compared_models import ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison, suspicions_of
from matcheval.protocol.gaps import GapTables, estimate_gaps
from matcheval.protocol.settings import Criterion, MatchingMethod
from matcheval.protocol.tables import tabulate_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.api.pair_analyses import AnalysisTable, ChosenAnalysis

KINDS = ("gaps", "matched_accuracy", "confidence", "reliability")


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison with its results.

    Attributes
    ----------
    known : ComparedModels
    matched : mapping of Criterion to sequence of MatchedModel
        Every model, in the order of `known`.
    tables : mapping of Criterion to pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, a row per model.
    gaps : GapTables
        What the gaps consist of, by the names of the criteria.
    analyses : mapping of str to AnalysisTable
        Further analyses, by name.
    """

    known: ComparedModels
    matched: Mapping[Criterion, Sequence[MatchedModel]]
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
            method = self.known.methods[criterion.value]
            (comparison,), (matched,) = self.known.comparisons, self.matched[criterion]
            return reliability_figure(comparison, matched, method, self.known.seeds)
        means = self.gaps.means
        mean = means[means["matching"] == criterion.value].iloc[0]
        return plot_gaps(table, gaps, mean, criterion.description)


def reliability_figure(
    comparison: Comparison, matched: MatchedModel, method: MatchingMethod, seeds: Sequence[int]
) -> "Figure":
    """Draw accuracy against confidence in bins, for the subsets of a matching.

    Parameters
    ----------
    comparison : Comparison
    matched : MatchedModel
        The same, matched.
    method : MatchingMethod
        How.
    seeds : sequence of int
        Of the runs.
    """
    from matcheval.protocol.reliability import plot_reliability, reliability_data

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
        Criterion(name): [MatchedModel.of(one, method, known.seeds) for one in known.comparisons]
        for name, method in known.methods.items()
    }
    tables = {}
    for criterion, models in matched.items():
        shown = each(models, f"matching by {criterion.label}", progress=progress)
        tables[criterion] = tabulate_runs([one.runs() for one in shown])
    return Compared(known, matched, tables, estimate_gaps(known, progress=progress), found)
