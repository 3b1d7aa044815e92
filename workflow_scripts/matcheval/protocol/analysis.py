"""The matched evaluation protocol as an analysis of a study: runs, tables, figures, summary."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from matcheval.errors import configuration_error
from matcheval.execution import resources
from matcheval.protocol.gap_jobs import GapJobs
from matcheval.protocol.run_jobs import RunJobs
from matcheval.protocol.settings import MatchingSettings, matching_label
from matcheval.report.sections import Section
from matcheval.study.analysis import Analysis
from matcheval.study.requests import dataset_size
from matcheval.study.rules import Artifact, ReportEntry, Wildcards
from matcheval.study.study import Study


class Matching(Analysis):
    """Matches the predictions of all models on all pairs whose sets have probabilities."""

    name: ClassVar[str] = "matching"
    Settings: ClassVar[type[MatchingSettings]] = MatchingSettings
    settings: MatchingSettings

    def __init__(self, settings: MatchingSettings, study: Study) -> None:
        super().__init__(settings, study)
        own, figures = study.folder, f"{study.folder}/figures/{{pair}}"
        formats, place = study.figure_suffixes, "{pair}/{matching}"
        labels = {"pair": "{pair}", "matching": "{matching}"}
        self.runs = RunJobs(settings, study)
        self.result = Artifact(f"{own}/tables/{place}", (".parquet", ".csv"))
        self.gaps = GapJobs(settings, study)
        self.summary = Artifact(
            f"{own}/summary", (".md",), ReportEntry("Summary", "summary"), (".md",)
        )
        self.confidence_plot = Artifact(
            f"{figures}/confidence", formats,
            ReportEntry("Accuracy and confidence", "confidence", {"pair": "{pair}"}), formats,
        )  # fmt: skip
        self.accuracy_plot = Artifact(
            f"{figures}/{{matching}}/matched_accuracy", formats,
            ReportEntry("Matched accuracy", "matched_accuracy", labels), formats,
        )  # fmt: skip
        self.gaps_plot = Artifact(
            f"{figures}/{{matching}}/gaps", formats, ReportEntry("Gaps", "gaps", labels), formats
        )
        self.reliability_plot = Artifact(
            f"{figures}/{{matching}}/reliability/{{model}}", formats,
            ReportEntry("Reliability", "reliability", {**labels, "model": "{model}"}), formats,
        )  # fmt: skip

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

    @property
    def pairs(self) -> list[str]:
        """Names of the pairs that can be matched."""
        return self.runs.pairs

    @property
    def matchings(self) -> list[str]:
        """Names of the matchings."""
        return list(self.settings.methods)

    @property
    def tables_of_pair(self) -> list[str]:
        """Paths of the tables of one pair, a table per matching; `{pair}` stands for its name."""
        return self.result.expand(matching=self.matchings)

    @property
    def table_files(self) -> list[str]:
        """Paths of the tables of all pairs and matchings, and of the summary."""
        tables = self.result.expand(pair=self.pairs, matching=self.matchings)
        gaps = [file for pair in self.pairs for file in self._gap_files(pair)]
        return [*tables, *gaps, *(self.summary.files if self.pairs else [])]

    def _gap_files(self, pair: str) -> list[str]:
        models = self.gaps.models.expand(pair=pair, matching=self.matchings)
        return [*models, *self.gaps.means.expand(pair=pair)]

    @property
    def means_of_summary(self) -> list[str]:
        """Paths of the tables of mean gaps, one per pair, from which the summary is written."""
        return [self.gaps.means.file(".parquet", pair=pair) for pair in self.pairs]

    @property
    def tables_of_summary(self) -> list[str]:
        """Paths of the model tables of all pairs and matchings, with warnings about predictions."""
        return [
            self.result.file(".parquet", pair=pair, matching=matching)
            for pair in self.pairs
            for matching in self.matchings
        ]

    @property
    def figure_files(self) -> list[str]:
        """Paths of the figures of all pairs and matchings."""
        each = {"pair": self.pairs, "matching": self.matchings}
        models = self.settings.reliability_models
        return [
            *self.confidence_plot.expand(pair=self.pairs),
            *self.accuracy_plot.expand(**each),
            *self.gaps_plot.expand(**each),
            *self.reliability_plot.expand(**each, model=models),
        ]

    @property
    def targets(self) -> list[str]:
        """All files."""
        return [*self.runs.all_files, *self.table_files, *self.figure_files]

    @property
    def report_section(self) -> Section:
        """Gaps of all pairs, matchings and models, besides the figures."""
        places = [[pair, matching] for pair in self.pairs for matching in self.matchings]
        if not places:
            return self.section()
        data = {
            "means": self.means_of_summary,
            "tables": self.tables_of_summary,
            "gaps": [self.gaps.models.file(".parquet", pair=p, matching=m) for p, m in places],
        }
        return self.section(data, {"titles": self.titles, "places": places}, [self.summary])

    @classmethod
    def title(cls) -> str:
        """Its name for a reader."""
        return "Gaps before and after matching"

    def classes_of_pair(self, wildcards: Wildcards) -> list[str]:
        """Return the file that says that both sets have the same classes, if it is needed."""
        late = wildcards.pair in self.study.pairs_compared_late
        return [f"{self.study.folder}/classes/{wildcards.pair}.txt"] if late else []

    def shown_wildcards(self, wildcards: Mapping[str, str]) -> Mapping[str, str]:
        """Return the wildcards of a file, a matching by the name that readers know."""
        return {
            key: matching_label(value) if key == "matching" else value
            for key, value in wildcards.items()
        }

    def title_of(self, wildcards: Wildcards) -> str:
        """Return what readers call a matching."""
        return self.settings.methods[wildcards.matching].title(wildcards.matching)

    @property
    def titles(self) -> dict[str, str]:
        """What readers call the matchings, by name."""
        return {name: method.title(name) for name, method in self.settings.methods.items()}

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the number of models and the size of the larger set."""
        return {
            "match_predictions": self.runs.request,
            "match_and_save_pairs": self.runs.request,
            "estimate_gaps": self._gaps_request,
        }

    def _gaps_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        images = max(dataset_size(self.study, name).images for name in datasets)
        return resources.of_gaps(len(self.study.models), len(self.matchings), images)
