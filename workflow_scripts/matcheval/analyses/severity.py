"""Gaps from a base to sets of known shift, with what matching and confidence say of them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.datasets.suites import Member, Pair
from matcheval.errors import InputError, configuration_error
from matcheval.figures import style
from matcheval.figures.forms import Series, curves, drawing, panels
from matcheval.io import tables
from matcheval.io.tables import Column, TableSchema, fraction, interval, text
from matcheval.io.text_tables import counted
from matcheval.protocol import compared_models
from matcheval.protocol.analysis import Matching
from matcheval.protocol.compared_models import MEAN, ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison, paired_images
from matcheval.protocol.decomposition import bin_sets, decompose_models, scored
from matcheval.protocol.schemas import CRITERION, MATCHING
from matcheval.protocol.settings import MatchingMethod, matching_label
from matcheval.settings import Boolean, EvaluatedName, Need, SuiteName
from matcheval.statistics.intervals import LEVEL
from matcheval.study.checks import check_label_spaces, check_need
from matcheval.study.tables import SuiteFiles, SuiteTableAnalysis, SuiteTableSettings

SCHEMA = TableSchema(
    "gaps by severity",
    tables.MODEL,
    text("suite", "name of the suite"),
    tables.DATASET,
    text("group", "group of the set; empty if not said"),
    text("subgroup", "subgroup of the set; empty if not said"),
    replace(tables.SEVERITY, meaning="severity of the shift; 0 for the base; or NaN"),
    text("base", "name of the base, the original"),
    MATCHING,
    CRITERION,
    Column("epsilon", pa.float64(), "1", "largest difference of matched scores"),
    Column("paired", pa.bool_(), "", "whether the set shows the base's images"),
    Column("n", pa.int32(), "datapoints", "size of the set"),
    fraction("gap", "accuracy on the base minus accuracy on the set"),
    fraction("gap_se", "its standard error: standard deviation over resamples"),
    *interval("gap"),
    fraction("confidence_part", "part of gap that confidence explains, in bins"),
    *interval("confidence"),
    fraction("conditional_part", "part of gap at equal confidence, in bins"),
    *interval("conditional"),
    fraction("matched_gap", "gap of the matched subsets, mean over seeds"),
    fraction("matched_gap_se", "its standard error, given confidences and picks"),
    *interval("matched_gap"),
    fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
    text("reason", "why values are NaN; empty if none is"),
    summary=lambda table: table[table["model"] == MEAN],
    shown={
        "Set": "{dataset}", "Subgroup": "{subgroup}", "Severity": "{severity:s}",
        "Matching": "{matching}", "Gap": "{gap:+.2%}", "SE": "{gap_se:+.2%}",
        "Confidence part": "{confidence_part:+.2%}", "Conditional part": "{conditional_part:+.2%}",
        "Matched gap": "{matched_gap:+.2%}", "SE ": "{matched_gap_se:+.2%}",
        "Unmatched (%)": "{fraction_unmatched:.1%}",
    },
)  # fmt: skip


def tabulate(
    files: SuiteFiles, *, matchings: Mapping[str, MatchingMethod], seeds: Sequence[int],
    paired: bool = True, confidence: float = LEVEL,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate gaps, their parts and matched gaps from a base to itself and each set of a suite."""
    suite, base, on_base = files.suite, files.base, files.read(files.base)
    methods = {name: MatchingMethod.model_validate(m) for name, m in matchings.items()}
    rows: list[dict[str, Any]] = []
    others = [member for member in suite.members if member.dataset != base]
    for member in (Member(base, severity=0.0), *others):
        on_set = on_base if member.dataset == base else files.read(member.dataset)
        pair = Pair(member.dataset, base, member.dataset, paired=paired, confidence=confidence)
        comparisons = tuple(
            Comparison(model, pair, original, replication)
            for model, original, replication in zip(files.models, on_base, on_set, strict=True)
        )
        blocks = None
        if paired:
            try:
                blocks = paired_images(comparisons[0].source, comparisons[0].target)
            except InputError as error:
                problem = f"'{member.dataset}' and the base '{base}': {error}"
                raise InputError(problem, field="severity.paired") from error
        compared = ComparedModels(pair, comparisons, methods, tuple(seeds), blocks)
        columns = {
            "suite": suite.name, "dataset": member.dataset, "group": member.group,
            "subgroup": member.subgroup, "base": base, "paired": paired, "n": len(on_set[0]),
            "severity": float("nan") if member.severity is None else member.severity,
        }  # fmt: skip
        rows += [columns | row for row in _model_rows(compared)]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _model_rows(compared: ComparedModels) -> Iterator[dict[str, Any]]:
    """Yield, for each matching, the rows of all models and that of their mean."""
    binned = [bin_sets(*scored(comparison)) for comparison in compared.comparisons]
    parts, mean = decompose_models(
        binned, source_is_original=compared.sign == 1, blocks=compared.blocks,
        level=compared.pair.confidence,
    )  # fmt: skip
    for name, method in compared.methods.items():
        matched = [
            MatchedModel.of(comparison, method, compared.seeds, name)
            for comparison in compared.comparisons
        ]
        unmatched = [float(model.fractions_unmatched.mean()) for model in matched]
        errors = [compared_models.error_of_model(model, compared.blocks) for model in matched]
        error_of_mean = compared_models.error_of_mean(matched, compared.blocks)
        for model, gap, error, share in zip(
            [*(model.comparison.model for model in matched), MEAN], [*parts, mean],
            [*errors, error_of_mean], [*unmatched, float(np.mean(unmatched))], strict=True,
        ):  # fmt: skip
            reasons = gap.reason if np.isnan(gap.gap_se) else "", error.reason
            yield vars(gap) | gap.parts | vars(error) | {
                "model": model, "matching": name, "criterion": method.criterion.value,
                "epsilon": method.epsilon, "fraction_unmatched": share,
                "reason": "; ".join(filter(None, reasons)),
            }  # fmt: skip


