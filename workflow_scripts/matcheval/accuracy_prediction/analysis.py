"""The analysis of accuracy prediction: settings, checks, files and jobs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from matcheval.accuracy_prediction.scores.agreement import PoolScore
from matcheval.accuracy_prediction.scores.registry import (
    ALL_SCORES,
    POOL_SCORES,
    SCORES,
    check_names,
)
from matcheval.accuracy_prediction.scores.score import Need, Score
from matcheval.accuracy_prediction.settings import (
    AccuracyPredictionSettings,
    SuitePredictionSettings,
)
from matcheval.datasets.suites import check_subset
from matcheval.errors import InputError, unknown_name_error
from matcheval.execution import resources
from matcheval.protocol.analysis import Matching
from matcheval.study.analysis import Analysis, Wildcards, file_states
from matcheval.study.artifacts import Artifact
from matcheval.study.checks import check_label_spaces
from matcheval.study.sizes import dataset_size
from matcheval.study.study import Study

MIN_MODELS = 3  # for agreement between models

# What has to be in `inference.outputs` for an input of a score: one of these.
_OUTPUTS = {
    Need.PROBABILITIES: ("logits",),
    Need.LOGITS: ("logits",),
    Need.FEATURES: ("features",),
    Need.STATISTICS: ("features", "statistics"),
}


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
        self.correlations = self.table(
            "correlations/{suite}", "score_correlations", labels("correlations")
        )
        self.comparison = self.table(
            "comparison/{suite}", "predicted_gaps", labels("predicted and matched gaps")
        )

    # --- what it consists of

    @property
    def models(self) -> list[str]:
        """Names of the models that are counted."""
        return [name for name in self.study.models if name not in self.settings.without]

    @property
    def scored(self) -> list[str]:
        """Names of models and ensembles."""
        return [*self.models, *self.settings.ensembles]

    @property
    def chosen(self) -> list[Score | PoolScore]:
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

    def _has_agreement(self) -> bool:
        asked = any(score.name in POOL_SCORES for score in self.chosen)
        return asked and len(self.models) >= MIN_MODELS

    def _has_images(self, *names: str) -> bool:
        return all(self.study.datasets[name].has_images for name in names)

    # --- checks

    def check(self) -> None:
        """Check names of suites, sets, models, methods and groups, and that inputs are kept.

        Raises
        ------
        InputError
            Naming the key and the value.
        """
        study, settings = self.study, self.settings
        study.check_models(settings.without, self.field("without"))
        for name, members in settings.ensembles.items():
            study.check_models(members, self.field("ensembles", name))
            if name in study.models:
                raise InputError(
                    f"'{name}' is a model", file="configuration", field=self.field("ensembles")
                )
        check_names(settings.view_methods, self.field("view_methods"))
        if settings.methods != "all":
            check_names(settings.methods, self.field("methods"))
            self._check_outputs()
        if settings.suites and not self.models:
            raise InputError(
                "all models are left out", file="configuration", field=self.field("without")
            )
        for name, one in settings.suites.items():
            if name not in study.suites:
                raise unknown_name_error(
                    "suite", name, study.suites, file="configuration", field=self.field("suites")
                )
            self._check_suite(name, one)

    def _check_outputs(self) -> None:
        """Check that inference keeps what the methods that are asked for need."""
        if not any(self._has_images(name) for name in self.evaluated):
            return
        for score in self.chosen:
            for need in score.needs:
                outputs = _OUTPUTS.get(need, ())
                if outputs and not set(outputs) & set(self.study.inference.outputs):
                    raise InputError(
                        f"'{score.name}' needs {need.value}",
                        file="configuration",
                        field=self.field("methods"),
                        remedy=f"Add {' or '.join(outputs)} to inference.outputs, or leave it out",
                    )

    def _check_suite(self, name: str, one: SuitePredictionSettings) -> None:
        study, field = self.study, self.field("suites", name)
        self.check_has_correctness(one.base, f"{field}.base")
        members = {member.dataset: member for member in study.suites[name].members}
        for dataset, member in members.items():
            self.check_has_correctness(dataset, f"suites.{name}")
            check_label_spaces(study, field, one.base, dataset)
            known = study.datasets[dataset].settings.known_classes
            if member.classes and known is not None:
                check_subset(name, member, known)
        if one.reference is not None:
            study.check_dataset(one.reference, f"{field}.reference", images=True)
        groups = {member.group for member in members.values()}
        for number, calibration in enumerate(one.calibrations):
            for key in ("fit", "predict"):
                for group in getattr(calibration, key) or ():
                    if group not in groups:
                        raise unknown_name_error(
                            "group", group, groups, file="configuration",
                            field=f"{field}.calibrations.{number}.{key}",
                        )  # fmt: skip
        for dataset in one.rotation:
            if dataset not in members:
                raise unknown_name_error(
                    "set", dataset, members, file="configuration", field=f"{field}.rotation"
                )
            study.check_dataset(dataset, f"{field}.rotation", images=True)

    # --- files and jobs

    @property
    def targets(self) -> list[str]:
        """Predicted accuracies, tables and figures of every suite."""
        suites = list(self.settings.suites)
        files = [self.predicted, self.errors, self.correlations, *self.figures]
        if self.settings.matching:
            files.append(self.comparison)
        return [path for artifact in files for path in artifact.expand(suite=suites)]

    @property
    def figures(self) -> list[Artifact]:
        """Figures of a suite."""
        return []

    def members_of(self, scored: str) -> list[str]:
        """Return the models of an ensemble, or a model itself.

        Parameters
        ----------
        scored : str
            Its name.
        """
        return list(self.settings.ensembles.get(scored, (scored,)))

    def sources_of(self, suite: str) -> list[str]:
        """Return the names of the base and the reference of a suite.

        Parameters
        ----------
        suite : str
            Its name.
        """
        one = self.settings.suites[suite]
        return [one.base, *([one.reference] if one.reference else [])]

    def score_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the scores of a model or ensemble on a suite wait for.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`, and `scored` or `model`.
        """
        name = getattr(wildcards, "scored", None) or wildcards.model
        sources = self.sources_of(wildcards.suite)
        return self.study.suite_inputs(wildcards.suite, self.members_of(name), sources)

    def agreement_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the agreement of models on a suite waits for.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        base = self.settings.suites[wildcards.suite].base
        return self.study.suite_inputs(wildcards.suite, self.models, [base])

    def files_of(
        self, suite: str, models: Sequence[str], *, further: bool = False
    ) -> dict[str, Any]:
        """Return where models' outputs on a suite, its base and its reference lie.

        Parameters
        ----------
        suite : str
        models : sequence of str
        further : bool
            Whether outputs besides the predictions are read.

        Returns
        -------
        dict
            Fields of `loading.OutputFiles`.
        """
        study = self.study
        names = [*self.sources_of(suite), *study.suites[suite].datasets]
        kept = [name for name in study.inference.outputs if name != "top"]
        return {
            "folder": study.predictions_folder,
            "outputs": kept if further else [],
            "custom": {
                name: {model: study.predictions_file(name, model) for model in models}
                for name in names
                if not self._has_images(name)
            },
        }

    def score_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the scores of a model or ensemble on a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite` and `scored`.
        """
        settings, suite = self.settings, wildcards.suite
        one = settings.suites[suite]
        own = [score.name for score in self.chosen if score.name in SCORES]
        return {
            "suite": asdict(self.study.suites[suite]),
            "base": one.base,
            "reference": one.reference,
            "members": self.members_of(wildcards.scored),
            "files": self.files_of(suite, self.members_of(wildcards.scored), further=True),
            "classes": self._classes(one.base),
            "rule": self._rule,
            "methods": own,
            "view_methods": [name for name in settings.view_methods or own if name in own],
            "options": {"n_prototypes": settings.n_prototypes},
            "views": {
                "sizes": settings.test_sizes, "draws": settings.draws,
                "missing_classes": settings.missing_classes,
            },
            "seeds": settings.seeds,
        }  # fmt: skip

    def _classes(self, base: str) -> str | list[str]:
        """Return the class names of a base, or its description, which has them."""
        if self._has_images(base):
            return self.study.dataset_files(base)[0]
        return list(self.study.datasets[base].settings.known_classes or ())

    @property
    def _rule(self) -> dict[str, bool]:
        settings = self.settings
        return {"renormalise": settings.renormalise, "restrict_argmax": settings.restrict_argmax}

    def agreement_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the agreement of models on a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        suite = wildcards.suite
        one = self.settings.suites[suite]
        return {
            "suite": asdict(self.study.suites[suite]),
            "base": one.base,
            "models": self.models,
            "classes": self._classes(one.base),
            "rule": self._rule,
            "files": self.files_of(suite, self.models, further=True),
            "methods": [score.name for score in self.chosen if score.name in POOL_SCORES],
        }

    def gap_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the matched gaps of a model on a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite` and `model`.
        """
        suite, matching = wildcards.suite, self.study.analysis(Matching)
        first = next(iter(matching.settings.methods.values()))
        return {
            "suite": asdict(self.study.suites[suite]),
            "base": self.settings.suites[suite].base,
            "classes": self._classes(self.settings.suites[suite].base),
            "rule": self._rule,
            "files": self.files_of(suite, [wildcards.model], further=True),
            "method": first.model_dump(mode="json"),
            "seeds": list(range(matching.settings.seeds)),
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`, and perhaps `scored` or `model`.
        """
        name = getattr(wildcards, "scored", None) or getattr(wildcards, "model", None)
        models = self.members_of(name) if name else self.models
        names = {*self.sources_of(wildcards.suite), *self.study.suites[wildcards.suite].datasets}
        custom = [
            file
            for dataset in sorted(names)
            if not self._has_images(dataset)
            for file in self.study.results_files(dataset, models)
        ]
        return file_states(custom)

    def all_scores(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the tables of scores that accuracies on a suite are predicted from.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        suite = wildcards.suite
        rotated = bool(self.settings.suites[suite].rotation)
        return {
            "scores": self.scores.expand(suite=suite, scored=self.scored),
            "agreement": self.agreement.expand(suite=suite) if self._has_agreement() else [],
            "rotation": self.rotation.expand(suite=suite, model=self.models) if rotated else [],
        }

    def all_gaps(self, wildcards: Wildcards) -> list[str]:
        """Return the tables of matched gaps of all models on a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        return self.gaps.expand(suite=wildcards.suite, model=self.models)

    def prediction_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the predicted accuracies on a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        one = self.settings.suites[wildcards.suite]
        return {
            "calibrations": [
                {"on": each.fit, "predict": each.predict or ()} for each in one.calibrations
            ],
            "loo": self.settings.leave_one_out,
            "regressors": self.settings.regressors,
            "settings": {
                "base": one.base,
                "reference": one.reference or "none",
                "seeds": ", ".join(map(str, self.settings.seeds)),
                "prototypes": self.settings.n_prototypes,
                "renormalised": self.settings.renormalise,
                "argmax restricted": self.settings.restrict_argmax,
                "clipped": False,
            },
            "confidence": self.study.confidence,
        }

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the numbers of models, sets and images."""
        return {
            "score_accuracy": lambda w: self._request(w, len(self.chosen)),
            "compare_gaps": lambda w: self._request(w, 5),
            "score_agreement": lambda w: self._request(w, len(self.models)),
        }

    def _request(self, wildcards: Wildcards, times: int) -> resources.ResourceRequest:
        names = [*self.sources_of(wildcards.suite), *self.study.suites[wildcards.suite].datasets]
        images = max(dataset_size(self.study, name).images for name in names)
        return resources.of_reading(times, len(names), images)
