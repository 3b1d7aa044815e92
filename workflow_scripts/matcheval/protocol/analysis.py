"""The matched evaluation protocol as an analysis of a study: runs, tables, figures, summary."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, configuration_error
from matcheval.execution import resources
from matcheval.execution.resources import ResourceRequest
from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file, file_states
from matcheval.io.tables import write_table
from matcheval.predictions.layout import Layout, layout_of
from matcheval.protocol.blocks import GroupSource
from matcheval.protocol.compared_models import MatchedModel, read_models
from matcheval.protocol.comparisons import (
    read_comparison,
    suspicions_in,
    suspicions_of,
    with_suspicions,
)
from matcheval.protocol.confidence import plot_confidence
from matcheval.protocol.gap_figures import plot_gaps, plot_matched_accuracy
from matcheval.protocol.gaps import estimate_gaps
from matcheval.protocol.reliability import plot_reliability, reliability_data
from matcheval.protocol.schemas import COMPARISON_RUNS, GAPS, MEAN_GAPS, MODEL_TABLE, PAIRS
from matcheval.protocol.settings import MatchingMethod, MatchingSettings, matching_label
from matcheval.protocol.tables import join_runs, tabulate_runs
from matcheval.protocol.words import write_summary
from matcheval.report.sections import Section
from matcheval.study.analysis import Analysis
from matcheval.study.requests import dataset_size
from matcheval.study.rules import Artifact, ReportEntry, Rule, Wildcards
from matcheval.study.study import Study


def match_predictions(
    *,
    batches: Sequence[Sequence[str]],
    saved: Sequence[str],
    pair: Pair,
    original: Sequence[Path],
    replication: Sequence[Path],
    layouts: Mapping[str, Layout],
    matchings: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    runs: Sequence[Path],
    pairs: Sequence[Path],
) -> None:
    """Match the models of batches by all matchings, and write their runs, and pairs of some."""
    problems, files = ErrorCollector(), zip(original, replication, strict=True)
    pair_files = dict(zip(product(matchings, saved), pairs, strict=True))
    found: list[tuple[str, str]] = []
    tables: dict[Any, list[Any]] = {p: [] for p in product(matchings, range(len(batches)))}
    for batch, model in ((batch, model) for batch, of in enumerate(batches) for model in of):
        with problems.collected():
            comparison = read_comparison(model, pair, next(files), layouts)
            found += [(model, text) for text in suspicions_of(comparison)]
            for name, method in matchings.items():
                matched = MatchedModel.of(comparison, method, seeds)
                tables[name, batch].append(matched.runs())
                if model in saved:
                    write_table(matched.pairs(), pair_files[name, model])
    problems.raise_any()
    for path, parts in zip(runs, tables.values(), strict=True):
        write_table(with_suspicions(join_runs(parts), found), path)
    for model, text in found:
        logging.warning("warning: %s, %s", model, text)
    logging.info("%d models, %d matchings, %d seeds", len(original), len(matchings), len(seeds))


def write_model_tables(
    *, matchings: Sequence[str], runs: Sequence[Path], outputs: Sequence[Path]
) -> None:
    """Average the runs of a pair over seeds, a table per matching."""
    for matching, mine, files in zip(
        matchings, _shares(runs, len(matchings)), _shares(outputs, len(matchings)), strict=True
    ):
        read = [COMPARISON_RUNS.read(path) for path in mine]
        table = with_suspicions(MODEL_TABLE.from_frame(tabulate_runs(read)), suspicions_in(read))
        for path in files:
            write_table(table, path)
        logging.info("%s: %d models from %d batches", matching, table.num_rows, len(mine))


def _shares(files: Sequence[Path], n: int) -> Iterator[Sequence[Path]]:
    """Divide files evenly between matchings."""
    for number in range(n):
        yield files[number * len(files) // n : (number + 1) * len(files) // n]


def write_gaps(
    *,
    models: Sequence[str],
    pair: Pair,
    matchings: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    layouts: Mapping[str, Layout],
    groups: Mapping[str, GroupSource],
    original: Sequence[Path],
    replication: Sequence[Path],
    tables: Sequence[Path],
    means: Sequence[Path],
) -> None:
    """Estimate the gaps of all models on a pair, which share resamples and splits."""
    files = {"original": original, "replication": replication}
    found = estimate_gaps(read_models(pair, models, files, matchings, seeds, layouts, groups))
    for frame, paths in zip(found.models.values(), _shares(tables, len(matchings)), strict=True):
        for path in paths:
            write_table(GAPS.from_frame(frame), path)
    for path in means:
        write_table(MEAN_GAPS.from_frame(found.means), path)
    logging.info("%d models, %d matchings", len(models), len(matchings))


def write_study_summary(
    *,
    study: str,
    titles: Mapping[str, str],
    means: Sequence[Path],
    tables: Sequence[Path],
    outputs: Sequence[Path],
) -> None:
    """Write the summary page of a study in Markdown."""
    gaps = pd.concat([MEAN_GAPS.read(path).to_pandas() for path in means], ignore_index=True)
    suspicions = suspicions_in([MODEL_TABLE.read(path) for path in tables])
    text = write_summary(f"Study `{study}`", gaps, titles, suspicions)
    with atomic_file(outputs[0]) as partial:
        partial.write_text(text, encoding="utf-8")
    logging.info("%d pairs summarised", len(means))


def draw_confidence(*, table: Path, outputs: Sequence[Path]) -> None:
    """Plot accuracy against mean confidence of the models on one pair."""
    save_figure(plot_confidence(MODEL_TABLE.read(table).to_pandas()), *outputs)


def draw_matched_accuracy(*, table: Path, gaps: Path, title: str, outputs: Sequence[Path]) -> None:
    """Plot accuracies and gaps of the models on one pair before and after matching."""
    models, of_models = MODEL_TABLE.read(table).to_pandas(), GAPS.read(gaps).to_pandas()
    save_figure(plot_matched_accuracy(models, title, of_models), *outputs)


def draw_gaps(
    *, table: Path, gaps: Path, means: Path, matching: str, title: str, outputs: Sequence[Path]
) -> None:
    """Plot what the gaps of one pair and matching consist of."""
    models, of_models = MODEL_TABLE.read(table).to_pandas(), GAPS.read(gaps).to_pandas()
    of_matching = MEAN_GAPS.read(means).to_pandas().set_index("matching", drop=False)
    save_figure(plot_gaps(models, of_models, of_matching.loc[matching], title), *outputs)


def draw_reliability(
    *,
    model: str,
    pair: Pair,
    original: Sequence[Path],
    replication: Sequence[Path],
    layouts: Mapping[str, Layout],
    pairs: Path,
    title: str,
    epsilon: float,
    seeds: Sequence[int],
    bins: int,
    outputs: Sequence[Path],
) -> None:
    """Plot the reliability diagram of one model: whole sets, matched and unmatched subsets."""
    comparison = read_comparison(model, pair, (original[0], replication[0]), layouts)
    data = reliability_data(comparison, PAIRS.read(pairs), title, epsilon, seeds)
    save_figure(plot_reliability(data, bins), *outputs)
    logging.info("%s", {subset.role.value: subset.n_per_seed for subset in data.subsets})


_CAPTIONS = {
    "Summary": """For every pair of sets and matching, over all models of the study: the gap and
