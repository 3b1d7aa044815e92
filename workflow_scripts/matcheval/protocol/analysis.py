"""The matched evaluation protocol as an analysis of a study: runs, tables, figures, summary."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from matcheval.datasets.suites import Pair
from matcheval.errors import configuration_error
from matcheval.figures.style import save_figure
from matcheval.io.files import write_text
from matcheval.predictions.layout import layout_of
from matcheval.protocol.compared_models import ComparedModels, MatchedModel, PairFiles
from matcheval.protocol.criteria import epsilon_warnings
from matcheval.protocol.figures import plot_confidence, plot_gaps, plot_matched_accuracy
from matcheval.protocol.reliability import plot_reliability
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import MatchingSettings, matching_label
from matcheval.protocol.verdicts import StudyVerdicts
from matcheval.protocol.words import summary_page
from matcheval.report.sections import Section
from matcheval.settings import ModelNames, Name, Need, Ref, Settings, UniqueTuple
from matcheval.statistics.intervals import at_level
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, ReportEntry, Wildcards, call
from matcheval.study.study import Study
from matcheval.study.tables import TableAnalysis
from matcheval.study.work import dataset_size

_MANY_MODELS = 32  # whose gaps are worth a second processor core


def write_study_summary(
    *,
    study: str,
    titles: Mapping[str, str],
    places: Sequence[tuple[str, str]],
    margin: float,
    confidence: float,
    means: Sequence[Path],
    tables: Sequence[Path],
    gaps: Sequence[Path],
    outputs: Sequence[Path],
) -> None:
    """Write a study's summary page in Markdown: the verdicts on its pairs, and tables of gaps."""
    data = {"means": means, "tables": tables, "gaps": gaps}
    read = StudyVerdicts.read(data, places, margin, confidence)
    text = summary_page(
        f"Study `{study}`", read.means, titles, read.verdicts, read.suspicions, confidence
    )
    write_text(outputs[0], text)
    logging.info("%d pairs summarised", len(means))


def draw_confidence(*, table: Path, outputs: Sequence[Path]) -> None:
    """Plot each model's accuracy against its mean confidence, on both sets of a pair."""
    save_figure(plot_confidence(MODEL_TABLE.read(table).to_pandas()), *outputs)


def draw_matched_accuracy(
    *, table: Path, gaps: Path, title: str, confidence: float, outputs: Sequence[Path]
) -> None:
    """Plot each model's accuracies and gap on a pair, before and after matching."""
    models, model_gaps = MODEL_TABLE.read(table).to_pandas(), GAPS.read(gaps).to_pandas()
    save_figure(plot_matched_accuracy(models, model_gaps, title, confidence), *outputs)


