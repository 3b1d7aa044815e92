"""Models compared on a pair of sets: matched, tabulated, their gaps and further analyses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from matcheval.api.pairs import UNNAMED
from matcheval.errors import InputError, check_known
from matcheval.io.terminal import each
from matcheval.io.text_tables import counted
from matcheval.protocol.comparisons import MANY_UNMATCHED, suspicions_of
from matcheval.protocol.criteria import MARGIN, Criterion

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from matcheval.io.tables import TableSchema
    from matcheval.protocol.compared_models import ComparedModels, MatchedModel
    from matcheval.protocol.gaps import GapTables
    from matcheval.protocol.pair_tables import PairTableAnalysis
    from matcheval.protocol.verdicts import Verdict

_VISIBLE = 0.1  # spread between orders of picks, in half-widths of the interval
KINDS = ("gaps", "matched_accuracy", "confidence", "reliability")


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """A further analysis of a study that makes a table per pair, with default settings."""

    kind: "type[PairTableAnalysis]"
    table: "pd.DataFrame"

    @property
    def module(self) -> ModuleType:
        """With `SCHEMA`, `tabulate` and `plot`; no field, as it has no copy."""
        return import_module(self.kind.__module__)

    @property
    def schema(self) -> "TableSchema":
        """The declaration of the table."""
        schema: TableSchema = self.module.SCHEMA
        return schema

    def figure(self) -> "Figure":
        """Draw its figure, if the analysis has one."""
        if not self.kind.has_figure:
            raise InputError(f"the analysis '{self.kind.name}' has no figure")
        return self.module.plot(self.table)


def chosen_analyses(names: str | Sequence[str]) -> "list[type[PairTableAnalysis]]":
    """Find analyses by their names; those of studies are imported only if there are any."""
    names = [names] if isinstance(names, str) else [*names]
    if not names:
        return []
    from matcheval.protocol.pair_tables import PairTableAnalysis
    from matcheval.registry import ANALYSES

    of_pairs = {kind.name: kind for kind in ANALYSES if issubclass(kind, PairTableAnalysis)}
    for name in names:
        if name not in of_pairs and name in {kind.name for kind in ANALYSES}:
            remedy = f"Here there are {', '.join(of_pairs)}"
            raise InputError(f"the analysis '{name}' needs a study", remedy=remedy)
    check_known("analysis", names, of_pairs)
    return [of_pairs[name] for name in dict.fromkeys(names)]


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison with its results, by criterion: every model in the order of `models`."""

    models: "ComparedModels"
    tables: "Mapping[Criterion, pd.DataFrame]"  # columns of `MODEL_TABLE`, a row per model
    gaps: "GapTables"
    analyses: Mapping[str, AnalysisTable]
    margin: float  # differences of accuracy below it do not matter

    @property
    def pair(self) -> str:
        """Name of the pair."""
        return self.models.pair.name

    @property
    def title(self) -> str:
        """What is compared: a model by its name, if it has one."""
        sets = " against ".join(
            name if origin in (name, name.rpartition(" (")[2][:-1]) else f"{name} ({origin})"
            for origin, name in self.models.pair.datasets.items()
        )
        n, first = len(self.models.comparisons), self.models.comparisons[0]
        if n > 1:
            return f"{n} models: {sets}"
        return sets if first.model == UNNAMED else f"{first.model}: {sets}"

    @property
    def titles(self) -> dict[str, str]:
        """What readers call the matchings, by name."""
        return {criterion.value: criterion.description for criterion in self.tables}

    @cached_property
    def verdict(self) -> "Verdict":
        """What the comparison shows."""
        from matcheval.protocol.verdicts import verdicts, with_accuracies

        models = {
            (self.pair, criterion.value): with_accuracies(self.gaps.models[criterion.value], table)
            for criterion, table in self.tables.items()
        }
        means = (row for _, row in self.gaps.means.iterrows())
        return verdicts(means, models, margin=self.margin)[0]

    @property
    def suspicions(self) -> list[tuple[str, str]]:
        """Models and matchings, and what looks wrong about their predictions and results."""
        of_picks = {c.description: self.unsteady(c) for c in self.tables}
        return [
            *((c.model, text) for c in self.models.comparisons for text in suspicions_of(c)),
            *((title, text) for title, text in of_picks.items() if text),
        ]

    def unsteady(self, criterion: Criterion) -> str:
        """Say if other random picks would move the mean matched gap visibly; else nothing."""
        means, n = self.gaps.means, len(self.models.seeds)
        mean = means[means["matching"] == criterion.value].iloc[0]
        half_width = (mean["matched_gap_high"] - mean["matched_gap_low"]) / 2
        errors = self.tables[criterion]["matched_gap_sem"].dropna()  # picks of models: independent
        spread = math.sqrt((errors**2).sum()) / max(len(errors), 1)
        if not spread > half_width * _VISIBLE:
            return ""
        needed = math.ceil(n * (spread / (half_width * _VISIBLE)) ** 2)
        return (
            f"the matched gap varies by {100 * spread:.2f} points with the order of picks "
            f"(standard deviation of means over {counted(n, 'seed')}), more than a tenth of the "
            f"half-width of its interval; about {needed:,} seeds bring it below"
        )

    @property
    def warnings(self) -> list[str]:
        """What looks wrong about predictions, and where most targets are unmatched."""
        shares = {c: float(t["fraction_unmatched_mean"].mean()) for c, t in self.tables.items()}
        return warnings_of(self.models, shares)

    @cached_property
    def matched(self) -> "dict[Criterion, MatchedModel]":
        """The first model, matched by each criterion; pairs are written of a single model only."""
        from matcheval.protocol.compared_models import MatchedModel

        first, seeds = self.models.comparisons[0], self.models.seeds
        return {
            Criterion(name): MatchedModel.of(first, method, seeds, name)
            for name, method in self.models.methods.items()
        }

    def figure(self, kind: str, criterion: Criterion | None = None) -> "Figure":
        """Draw a figure, one of `KINDS`, by default of the first criterion."""
        from matcheval.protocol.gap_figures import plot_gaps, plot_matched_accuracy
        from matcheval.protocol.reliability import plot_confidence

        criterion = criterion or next(iter(self.tables))
        table, gaps = self.tables[criterion], self.gaps.models[criterion.value]
        if kind == "confidence":
            return plot_confidence(table)
        if kind == "matched_accuracy":
            return plot_matched_accuracy(table, gaps, criterion.description)
        if kind == "reliability":
            if (n := len(self.models.comparisons)) > 1:
                problem = f"a reliability diagram is of one model, not of {n}"
                raise InputError(problem, remedy="Compare the model alone")
            return reliability_figure(self.matched[criterion])
        means = self.gaps.means
        mean = means[means["matching"] == criterion.value].iloc[0]
        return plot_gaps(table, gaps, mean, criterion.description)


