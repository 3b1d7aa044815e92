"""The replication study as an analysis: accuracies of all models, ranks, fits and figures."""

from typing import Any, ClassVar

from matcheval.errors import configuration_error
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.replication.settings import ReplicationSettings
from matcheval.report.sections import Section
from matcheval.statistics.lines import MIN_MODELS
from matcheval.statistics.scales import Scale
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study


class Replication(Analysis):
    """Compares accuracies of all models on the original and the replication of every pair."""

    name: ClassVar[str] = "replication"
    Settings: ClassVar[type[ReplicationSettings]] = ReplicationSettings
    settings: ReplicationSettings

    def __init__(self, settings: ReplicationSettings, study: Study) -> None:
        super().__init__(settings, study)
        stem, labels = "{pair}/top{top}", {"pair": "{pair}", "top": "{top}"}
        self.result = self.table(stem, "replication_results", {**labels, "what": "results"})
        self.fits = self.table(f"{stem}.fits", "replication_fits", {**labels, "what": "fits"})
        self.region = Artifact(f"{study.folder}/replication/{stem}.region", (".parquet",))
        self.plot = self.figure(
            "{pair}/replication/top{top}-{scale}", "replication",
            {**labels, "what": "{scale} axes"},
        )  # fmt: skip
        self.changes = self.table(
            "changes",
            "replication_changes",
            {"pair": "all", "top": "all", "what": "average changes"},
        )

    def check(self) -> None:
        """Check names of models, and that as many top classes are kept as are counted."""
        for scale in Scale:
            self.study.check_models(self.settings.left_out(scale), self.field("fit_without"))
        self.study.check_models(self.settings.range_without, self.field("range_without"))
        most, kept = max(self.settings.top), self.study.inference.n_top_classes
        has_images = any(self.study.datasets[name].has_images for name in self.study.paired)
        if has_images and most > kept:
            raise configuration_error(
                f"top-{most} accuracies of models that are run here, of which {kept} "
                f"class{'es are' if kept > 1 else ' is'} kept",
                field=self.field("top"),
                remedy=f"Put 'top' among inference.outputs, with inference.top of {most} or more",
            )

    @property
    def fitted_scales(self) -> list[str]:
        """Scales of the fits that can be made; not those with too few models for a line."""
        return [
            scale.value
            for scale in self.settings.scales
            if len(set(self.study.models) - set(self.settings.left_out(scale))) >= MIN_MODELS
        ]

    @property
    def targets(self) -> list[str]:
        """Tables of all pairs, and fits and figures where there are enough models."""
        each = {"pair": self.study.pairs, "top": self.settings.top}
        fitted = [*self.fits.expand(**each), *self.region.expand(**each)]
        return [
            *self.result.expand(**each),
            *(fitted if self.fitted_scales else []),
            *self.plot.expand(**each, scale=self.fitted_scales),
            *(self.changes.files if self.study.pairs else []),
        ]

    @property
    def report_section(self) -> Section:
        """Accuracies of all pairs and models, besides fits and figures."""
        if not self.study.pairs:
            return self.section()
        each = {"pair": self.study.pairs, "top": self.settings.top}
        fits = self.fits.file(".parquet"), self.region.file()
        fitted = [Artifact(file, ("",)).expand(**each) for file in fits if self.fitted_scales]
        data = {
            "results": self.all_results,
            "fits": fitted[0] if fitted else [],
            "regions": fitted[1] if fitted else [],
        }
        matched = any(
            all(self.study.datasets[d].has_probabilities for d in pair.datasets.values())
            for pair in self.study.pairs.values()
        )
        return self.section(data, {"is_headline": not matched}, [self.result])

    # --- inputs and parameters of jobs

    def count_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what a job that counts correct predictions waits for."""
        return self.study.results_inputs(wildcards.dataset)

    def _top_k_files(self, dataset: str) -> list[str]:
        """Files of the models' top classes on a dataset, if more than one counts."""
        if max(self.settings.top) == 1 or not self.study.datasets[dataset].has_images:
            return []
        return [
            file.removesuffix(".parquet") + OUTPUT_SUFFIXES["top"]
            for file in self.study.results_files(dataset)
        ]

    def count_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a job that counts correct predictions."""
        return {
            "dataset": vars(self.study.datasets[wildcards.dataset]),
            "models": list(self.study.models),
            "results": self.study.results_files(wildcards.dataset),
            "top_k_files": self._top_k_files(wildcards.dataset),
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files of such a job."""
        return self.study.custom_results_state(wildcards.dataset)

    def accuracies_of_pair(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the tables of accuracies on both sets of a pair, by origin."""
        pair = self.study.pairs[wildcards.pair]
        return {o: self.study.accuracies_file(name) for o, name in pair.datasets.items()}

    def image_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what a pair's table waits for beside accuracies: predictions of paired images."""
        return [
            file
            for name in self._sets_of_same_images(wildcards.pair)
            for file in self.study.results_inputs(name)
        ]

    def _sets_of_same_images(self, pair: str) -> tuple[str, ...]:
        """Return both sets of a pair that shows the same images, if these are known one by one."""
        names = tuple(self.study.pairs[pair].datasets.values())
        known = (self.study.datasets[name].kind_class.has_correctness for name in names)
        return names if self.study.pairs[pair].paired and all(known) else ()

    def pair_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a pair's table."""
        same = self._sets_of_same_images(wildcards.pair)
        return {
            "pair": vars(self.study.pairs[wildcards.pair]),
            "confidence": self.study.confidence,
            "models": list(self.study.models) if same else [],
            "sets": [vars(self.study.datasets[name]) for name in same],
            "files": [self.study.probability_files(name, self.study.models) for name in same],
        }

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What fits depend on."""
        keys = {"scales", "resamples", "seed", "extremes", "fit_without", "fit_range"}
        settings = self.settings.model_dump(mode="json", include=keys)
        families = {name: model.family for name, model in self.study.models.items()}
        return {"settings": settings, "families": families}

    @property
    def all_results(self) -> list[str]:
        """The tables of all pairs."""
        return [
            self.result.file(".parquet", pair=pair, top=top)
            for pair in self.study.pairs
            for top in self.settings.top
        ]

    @property
    def selection_frequencies(self) -> dict[str, str]:
        """Files of the selection frequencies of the sets that have such, by name."""
        return {
            name: built.selection_frequencies
            for name, built in self.study.built_datasets.items()
            if name in self.study.paired and built.selection_frequencies
        }