the matched gap with 95 % intervals for the sampling of the test sets, whether the matched gap is
within sampling error of 0, which part of the gap goes with confidence, and by how much a gap of
which confidence gives no warning would be narrowed. Only a difference from the latter speaks for
a warning.""",
    "Accuracy and confidence": """Accuracy against mean confidence on both sets of **{{
snakemake.wildcards.pair }}**, one point per model and set. On the dashed line, a model is
calibrated on average; below it, it is more confident than accurate (overconfident). Thin lines
join the two points of a model, if there are at most 60 models: along the dashed line, mean
confidence changes with accuracy; straight down, accuracy falls while mean confidence stays the
same.""",
    "Matched accuracy": """Models from least to most accurate on the original set of **{{
snakemake.wildcards.pair }}**, with datapoints matched by ``{{ snakemake.wildcards.matching }}``.
Left: accuracy (solid) and matched accuracy (dotted) on both sets; the smaller set is the target
of the matching unless the study says otherwise. Right: accuracy differences, original minus
replication, for all points and for matched points, and below them the share of targets without a
match. With more than 30 models, points are models and lines are running medians over 15 models.
Series have gaps at models for which no target was matched.

Bars of the matched difference are 95 % intervals for the sampling of the test sets. The other
faint bars extend one standard deviation over seeds to either side, the spread due to the random
choices of the matching. The grey band shows the size of that error for the difference of all
points: if both sets were equally hard, 95 % of the differences would lie within ±1.96 · √(a(1 −
a)/n + b(1 − b)/m), for accuracies a and b on sets of n and m points (binomial, independent
sets). It does not apply to the matched difference.