def reliability_figure(matched: "MatchedModel") -> "Figure":
    """Draw accuracy against confidence in bins, for the subsets of a matching of one model."""
    from matcheval.protocol.reliability import plot_reliability, reliability_data

    title, epsilon = matched.method.criterion.description, matched.method.epsilon
    seeds = tuple(matched.rows)
    data = reliability_data(matched.comparison, matched.pairs(), title, epsilon, seeds)
    return plot_reliability(data)


def compare_sets(
    models: "ComparedModels",
    analyses: "Sequence[type[PairTableAnalysis]]" = (),
    *,
    margin: float = MARGIN,
    progress: bool = False,
) -> Compared:
    """Match models by all criteria, tabulate the runs, and estimate gaps."""
    # Not before predictions are read, which are often refused: these import pandas.
    from matcheval.protocol.gaps import estimate_gaps
    from matcheval.protocol.jobs import tabulate_runs

    tables_of = {
        kind.name: AnalysisTable(kind, import_module(kind.__module__).tabulate(models))
        for kind in each(analyses, "analyses", progress=progress)
    }
    gaps = estimate_gaps(models, progress=progress)
    tables = {Criterion(name): tabulate_runs(runs) for name, runs in gaps.runs.items()}
    return Compared(models, tables, gaps, tables_of, margin)


def warnings_of(models: "ComparedModels", shares: Mapping[Criterion, float]) -> list[str]:
    """Return what looks wrong, as sentences, given the mean shares of unmatched targets."""
    is_one = len(models.comparisons) == 1
    warnings = [
        *models.warnings,
        *(
            text if is_one else f"{comparison.model}: {text}"
            for comparison in models.comparisons
            for text in suspicions_of(comparison)
        ),
    ]
    for criterion, share in shares.items():
        if share == 1:
            warnings.append(
                f"no target was matched in any run by {criterion.description}: matched accuracies "
                "are NaN (undefined)"
            )
        elif share > MANY_UNMATCHED:
            warnings.append(
                f"{100 * share:.1f} % of the targets are unmatched by {criterion.description}: "
                "matched accuracies are those of a minority"
            )
    return warnings
