"""The analysis of accuracy prediction: settings, checks, files and jobs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from matcheval.accuracy_prediction.checks import MIN_MODELS, check_settings
from matcheval.accuracy_prediction.jobs import ScoreJobs
from matcheval.accuracy_prediction.plots import PredictionPlots
from matcheval.accuracy_prediction.scores.registry import ALL_SCORES, POOL_SCORES, AnyScore
from matcheval.accuracy_prediction.scores.score import Need
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.accuracy_prediction.table_jobs import TableJobs
from matcheval.execution import resources
from matcheval.report.sections import Section
from matcheval.study.analysis import Analysis
from matcheval.study.requests import dataset_size, model_size
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study


class AccuracyPrediction(Analysis):
    """Predict the accuracies on the sets of a suite without their labels, by many methods."""

    name: ClassVar[str] = "accuracy_prediction"
    Settings: ClassVar[type[AccuracyPredictionSettings]] = AccuracyPredictionSettings
    settings: AccuracyPredictionSettings

    def __init__(self, settings: AccuracyPredictionSettings, study: Study) -> None:
        super().__init__(settings, study)
        folder = f"{study.folder}/{self.name}"
        self.scores = Artifact(f"{folder}/scores/{{suite}}/{{scored}}", (".parquet",))
        self.agreement = Artifact(f"{folder}/agreement/{{suite}}", (".parquet",))
        self.rotation = Artifact(f"{folder}/rotation/{{suite}}/{{model}}", (".parquet",))
        self.gaps = Artifact(f"{folder}/gaps/{{suite}}/{{model}}", (".parquet",))
        self.gaps_of_suite = Artifact(f"{folder}/comparison/{{suite}}.gaps", (".parquet",))
        self.predicted = Artifact(f"{folder}/predicted/{{suite}}", (".parquet", ".csv"))

        def labels(table: str) -> dict[str, str]:
            return {"table": table, "of": "{suite}"}

        self.errors = self.table("errors/{suite}", "predicted_errors", labels("errors"))
        self.errors_of_model = self.table(
            "errors_of_models/{suite}/{scored}",
            "predicted_errors_of_model",
            {"table": "errors of {scored}", "of": "{suite}"},
        )
        self.correlations = self.table(
            "correlations/{suite}", "score_correlations", labels("correlations")
        )
        self.group_gaps = self.table("gaps_by_group/{suite}", "gaps_by_group", labels("gaps"))
        self.rankings = self.table(
            "rankings/{suite}", "method_rankings", labels("rankings of methods")
        )
        self.counts = self.table(
            "counts/{suite}", "counts_and_errors", labels("numbers of images and errors")
        )
        self.jobs = ScoreJobs(self, study)
        self.table_jobs = TableJobs(self, study)
        self.plots = PredictionPlots(self, study)
        self.figure_of_suite = self.figure(
            f"{self.name}/{{suite}}/{{figure}}",
            "predicted_accuracies",
            {"table": "{figure}", "of": "{suite}"},
        )
        self.comparison = self.table(
            "comparison/{suite}", "predicted_gaps", labels("predicted and matched gaps")
        )

    # --- what it consists of

    @property
    def pool(self) -> list[str]:
        """Names of the models that agreement and means over models are of."""
        return [name for name in self.models if name not in self.settings.single]

    @property
    def uncounted(self) -> list[str]:
        """Names of single models and ensembles, which means over models do not count."""
        return [*self.settings.single, *self.settings.ensembles]

    @property
    def scored(self) -> list[str]:
        """Names of models and ensembles."""
        return [*self.models, *self.settings.ensembles]

    @property
    def chosen(self) -> list[AnyScore]:
        """The scores that are computed."""
        if self.settings.methods == "all":
            return [score for score in ALL_SCORES.values() if not score.variant]
        return [ALL_SCORES[name] for name in self.settings.methods]

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Bases and references, which need not be in a pair or suite."""
        named = (
            name for one in self.settings.suites.values() for name in (one.base, one.reference)
        )
        return tuple(name for name in named if name is not None and name in self.study.datasets)

    @property
    def has_agreement(self) -> bool:
        """Whether agreement between models is computed: it is asked for, and there are enough."""
        asked = any(score.name in POOL_SCORES for score in self.chosen)
        return asked and len(self.pool) >= MIN_MODELS

    def has_images(self, *names: str) -> bool:
        """Whether models are run on all of some datasets, rather than their results being on file.

        Parameters
        ----------
        *names : str
        """
        return all(self.study.datasets[name].has_images for name in names)

    def turned(self, suite: str) -> list[str]:
        """Return the sets of a suite that rotation accuracy is measured on, if it is asked for."""
        if not any(Need.IMAGES in score.needs for score in self.chosen):
            return []
        asked = self.settings.suites[suite].rotation
        return self.study.suites[suite].datasets if asked == "all" else list(asked)

    # --- checks

    def check(self) -> None:
        """Check names of suites, sets, models, methods and groups, and that inputs are kept."""
        check_settings(self)
        self.plots.check()

    def keeps(self, *outputs: str) -> bool:
        """Whether inference keeps one of some outputs."""
        return not set(outputs).isdisjoint(self.study.inference.outputs)

    # --- files and jobs

    @property
    def report_section(self) -> Section:
        """Errors of all methods by suite, besides tables and figures."""
        errors = Artifact(self.errors.file(".parquet"), ("",))
        if not self.settings.suites:
            return self.section()
        return self.section({"errors": errors.expand(suite=list(self.settings.suites))})

    @property
    def targets(self) -> list[str]:
        """Predicted accuracies, tables and figures of every suite."""
        suites = list(self.settings.suites)
        tables = [self.predicted, self.errors, self.correlations, self.group_gaps]
        tables += [self.rankings, self.counts]
        if self.settings.matching:
            tables.append(self.comparison)
        return [
            *(path for table in tables for path in table.expand(suite=suites)),
            *self.errors_of_model.expand(suite=suites, scored=list(self.settings.figure_models)),
            *(
                path
                for suite in suites
                for path in self.figure_of_suite.expand(suite=suite, figure=self.plots.names(suite))
            ),
        ]

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the numbers of models, sets, images, classes and features."""
        return {
            "score_accuracy": self._scoring_request,
            "compare_gaps": self._scoring_request,
            "plot_model_outputs": self._scoring_request,
            "score_rotation": self._rotation_request,
            "score_agreement": self._agreement_request,
            **dict.fromkeys(
                ("predict_accuracy", "tabulate_model_errors", "compare_predictions"),
                self._predicting_request,
            ),
        }

    def _largest(self, suite: str) -> int:
        """Number of images of the largest set."""
        names = [*self.jobs.sources_of(suite), *self.study.suites[suite].datasets]
        return max(dataset_size(self.study, name).images for name in names)

    def _scoring_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        suite = wildcards.suite
        kind = self.study.datasets[self.settings.suites[suite].base].settings
        n_classes = kind.n_classes or resources.MANY_CLASSES
        return resources.of_scoring(
            len(self.study.suites[suite].datasets),
            self._largest(suite),
            n_classes if self.keeps("logits") else 1,
            resources.MANY_FEATURES if self.keeps("features") else 0,
        )

    def _agreement_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        n_sets = len(self.study.suites[wildcards.suite].datasets)
        return resources.of_reading(len(self.models), n_sets, self._largest(wildcards.suite))

    def _predicting_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        n_sets = len(self.study.suites[wildcards.suite].datasets)
        return resources.of_predicting(len(self.scored), n_sets, len(self.chosen))

    def _rotation_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        one = self.settings.suites[wildcards.suite]
        sizes = [
            dataset_size(self.study, name) for name in (one.base, *self.turned(wildcards.suite))
        ]
        turned = [replace(size, images=4 * size.images) for size in sizes]
        model = model_size(self.study, wildcards.model, sizes[0])
        settings = self.study.inference
        return resources.of_inference(
            [(size, [model]) for size in turned],
            max(turned, key=lambda size: size.pixel_bytes),
            batch_size=settings.batch_size if isinstance(settings.batch_size, int) else 256,
            gpus=int(settings.device == "cuda"),
            threads=settings.threads,
        )
