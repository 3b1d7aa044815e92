"""The matched evaluation protocol as an analysis of a study: runs, tables, figures, summary."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from matcheval.errors import InputError
from matcheval.execution import resources
from matcheval.protocol.settings import MatchingSettings
from matcheval.study.analysis import Analysis, Wildcards, file_states
from matcheval.study.artifacts import Artifact, ReportEntry
from matcheval.study.sizes import dataset_size
from matcheval.study.study import Study


class Matching(Analysis):
    """Matches the predictions of all models on all pairs whose sets have probabilities."""

    name: ClassVar[str] = "matching"
    Settings: ClassVar[type[MatchingSettings]] = MatchingSettings
    settings: MatchingSettings

    def __init__(self, settings: MatchingSettings, study: Study) -> None:
        super().__init__(settings, study)
        own, figures = study.folder, f"{study.folder}/figures/{{pair}}"
        formats, place = study.figure_suffixes, "{pair}/{criterion}"
        labels = {"pair": "{pair}", "criterion": "{criterion}"}
        self.runs = Artifact(f"{own}/matched/{place}/{{batch}}", (".parquet",))
        self.pairs_of_model = Artifact(f"{own}/pairs/{place}/{{model}}", (".parquet",))
        self.result = Artifact(f"{own}/tables/{place}", (".parquet", ".csv"))
        self.summary = Artifact(
            f"{own}/summary", (".md",), ReportEntry("Summary", "summary"), (".md",)
        )
        self.confidence_plot = Artifact(
            f"{figures}/confidence", formats,
            ReportEntry("Accuracy and confidence", "confidence", {"pair": "{pair}"}), formats,
        )  # fmt: skip
        self.accuracy_plot = Artifact(
            f"{figures}/{{criterion}}/matched_accuracy", formats,
            ReportEntry("Matched accuracy", "matched_accuracy", labels), formats,
        )  # fmt: skip
        self.reliability_plot = Artifact(
            f"{figures}/{{criterion}}/reliability/{{model}}", formats,
            ReportEntry("Reliability", "reliability", {**labels, "model": "{model}"}), formats,
        )  # fmt: skip

    def check(self) -> None:
        """Check the models that are named."""
        for key in ("reliability_models", "save_pairs"):
            names = getattr(self.settings, key)
            self.study.check_models(names, self.field(key))
            if names and not self.pairs:
                raise InputError(
                    "no pair can be matched: every pair has a set without probabilities",
                    file="configuration",
                    field=self.field(key),
                    remedy="Leave it empty; such a study has replication tables only",
                )

    @property
    def pairs(self) -> list[str]:
        """Names of the pairs that can be matched: both sets have probabilities."""
        return [
            name
            for name, pair in self.study.pairs.items()
            if all(self.study.datasets[d].has_probabilities for d in pair.datasets.values())
        ]

    @property
    def criteria(self) -> list[str]:
        """Names of the criteria."""
        return [criterion.value for criterion in self.settings.criteria]

    @property
    def batches(self) -> dict[str, list[str]]:
        """Names of the models that are matched in one job, by the name of the batch.

        Batches follow catalogue order, so that a model that is appended re-runs only the last one.
        """
        names, size = list(self.study.models), self.settings.models_per_job
        starts = range(0, len(names), size)
        return {f"{start // size:03d}": names[start : start + size] for start in starts}

    # --- files, by stage

    @property
    def matched_files(self) -> list[str]:
        """Runs of all models, and the matched pairs of some."""
        runs = self.runs.expand(pair=self.pairs, criterion=self.criteria, batch=self.batches)
        pairs = self.pairs_of_model.expand(
            pair=self.pairs, criterion=self.criteria, model=self.settings.save_pairs
        )
        return [*runs, *pairs]

    @property
    def table_files(self) -> list[str]:
        """Tables of all pairs and criteria, and the summary."""
        tables = self.result.expand(pair=self.pairs, criterion=self.criteria)
        return [*tables, *(self.summary.files if self.pairs else [])]

    @property
    def tables_of_summary(self) -> list[str]:
        """The tables that the summary is written from."""
        return [
            self.result.file(".parquet", pair=pair, criterion=criterion)
            for pair in self.pairs
            for criterion in self.criteria
        ]

    @property
    def figure_files(self) -> list[str]:
        """Figures of all pairs and criteria."""
        by_criterion = {"pair": self.pairs, "criterion": self.criteria}
        models = self.settings.reliability_models
        return [
            *self.confidence_plot.expand(pair=self.pairs),
            *self.accuracy_plot.expand(**by_criterion),
            *self.reliability_plot.expand(**by_criterion, model=models),
        ]

    @property
    def targets(self) -> list[str]:
        """All files."""
        return [*self.matched_files, *self.table_files, *self.figure_files]

    # --- inputs and parameters of jobs

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what a job that reads predictions of a batch, or of one model, waits for.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`, and `batch` or `model`.

        Raises
        ------
        InputError
            If the pair cannot be matched.
        """
        if wildcards.pair not in self.pairs:
            raise InputError(
                f"pair '{wildcards.pair}' cannot be matched: one of its sets has no probabilities",
                file="configuration",
                field=f"pairs.{wildcards.pair}",
                remedy="It takes part in the replication tables only",
            )
        models = self._models(wildcards)
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        return [file for name in datasets for file in self.study.results_inputs(name, models)]

    def _predictions(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Prediction files of a batch, or of one model, by origin."""
        models = self._models(wildcards)
        return {
            origin: [self.study.predictions_file(dataset, model) for model in models]
            for origin, dataset in self.study.pairs[wildcards.pair].datasets.items()
        }

    def classes_of_pair(self, wildcards: Wildcards) -> list[str]:
        """Return the file that says that both sets have the same classes, if it is needed.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        late = wildcards.pair in self.study.pairs_compared_late
        return [f"{self.study.folder}/classes/{wildcards.pair}.txt"] if late else []

    def match_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a matching job.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`, and `batch` or `model`.
        """
        return {
            "models": self._models(wildcards),
            "pair": vars(self.study.pairs[wildcards.pair]),
            "epsilon": self.settings.epsilon,
            "seeds": list(range(self.settings.seeds)),
            **self._predictions(wildcards),
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a matching job.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`, and `batch` or `model`.
        """
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        own = [name for name in datasets if not self.study.datasets[name].has_images]
        models = self._models(wildcards)
        return file_states([self.study.predictions_file(d, m) for m in models for d in own])

    def runs_of_table(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the runs that a table averages.

        Parameters
        ----------
        wildcards : Wildcards
            `pair` and `criterion`.
        """
        return self.runs.expand(
            pair=wildcards.pair, criterion=wildcards.criterion, batch=self.batches
        )

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the number of models and the size of the larger set."""
        return {"match_predictions": self._request, "save_pairs": self._request}

    def _request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        images = max(dataset_size(self.study, name).images for name in datasets)
        return resources.of_matching(len(self._models(wildcards)), self.settings.seeds, images)

    def _models(self, wildcards: Wildcards) -> list[str]:
        batch = getattr(wildcards, "batch", None)
        return [wildcards.model] if batch is None else self.batches[batch]
