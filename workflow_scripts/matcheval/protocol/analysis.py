"""The matched evaluation protocol as an analysis of a study: runs, tables, figures, summary."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from matcheval.errors import InputError
from matcheval.execution import resources
from matcheval.predictions.layout import layout_of
from matcheval.protocol.gap_jobs import GapJobs
from matcheval.protocol.settings import MatchingSettings
from matcheval.report.sections import Section
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
        formats, place = study.figure_suffixes, "{pair}/{matching}"
        labels = {"pair": "{pair}", "matching": "{matching}"}
        self.runs = Artifact(f"{own}/matched/{place}/{{batch}}", (".parquet",))
        self.pairs_of_model = Artifact(f"{own}/pairs/{place}/{{model}}", (".parquet",))
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

    def check_can_be_matched(self, pair: str) -> None:
        """Check that both sets of a pair have probabilities.

        Parameters
        ----------
        pair : str
            Name of a pair.

        Raises
        ------
        InputError
            If one has none.
        """
        if pair not in self.pairs:
            raise InputError(
                f"pair '{pair}' cannot be matched: one of its sets has no probabilities",
                file="configuration",
                field=f"pairs.{pair}",
                remedy="It takes part in the replication tables only",
            )

    @property
    def matchings(self) -> list[str]:
        """Names of the matchings."""
        return list(self.settings.methods)

    @property
    def batches(self) -> dict[str, list[str]]:
        """Names of the models that are matched in one job, by the name of the batch.

        Batches follow catalogue order, so that a model that is appended re-runs only the last one.
        """
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
        """Batches with models whose pairs are written; one job of a pair matches all of these.

        Pairs are a file per model, and thus no output of a job per batch.
        """
        saved = set(self.saved_models)
        return [batch for batch, models in self.batches.items() if not saved.isdisjoint(models)]

    @property
    def batches_alone(self) -> list[str]:
        """Batches without saved pairs; each is matched by a job of its own."""
        with_pairs = self.batches_with_pairs
        return [batch for batch in self.batches if batch not in with_pairs]

    # --- files, by stage

    @property
    def matched_files(self) -> list[str]:
        """Runs of all models, and the matched pairs of some."""
        runs = self.runs.expand(pair=self.pairs, matching=self.matchings, batch=self.batches)
        pairs = self.pairs_of_model.expand(
            pair=self.pairs, matching=self.matchings, model=self.saved_models
        )
        return [*runs, *pairs]

    @property
    def runs_of_batch(self) -> list[str]:
        """Runs of a batch by all matchings, with wildcards `pair` and `batch`."""
        return self.runs.expand(matching=self.matchings)

    @property
    def runs_with_pairs(self) -> list[str]:
        """Runs of the batches with pairs by all matchings, with wildcard `pair`."""
        return self.runs.expand(matching=self.matchings, batch=self.batches_with_pairs)

    @property
    def saved_pairs(self) -> list[str]:
        """Matched pairs of the saved models by all matchings, with wildcard `pair`."""
        return self.pairs_of_model.expand(matching=self.matchings, model=self.saved_models)

    @property
    def tables_of_pair(self) -> list[str]:
        """Tables of all matchings, with wildcard `pair`."""
        return self.result.expand(matching=self.matchings)

    @property
    def table_files(self) -> list[str]:
        """Tables of all pairs and matchings, and the summary."""
        tables = self.result.expand(pair=self.pairs, matching=self.matchings)
        gaps = [file for pair in self.pairs for file in self._gap_files(pair)]
        return [*tables, *gaps, *(self.summary.files if self.pairs else [])]

    def _gap_files(self, pair: str) -> list[str]:
        models = self.gaps.models.expand(pair=pair, matching=self.matchings)
        return [*models, *self.gaps.means.expand(pair=pair)]

    @property
    def means_of_summary(self) -> list[str]:
        """The tables that the summary is written from, one for each pair."""
        return [self.gaps.means.file(".parquet", pair=pair) for pair in self.pairs]

    @property
    def tables_of_summary(self) -> list[str]:
        """The tables that say what looks wrong about predictions, of all pairs and matchings."""
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
        return [*self.matched_files, *self.table_files, *self.figure_files]

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

    @property
    def title(self) -> str:
        """Its name for a reader."""
        return "Gaps before and after matching"

    # --- inputs and parameters of jobs

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what a matching job, or a job that reads one model's predictions, waits for.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`, and `batch` for a batch alone, or `model`.

        Raises
        ------
        InputError
            If the pair cannot be matched.
        """
        self.check_can_be_matched(wildcards.pair)
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

    def layouts(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return how the prediction files of a pair are laid out, by origin.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        datasets = self.study.pairs[wildcards.pair].datasets
        return {o: asdict(layout_of(self.study.datasets[d])) for o, d in datasets.items()}

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
            `pair`, and `batch` for a batch alone.
        """
        batch = getattr(wildcards, "batch", None)
        return {
            "batches": [self.batches[b] for b in ([batch] if batch else self.batches_with_pairs)],
            "saved": [] if batch else self.saved_models,
            "pair": self._names_of_pair(wildcards),
            "matchings": {
                name: method.model_dump(mode="json")
                for name, method in self.settings.methods.items()
            },
            "seeds": self._seeds,
            **self._predictions(wildcards),
            "layouts": self.layouts(wildcards),
        }

    def _names_of_pair(self, wildcards: Wildcards) -> dict[str, str | None]:
        """Return what the matching knows of a pair; it ignores what belongs together."""
        pair = self.study.pairs[wildcards.pair]
        return {"name": pair.name, **pair.datasets, "source": pair.source}

    def reliability_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a reliability diagram.

        Parameters
        ----------
        wildcards : Wildcards
            `pair` and `matching`.
        """
        method = self.settings.methods[wildcards.matching]
        return {
            "pair": self._names_of_pair(wildcards),
            "epsilon": method.epsilon,
            "title": method.title(wildcards.matching),
            "seeds": self._seeds,
            "bins": self.settings.reliability_bins,
            **self._predictions(wildcards),
            "layouts": self.layouts(wildcards),
        }

    def title_of(self, wildcards: Wildcards) -> str:
        """Return what readers call a matching.

        Parameters
        ----------
        wildcards : Wildcards
            `matching`.
        """
        return self.settings.methods[wildcards.matching].title(wildcards.matching)

    @property
    def titles(self) -> dict[str, str]:
        """What readers call the matchings, by name."""
        return {name: method.title(name) for name, method in self.settings.methods.items()}

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a matching job.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`, and `batch` for a batch alone.
        """
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        own = [name for name in datasets if not self.study.datasets[name].has_images]
        models = self._models(wildcards)
        return file_states([self.study.predictions_file(d, m) for m in models for d in own])

    def runs_of_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the runs that the tables of a pair average.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        return self.runs.expand(pair=wildcards.pair, matching=self.matchings, batch=self.batches)

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the number of models and the size of the larger set."""
        return {
            "match_predictions": self._request,
            "match_and_save_pairs": self._request,
            "estimate_gaps": self._gaps_request,
        }

    def _request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        images = max(dataset_size(self.study, name).images for name in datasets)
        n_runs = self.settings.seeds * len(self.matchings)
        return resources.of_matching(len(self._models(wildcards)), n_runs, images)

    def _gaps_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        images = max(dataset_size(self.study, name).images for name in datasets)
        return resources.of_gaps(len(self.study.models), len(self.matchings), images)

    @property
    def _seeds(self) -> list[int]:
        return list(range(self.settings.seeds))

    def _models(self, wildcards: Wildcards) -> list[str]:
        """Models of a job: one, those of a batch, or those of all batches with pairs."""
        if hasattr(wildcards, "model"):
            return [wildcards.model]
        batch = getattr(wildcards, "batch", None)
        batches = [batch] if batch else self.batches_with_pairs
        return [model for batch in batches for model in self.batches[batch]]