def draw_gaps(
    *, table: Path, gaps: Path, means: Path, matching: str, title: str, confidence: float,
    outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Plot the gaps of a pair's models, their parts, and the matched gaps by one matching."""
    models, model_gaps = MODEL_TABLE.read(table).to_pandas(), GAPS.read(gaps).to_pandas()
    mean = MEAN_GAPS.read(means).to_pandas().set_index("matching", drop=False).loc[matching]
    save_figure(plot_gaps(models, model_gaps, mean, title, confidence), *outputs)


def draw_reliability(
    *, files: PairFiles, matching: str, bins: int, outputs: Sequence[Path]
) -> None:
    """Match one model, and plot its reliability on both sets, matched and unmatched subsets."""
    (comparison,) = files.comparisons()
    matched = MatchedModel.of(comparison, files.matchings[matching], files.seeds, matching)
    save_figure(plot_reliability(matched, bins), *outputs)


_CAPTIONS = {
    "Summary": """For every pair of sets and matching, over all models of the study: the gap and
the matched gap with {level} intervals for the sampling of the test sets, which part of the gap
confidence explains, and by how much matching would reduce the gap if confidence explained nothing.
Only a difference from the latter is a finding.""",
    "Accuracy and confidence": """Accuracy against mean confidence on both sets of **{{
snakemake.wildcards.pair }}**, one point per model and set. On the dashed line, a model is
calibrated on average; below it, it is overconfident. Thin lines join the two points of a model, of
at most 60 models: along the dashed line, confidence changes with accuracy; straight down, accuracy
falls while confidence stays the same.""",
    "Matched accuracy": """Models from least to most accurate on the original set of **{{
snakemake.wildcards.pair }}**, with datapoints matched by ``{{ snakemake.wildcards.matching }}``.
Left: accuracy (solid) and matched accuracy (dotted) on both sets. Right: their differences,
original minus replication, and below them the share of targets without a match. With more than 30
models, points are models and lines running medians over 15 models.

Bars of the matched difference are {level} intervals for the sampling of the test sets; other bars
extend one standard deviation over seeds to either side, the spread due to the random choices of
the matching. The grey band is the {level} sampling range of the difference of all points between
equally hard sets, ±{factor} · √(a(1 − a)/n + b(1 − b)/m) for accuracies a and b on sets of n and m
points; it does not apply to the matched difference.

A matched difference nearer to zero does not by itself show that confidence explains part of the
loss: unmatched targets are left out. The figure of gaps has the decomposition, and the reduction
if confidence explained nothing.""",
    "Gaps": """What the gaps of the models on **{{ snakemake.wildcards.pair }}** consist of, with
datapoints matched by ``{{ snakemake.wildcards.matching }}``; models by increasing accuracy on
the original, and their mean. First: gap and matched gap. Second: the two parts that add up to the
gap: what confidence explains, and what remains at equal confidence. Third: by how much matching
reduces the gap in samples of both sets, joined to the reduction if confidence explained nothing;
only the difference between the two is a finding.

Bars are {level} intervals for the sampling of the test sets: of datapoints, of paired images, or of
groups where these are known. A shift of confidence alone leaves a matched gap of a few tenths of a
point (docs/protocol.md).""",
    "Reliability": """Model **{{ snakemake.wildcards.model }}** on **{{ snakemake.wildcards.pair
}}**, matched by ``{{ snakemake.wildcards.matching }}``: (a) accuracy against confidence in bins
of equal width, drawn at the mean confidence of the bin, and (b) density of the confidences on a
logarithmic scale, of the two sets, their matched subsets and the unmatched targets. Where two
curves of (a) coincide, accuracy at that confidence is the same on both, up to sampling error.
Matched and unmatched subsets are pooled over seeds, and their n is the mean per seed. Small hollow
markers are bins with fewer than 10 datapoints (per seed), which are not joined by lines.""",
}


class Matching(Analysis):
    """The analysis that matches all models' predictions on the pairs that have probabilities."""

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
        self.calibration = Artifact(f"{own}/gaps/{{pair}}/calibration", tables)
        captions = {name: at_level(text, study.confidence) for name, text in _CAPTIONS.items()}
        entry = ReportEntry("Summary", captions["Summary"])
        self.summary = Artifact(f"{own}/summary", (".md",), entry, (".md",))

        def figure_artifact(category: str, stem: str) -> Artifact:
            path = f"{own}/figures/{{pair}}/{stem}"
            labels = {name: f"{{{name}}}" for name in re.findall(r"{(\w+)}", path)}
            entry = ReportEntry(category, captions[category], labels)
            return Artifact(path, formats, entry, formats)

        self.confidence_plot = figure_artifact("Accuracy and confidence", "confidence")
        self.accuracy_plot = figure_artifact("Matched accuracy", "{matching}/matched_accuracy")
        self.gaps_plot = figure_artifact("Gaps", "{matching}/gaps")
        self.reliability_plot = figure_artifact("Reliability", "{matching}/reliability/{model}")

    @classmethod
    def title(cls) -> str:
        """The name of the analysis for readers."""
        return "Gaps before and after matching"

    def check(self) -> None:
        """Refuse models for diagrams or index pairs in a study without a pair to be matched."""
        for key in ("reliability_models", "save_pairs"):
            if getattr(self.settings, key) and not self.pairs:
                raise configuration_error(
                    "no pair can be matched: every pair has a set without probabilities",
                    field=self.field(key),
                    remedy="Leave it empty; such a study has replication tables only",
                )

    def check_can_be_matched(self, pair: str) -> None:
        """Raise an error unless both sets of a pair have probabilities."""
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
    def expected_runs(self) -> dict[str, Any]:
        """Which pairs, models, values of ε and seeds `snakemake check` must find in the runs."""
        return {
            "pairs": {name: list(self.study.pairs[name].datasets.values()) for name in self.pairs},
            "models": list(self.study.models),
            "epsilons": {name: method.epsilon for name, method in self.settings.methods.items()},
            "seeds": self.seeds,
        }

    @property
    def titles(self) -> dict[str, str]:
        """Titles of the matchings for readers, by the name that the study gives each."""
        return {name: method.title(name) for name, method in self.settings.methods.items()}

    def shown_wildcards(self, wildcards: Mapping[str, str]) -> Mapping[str, str]:
        """Return a file's wildcards, with a matching's name replaced by its label for readers."""
        return {k: matching_label(v) if k == "matching" else v for k, v in wildcards.items()}

    @property
    def batches(self) -> dict[str, list[str]]:
        """The models' names in batches that are matched in one job each, by the batch's name."""
        names, size = list(self.study.models), self.settings.models_per_job
        starts = range(0, len(names), size)
        return {f"{start // size:03d}": names[start : start + size] for start in starts}

    @property
    def saved_models(self) -> list[str]:
        """Names of the models whose matched pairs are written: on request, or for a diagram."""
        saved = {*self.settings.save_pairs, *self.settings.reliability_models}
        return [model for model in self.study.models if model in saved]

    # --- its files

    @property
    def warnings(self) -> list[str]:
        """A warning if the largest ε lets datapoints of rather different confidence match."""
        epsilons = [m.epsilon for m in self.settings.methods.values()] if self.study.pairs else []
        return epsilon_warnings(max(epsilons, default=0.0))

    @property
    def targets(self) -> list[str]:
        """All files that the analysis makes: runs, matched pairs, tables, summary and figures."""
        pair, matching = {"pair": self.pairs}, {"matching": self.matchings}
        return [
            *self.runs.expand(**pair, **matching, batch=self.batches),
            *self.matched_pairs.expand(**pair, **matching, model=self.saved_models),
            *self.result.expand(**pair, **matching),
            *self.gaps.expand(**pair, **matching),
            *self.means.expand(**pair),
            *self.calibration.expand(**pair),
            *(self.summary.expand() if self.pairs else []),
            *self.confidence_plot.expand(**pair),
            *self.accuracy_plot.expand(**pair, **matching),
            *self.gaps_plot.expand(**pair, **matching),
            *self.reliability_plot.expand(
                **pair, **matching, model=self.settings.reliability_models
            ),
        ]

    @property
    def report_section(self) -> Section:
        """The report's section on gaps, with the tables behind its charts; empty without pairs."""
        if not self.pairs:
            return self.section()
        # Charts of the page show what these figures do.
        hidden = [self.summary, self.gaps_plot, self.accuracy_plot]
        return self.section(self._section_inputs, self._summary_values, hidden)

    @property
    def _section_inputs(self) -> dict[str, list[str]]:
        """Paths of the tables that the report's section is made from, in lists by kind."""
        places = [*product(self.pairs, self.matchings)]
        pair_tables = {"means": self.means, "calibration": self.calibration}
        return {
            k: [kind.file(".parquet", pair=pair) for pair in self.pairs]
            for k, kind in pair_tables.items()
        } | {
            name: [kind.file(".parquet", pair=pair, matching=matching) for pair, matching in places]
            for name, kind in (("tables", self.result), ("gaps", self.gaps))
        }

    @property
    def _summary_values(self) -> dict[str, Any]:
        """What a summary needs beside tables: titles, pairs with matchings, margin and level."""
        return {
            "titles": self.titles,
            "places": [[*place] for place in product(self.pairs, self.matchings)],
            "margin": self.settings.margin,
            "confidence": self.study.confidence,
        }

    # --- inputs and arguments of jobs

    def inputs_with_groups(self, pair: str, models: Iterable[str]) -> list[str]:
        """Return all inputs of a job that reads predictions and groups of a pair's datapoints.

        The last file says that both sets have the same classes, if they are compared late.
        """
        self.check_can_be_matched(pair)
        study, names = self.study, self.study.pairs[pair].datasets.values()
        late = pair in study.pairs_compared_late
        return [
            *(file for name in names for file in study.results_inputs(name, models)),
            *self.group_inputs(pair),
            *([f"{study.folder}/classes/{pair}.txt"] if late else []),
        ]

    def group_inputs(self, pair: str) -> list[str]:
        """Return the files that name groups of a pair's datapoints, of datasets and of the user."""
        study, names = self.study, self.study.pairs[pair].datasets.values()
        datapoints = [study.description_inputs(n)[-1] for n in names if self._datapoints_file(n)]
        return [*datapoints, *study.group_files.get(pair, {}).values()]

    def _datapoints_file(self, dataset: str) -> str | None:
        """Return the file that lists a dataset's datapoints; None if it consists of no images."""
        spec = self.study.datasets.get(dataset)
        if spec is not None and not spec.has_images:
            return None
        return self.study.description_files(dataset)[1]

    def files(self, pair: str, models: Sequence[str], *, groups: bool = True) -> dict[str, Any]:
        """Return the fields of `PairFiles`; without `groups`, datapoints count as independent.

        Without groups and level, jobs are not repeated when a study says anew what these are.
        """
        study, spec = self.study, self.study.pairs[pair]
        plain = Pair(pair, spec.original, spec.replication, spec.source)
        custom, methods = study.group_files.get(pair, {}), self.settings.methods.items()
        return {
            "pair": vars(spec if groups else plain),
            "models": models,
            "matchings": {name: method.model_dump(mode="json") for name, method in methods},
            "seeds": self.seeds,
            "layouts": {
                origin: asdict(layout_of(study.datasets[dataset]))
                for origin, dataset in spec.datasets.items()
            },
            **{
                origin: [study.predictions_file(dataset, model) for model in models]
                for origin, dataset in spec.datasets.items()
            },
            "groups": {
                origin: {
                    "file": custom.get(dataset),
                    "kind": study.datasets[dataset].kind,
                    "datapoints": self._datapoints_file(dataset),
                }
                for origin, dataset in spec.datasets.items()
                if groups
            },
        }

    def larger_set_size(self, pair: str) -> int:
        """Estimate the size of the larger set of a pair, without reading the sets."""
        datasets = self.study.pairs[pair].datasets.values()
        return max(dataset_size(self.study, name).images for name in datasets)

    @property
    def gap_threads(self) -> int:
        """Number of threads of the job that estimates a pair's gaps: 1 or 2."""
        # Jobs of several pairs run side by side; few models take no longer than a start.
        return 2 if len(self.study.models) >= _MANY_MODELS and len(self.pairs) == 1 else 1

    @property
    def summary_arguments(self) -> dict[str, Any]:
        """The arguments of `write_study_summary` besides files."""
        return {"study": self.study.name, **self._summary_values}

    def figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the calls, one per figure, that draw all figures of a pair in one job."""
        pair, parquet = wildcards.pair, ".parquet"
        first = self.result.file(parquet, pair=pair, matching=self.matchings[0])
        outputs = self.confidence_plot.expand(pair=pair)
        calls = [call(draw_confidence, table=first, outputs=outputs)]
        for name in self.matchings:
            place = {"pair": pair, "matching": name}
            shown = {
                "table": self.result.file(parquet, **place),
                "gaps": self.gaps.file(parquet, **place),
                "title": self.titles[name], "confidence": self.study.confidence,
            }  # fmt: skip
            means = {"means": self.means.file(parquet, pair=pair), "matching": name}
            plots = self.accuracy_plot.expand(**place), self.gaps_plot.expand(**place)
            calls += [
                call(draw_matched_accuracy, **shown, outputs=plots[0]),
                call(draw_gaps, **shown, **means, outputs=plots[1]),
            ]
            for model in self.settings.reliability_models:
                arguments = {
                    "files": self.files(pair, [model], groups=False), "matching": name,
                    "bins": self.settings.reliability_bins,
                    "outputs": self.reliability_plot.expand(**place, model=model),
                }  # fmt: skip
                calls.append(call(draw_reliability, **arguments))
        return {"calls": calls}


# --- analyses with one table per pair, computed from all models' predictions on both sets


_MatchedPair = Annotated[Name, Ref("pair", Need.PROBABILITIES)]


class PairTableSettings(Settings):
    """For which pairs tables are made, and which models are left out of them."""

    pairs: UniqueTuple[_MatchedPair] = Field(
        (), description="Pairs of datasets that a table is made for"
    )
    without: ModelNames = Field((), description="Models to leave out")


def read_pair(*, files: PairFiles) -> tuple[ComparedModels]:
    """Read all models' predictions on a pair; return them as the arguments of `tabulate`."""
    return (files.read(),)


class PairTableAnalysis(TableAnalysis):
    """An analysis with one table per pair, by the matchings and seeds of the block `matching`.

    `tabulate(compared, **options)` makes the table from `ComparedModels`; `compare`
    (api/comparing.py) makes the same of prediction files.
    """

    per = "pair"
    read = read_pair
    Settings: ClassVar[type[PairTableSettings]] = PairTableSettings
    settings: PairTableSettings

    @property
    def matching(self) -> Matching:
        """The study's analysis `matching`, whose matchings and seeds are used."""
        return self.study.analysis(Matching)

    @property
    def runs_per_seed(self) -> int:
        """How often the table matches a model per matching and seed, for estimates of time."""
        return 1

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that the table of a pair is made from."""
        return self.matching.inputs_with_groups(wildcards.pair, self.models)

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_pair`."""
        return {"files": self.matching.files(wildcards.pair, self.models)}