A matched difference nearer to zero than the difference of all points does not by itself show
that part of the accuracy loss is explained by confidence: the unmatched targets are left out.
The figure of gaps has the decomposition, and what the narrowing would be without any warning.""",
    "Gaps": """What the gaps of the models on **{{ snakemake.wildcards.pair }}** consist of, with
datapoints matched by ``{{ snakemake.wildcards.matching }}``; models by increasing accuracy on
the original, and their mean on the right. Top: gap and matched gap. Middle: the gap in two parts
that add up to it: the part that goes with confidence, and the part at equal confidence; no
datapoint is left out. Bottom: by how much matching narrows the gap in samples of both sets,
joined to the narrowing of a gap of the same size of which confidence gives no warning, because
errors rise by one factor at every confidence. Only the difference between the two speaks for a
warning.

Bars are 95 % intervals for the sampling of the test sets: of datapoints, of paired images, or of
groups where these are known. A matched gap whose interval holds 0 is within sampling error of 0.
A matched gap of a few tenths of a point is left by a shift of confidence alone
(docs/protocol.md).""",
    "Reliability": """Model **{{ snakemake.wildcards.model }}** on **{{ snakemake.wildcards.pair
}}**, matched by ``{{ snakemake.wildcards.matching }}``: (a) accuracy against confidence in bins
of equal width, drawn at the mean confidence of the bin, and (b) density of the confidences on a
logarithmic scale, in bins of width 0.04. Both panels show the two whole sets, their matched
subsets and the unmatched targets. Where two curves of (a) coincide, accuracy at that confidence
is the same on both, up to sampling error; (b) shows at which confidences the unmatched targets
lie. Curves of the source are wide and those of the target narrow, so that both are visible where
they coincide. Matched and unmatched subsets are pooled over seeds, and their n is the mean per
seed. In (a), small hollow markers are bins with fewer than 10 datapoints (per seed), which are
not joined by lines; in (b), curves have gaps at bins without datapoints.""",
}


class Matching(Analysis):
    """Matches the predictions of all models on all pairs whose sets have probabilities."""

    name: ClassVar[str] = "matching"
    Settings: ClassVar[type[MatchingSettings]] = MatchingSettings
    settings: MatchingSettings

    def __init__(self, settings: MatchingSettings, study: Study) -> None:
        super().__init__(settings, study)
        own, formats, tables = study.folder, study.figure_suffixes, (".parquet", ".csv")
        self.matchings = list(settings.methods)
        self.seeds = list(range(settings.seeds))
        self.runs = Artifact(f"{own}/matched/{{pair}}/{{matching}}/{{batch}}", (".parquet",))
        self.matched_pairs = Artifact(f"{own}/pairs/{{pair}}/{{matching}}/{{model}}", (".parquet",))
        self.result = Artifact(f"{own}/tables/{{pair}}/{{matching}}", tables)
        self.gaps = Artifact(f"{own}/gaps/{{pair}}/{{matching}}", tables)
        self.means = Artifact(f"{own}/gaps/{{pair}}", tables)
        entry = ReportEntry("Summary", _CAPTIONS["Summary"])
        self.summary = Artifact(f"{own}/summary", (".md",), entry, (".md",))

        def figure(stem: str, category: str, *wildcards: str) -> Artifact:
            labels = {name: f"{{{name}}}" for name in ("pair", *wildcards)}
            entry = ReportEntry(category, _CAPTIONS[category], labels)
            return Artifact(f"{own}/figures/{{pair}}/{stem}", formats, entry, formats)

        self.confidence_plot = figure("confidence", "Accuracy and confidence")
        self.accuracy_plot = figure("{matching}/matched_accuracy", "Matched accuracy", "matching")
        self.gaps_plot = figure("{matching}/gaps", "Gaps", "matching")
        self.reliability_plot = figure(
            "{matching}/reliability/{model}", "Reliability", "matching", "model"
        )

    @classmethod
    def title(cls) -> str:
        """Its name for a reader."""
        return "Gaps before and after matching"

    def check(self) -> None:
        """Check the models that are named."""
        for key in ("reliability_models", "save_pairs"):
            names = getattr(self.settings, key)
            self.study.check_models(names, self.field(key))
            if names and not self.pairs:
                raise configuration_error(
                    "no pair can be matched: every pair has a set without probabilities",
                    field=self.field(key),
                    remedy="Leave it empty; such a study has replication tables only",
                )

    def check_can_be_matched(self, pair: str) -> None:
        """Check that both sets of a pair have probabilities."""
        if pair not in self.pairs:
            raise configuration_error(
                f"pair '{pair}' cannot be matched: one of its sets has no probabilities",
                field=f"pairs.{pair}",
                remedy="It takes part in the replication tables only",
            )

    @property
    def pairs(self) -> list[str]:
        """Names of the pairs that can be matched: both sets have probabilities."""
        datasets = self.study.datasets
        return [
            name
            for name, pair in self.study.pairs.items()
            if all(datasets[d].has_probabilities for d in pair.datasets.values())
        ]

    @property
    def titles(self) -> dict[str, str]:
        """What readers call the matchings, by name."""
        return {name: method.title(name) for name, method in self.settings.methods.items()}

    def shown_wildcards(self, wildcards: Mapping[str, str]) -> Mapping[str, str]:
        """Return the wildcards of a file, a matching by the name that readers know."""
        return {k: matching_label(v) if k == "matching" else v for k, v in wildcards.items()}

    @property
    def batches(self) -> dict[str, list[str]]:
        """Names of the models that are matched in one job, by the name of the batch."""
        names, size = list(self.study.models), self.settings.models_per_job
        starts = range(0, len(names), size)
        return {f"{start // size:03d}": names[start : start + size] for start in starts}

    @property
    def saved_models(self) -> list[str]:
        """Models whose matched pairs are written: for reading them, or for a diagram."""
        saved = {*self.settings.save_pairs, *self.settings.reliability_models}
        return [model for model in self.study.models if model in saved]

    @property
    def batches_with_pairs(self) -> list[str]:
        """Batches with models whose pairs are written; one job of a pair matches all of these."""
        saved = set(self.saved_models)
        return [batch for batch, models in self.batches.items() if not saved.isdisjoint(models)]

    # --- its files

    @property
    def stages(self) -> Mapping[str, list[str]]:
        """Runs and matched pairs; tables and the summary; figures."""
        places = {"pair": self.pairs, "matching": self.matchings}
        gaps = [
            file
            for pair in self.pairs
            for file in (
                *self.gaps.expand(pair=pair, matching=self.matchings),
                *self.means.expand(pair=pair),
            )
        ]
        return {
            "matched": [
                *self.runs.expand(**places, batch=self.batches),
                *self.matched_pairs.expand(**places, model=self.saved_models),
            ],
            "tables": [
                *self.result.expand(**places),
                *gaps,
                *(self.summary.files if self.pairs else []),
            ],
            "figures": [
                *self.confidence_plot.expand(pair=self.pairs),
                *self.accuracy_plot.expand(**places),
                *self.gaps_plot.expand(**places),
                *self.reliability_plot.expand(**places, model=self.settings.reliability_models),
            ],
        }

    @property
    def targets(self) -> list[str]:
        """All files."""
        return [file for files in self.stages.values() for file in files]

    @property
    def report_section(self) -> Section:
        """Gaps of all pairs, matchings and models, besides the figures."""
        places = [[pair, matching] for pair, matching in product(self.pairs, self.matchings)]
        if not places:
            return self.section()
        files = self._summary_inputs
        gaps = [self.gaps.file(".parquet", pair=pair, matching=name) for pair, name in places]
        values = {"titles": self.titles, "places": places}
        return self.section({**files, "gaps": gaps}, values, [self.summary])

    @property
    def _summary_inputs(self) -> dict[str, list[str]]:
        """Tables of mean gaps, one per pair, and by model, which hold warnings."""
        return {
            "means": [self.means.file(".parquet", pair=pair) for pair in self.pairs],
            "tables": [
                self.result.file(".parquet", pair=pair, matching=matching)
                for pair, matching in product(self.pairs, self.matchings)
            ],
        }

    # --- inputs and arguments of jobs

    def inputs(self, pair: str, models: Iterable[str] | None = None) -> list[str]:
        """Return what a job that reads models' predictions on a pair waits for."""
        self.check_can_be_matched(pair)
        datasets = self.study.pairs[pair].datasets.values()
        return [file for name in datasets for file in self.study.results_inputs(name, models)]

    def inputs_with_groups(self, pair: str, models: Iterable[str] | None = None) -> list[str]:
        """Return the same, the files in which groups are found, and classes to be compared."""
        files = [self._datapoints(name) for name in self.study.pairs[pair].datasets.values()]
        return [*self.inputs(pair, models), *filter(None, files), *self._classes(pair)]

    def _classes(self, pair: str) -> list[str]:
        """Return the file that says that both sets have the same classes, if it is needed."""
        late = pair in self.study.pairs_compared_late
        return [f"{self.study.folder}/classes/{pair}.txt"] if late else []

    def _datapoints(self, dataset: str) -> str | None:
        spec = self.study.datasets.get(dataset)
        if spec is not None and not spec.has_images:
            return None
        return self.study.description_files(dataset)[1]

    def _arguments(self, pair: str, models: Iterable[str]) -> dict[str, Any]:
        """What all jobs of a pair take: names, models' files, their layouts, and seeds."""
        study, of_pair = self.study, self.study.pairs[pair]
        return {
            # The matching ignores what belongs together.
            "pair": {"name": of_pair.name, **of_pair.datasets, "source": of_pair.source},
            "seeds": self.seeds,
            "layouts": {
                origin: asdict(layout_of(study.datasets[dataset]))
                for origin, dataset in of_pair.datasets.items()
            },
            **{
                origin: [study.predictions_file(dataset, model) for model in models]
                for origin, dataset in of_pair.datasets.items()
            },
        }

    @property
    def _methods(self) -> dict[str, Any]:
        return {name: one.model_dump(mode="json") for name, one in self.settings.methods.items()}

    def matching_arguments(self, pair: str, batches: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of `match_predictions` for batches that are matched in one job."""
        models = [model for batch in batches for model in self.batches[batch]]
        return {
            **self._arguments(pair, models),
            "matchings": self._methods,
            "batches": [self.batches[batch] for batch in batches],
            "saved": [model for model in self.saved_models if model in models],
        }

    def pair_arguments(self, pair: str, models: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the arguments of a job that `compared_models.read_models` takes."""
        study, of_pair = self.study, self.study.pairs[pair]
        chosen = list(study.models if models is None else models)
        files = study.group_files.get(pair, {})
        return {
            **self._arguments(pair, chosen),
            "pair": vars(of_pair),
            "models": chosen,
            "matchings": self._methods,
            "groups": {
                origin: {
                    "file": files.get(dataset),
                    "kind": study.datasets[dataset].kind,
                    "datapoints": self._datapoints(dataset),
                }
                for origin, dataset in of_pair.datasets.items()
            },
        }

    def custom_files_state(
        self, pair: str, models: Iterable[str] | None = None, *, groups: bool = True
    ) -> list[tuple[int, int]]:
        """Return size and time of the user's files of predictions on a pair, and of groups."""
        study, chosen = self.study, list(self.study.models if models is None else models)
        of_groups = list(study.group_files.get(pair, {}).values()) if groups else []
        datasets = study.pairs[pair].datasets.values()
        states = [study.custom_results_state(name, chosen) for name in datasets]
        return [*file_states(of_groups), *(state for of_set in states for state in of_set)]

    def images(self, pair: str) -> int:
        """Return the size of the larger set of a pair."""
        datasets = self.study.pairs[pair].datasets.values()
        return max(dataset_size(self.study, name).images for name in datasets)

    # --- its rules

    @property
    def rules(self) -> list[Rule]:
        """From predictions to runs, to tables and figures."""
        matching, parquet = {"matching": self.matchings}, ".parquet"
        table, gaps = self.result.file(parquet), self.gaps.file(parquet)
        return [
            *self._matching_rules,
            Rule(
                name="tabulate_runs",
                run=write_model_tables,
                input={
                    "runs": lambda w: self.runs.expand(
                        pair=w.pair, matching=self.matchings, batch=self.batches
                    )
                },
                output={"outputs": self.result.expand(**matching)},
                arguments=lambda _: {"matchings": self.matchings},
                message="Tabulating the matchings of {wildcards.pair}",
            ),
            Rule(
                name="estimate_gaps",
                run=write_gaps,
                input={"files": lambda w: self.inputs_with_groups(w.pair)},
                output={"tables": self.gaps.expand(**matching), "means": self.means},
                arguments=lambda w: self.pair_arguments(w.pair),
                custom_files=lambda w: self.custom_files_state(w.pair),
                request=lambda w: resources.of_gaps(
                    len(self.study.models), len(self.matchings), self.images(w.pair)
                ),
                message="Estimating the gaps of {wildcards.pair}",
            ),
            Rule(
                name="write_summary",
                run=write_study_summary,
                input=self._summary_inputs,
                output={"outputs": self.summary},
                arguments=lambda _: {"study": self.study.name, "titles": self.titles},
                message=f"Summarising study {self.study.name}",
            ),
            Rule(
                name="plot_confidence",
                run=draw_confidence,
                input={"table": self.result.file(parquet, matching=self.matchings[0])},
                output={"outputs": self.confidence_plot},
                message="Plotting accuracy against confidence for {wildcards.pair}",
            ),
            Rule(
                name="plot_matched_accuracy",
                run=draw_matched_accuracy,
                input={"table": table, "gaps": gaps},
                output={"outputs": self.accuracy_plot},
                arguments=lambda w: {"title": self.titles[w.matching]},
                values=matching,
                message="Plotting matched accuracy for {wildcards.pair} by {wildcards.matching}",
            ),
            Rule(
                name="plot_gaps",
                run=draw_gaps,
                input={"table": table, "gaps": gaps, "means": self.means.file(parquet)},
                output={"outputs": self.gaps_plot},
                arguments=lambda w: {"title": self.titles[w.matching]},
                values=matching,
                message="Plotting gaps of {wildcards.pair} by {wildcards.matching}",
            ),
            Rule(
                name="plot_reliability",
                run=draw_reliability,
                input={
                    "files": lambda w: self.inputs(w.pair, [w.model]),
                    "pairs": self.matched_pairs.file(),
                },
                output={"outputs": self.reliability_plot},
                arguments=lambda w: {
                    **self._arguments(w.pair, [w.model]),
                    "epsilon": self.settings.methods[w.matching].epsilon,
                    "title": self.titles[w.matching],
                    "bins": self.settings.reliability_bins,
                },
                values=matching,
                message="Plotting reliability of {wildcards.model} on {wildcards.pair} by "
                "{wildcards.matching}",
            ),
        ]

    @property
    def _matching_rules(self) -> list[Rule]:
        """Rules that match a batch, and all batches with models whose pairs are saved.

        Each prediction file is read once for all matchings: reading a file takes as long as some
        runs, and starting a job as long as a hundred.
        """
        with_pairs, matching = self.batches_with_pairs, {"matching": self.matchings}
        alone = [batch for batch in self.batches if batch not in with_pairs]

        def rule(
            name: str,
            of: str,
            output: Mapping[str, list[str]],
            batches: Callable[[Wildcards], Sequence[str]],
        ) -> Rule:
            def models(w: Wildcards) -> list[str]:
                return [model for batch in batches(w) for model in self.batches[batch]]

            def request(w: Wildcards) -> ResourceRequest:
                n_runs = len(self.seeds) * len(self.matchings)
                return resources.of_matching(len(models(w)), n_runs, self.images(w.pair))

            return Rule(
                name=name,
                run=match_predictions,
                input={
                    "files": lambda w: self.inputs(w.pair, models(w)),
                    "classes": lambda w: self._classes(w.pair),
                },
                output=output,
                arguments=lambda w: self.matching_arguments(w.pair, batches(w)),
                custom_files=lambda w: self.custom_files_state(w.pair, models(w), groups=False),
                request=request,
                values={"batch": alone},
                message=f"Matching {{wildcards.pair}}, {of}",
            )

        of_batch = {"runs": self.runs.expand(**matching), "pairs": []}
        rules = [
            rule("match_predictions", "batch {wildcards.batch}", of_batch, lambda w: [w.batch])
        ]
        if self.saved_models:
            of_saved = {
                "runs": self.runs.expand(**matching, batch=with_pairs),
                "pairs": self.matched_pairs.expand(**matching, model=self.saved_models),
            }
            rules.append(
                rule(
                    "match_and_save_pairs", "batches with models whose pairs are saved",
                    of_saved, lambda _: with_pairs,
                )
            )  # fmt: skip
        return rules