_COLUMNS = 4
_PARTS = (
    Series("gap", style.GAP, "gap"),
    Series("confidence_part", replace(style.MODELS, line="--"), "confidence part", "confidence"),
    Series("conditional_part", replace(style.FITTED, line="-."), "conditional part", "conditional"),
)
_MATCHED = (style.MATCHED_GAP, style.UNMATCHED)


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot gap, both parts of it and matched gaps against severity, in a panel per subgroup."""
    means = table[(table["model"] == MEAN) & table["severity"].notna()]
    base = means[means["dataset"] == means["base"]]
    shifted = means[means["dataset"] != means["base"]]
    subgroups = shifted["subgroup"].unique().tolist()
    n_columns = min(_COLUMNS, len(subgroups))
    size = 0.8 + 1.5 * max(n_columns, 3), 1.25 + 1.2 * -(-len(subgroups) // n_columns)
    models = counted(len(set(table["model"]) - {MEAN}), "model")
    title = f"{table['suite'].iloc[0]}: gaps by severity, mean of {models}"
    with drawing(*size, title, legend_columns=2) as figure:
        axes = panels(figure, len(subgroups), _COLUMNS)
        for panel, subgroup in zip(axes, subgroups, strict=True):
            _draw_panel(panel, pd.concat([base, shifted[shifted["subgroup"] == subgroup]]))
            panel.set_xticks(sorted(set(means["severity"])))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_title(style.shortened(subgroup, 20), fontsize=style.NOTE_SIZE)
        figure.supxlabel("Severity", fontsize=style.NOTE_SIZE + 1)
        figure.supylabel("Percentage points", fontsize=style.NOTE_SIZE + 1)
    return figure


def _draw_panel(axes: "style.Axes", table: pd.DataFrame) -> None:
    """Draw gaps against severity, as means over sets of equal severity, with interval bands."""
    by_matching = dict(iter(table.groupby("matching", sort=False)))
    drawn = [(rows, part) for rows in [*by_matching.values()][:1] for part in _PARTS]
    for (matching, rows), look in zip(by_matching.items(), itertools.cycle(_MATCHED), strict=False):
        label = f"matched gap, {matching_label(str(matching))}"
        drawn.append((rows, Series("matched_gap", replace(look, line=":"), label)))
    for rows, part in drawn:
        means = rows.groupby("severity").mean(numeric_only=True)
        curves(axes, means, [part], marker=part.look.marker, markersize=2)
    style.draw_zero(axes)


class SeveritySettings(SuiteTableSettings):
    """Suites of shifts of known severity, each with the set that is severity 0."""

    suites: dict[SuiteName, EvaluatedName] = Field(
        {}, description="The base, which is not shifted, by suite"
    )
    paired: Boolean = Field(
        True, description="All sets show the base's images; sizes and labels are checked"
    )


class Severity(SuiteTableAnalysis):
    """Compare gaps from a base to every set of a suite with the severity of the sets' shifts."""

    name: ClassVar[str] = "severity"
    caption: ClassVar[str] = (
        "Gaps from the base to the sets of suite **{{ snakemake.wildcards.suite }}** against "
        "the severity of the shift, means over models: the gap, what confidence explains "
        "of it, what remains at equal confidence, and the matched gaps. Severity 0 is the base "
        "itself. Bands are {level} intervals."
    )
    Settings: ClassVar[type[SeveritySettings]] = SeveritySettings
    settings: SeveritySettings

    def check_suite(self, name: str, base: str) -> None:
        """Check that every set can be matched with the base, and that some set has a severity."""
        members, field = self.study.suites[name].members, self.field("suites", name)
        for dataset in (base, *(member.dataset for member in members)):
            check_need(self.study, dataset, Need.ACCURACIES, field)
            if not self.study.datasets[dataset].has_probabilities:
                raise configuration_error(f"'{dataset}' has no probabilities", field=field)
            check_label_spaces(self.study, field, base, dataset)
        for member in members:
            if member.counting or member.all_labels:
                problem = f"'{member.dataset}' counts some classes, groups or several labels"
                remedy = "Compare sets with the classes and labels of the base"
                raise configuration_error(problem, field=field, remedy=remedy)
        if all(member.severity is None for member in members):
            remedy = f"Add severity to the members under suites.{name}"
            raise configuration_error("no set has a severity", field=field, remedy=remedy)

    @property
    def options(self) -> dict[str, Any]:
        """Options of `tabulate`: settings, and the matchings and seeds of the study."""
        matching = self.study.analysis(Matching)
        matchings = {n: m.model_dump(mode="json") for n, m in matching.settings.methods.items()}
        return super().options | {"matchings": matchings, "seeds": matching.seeds}
