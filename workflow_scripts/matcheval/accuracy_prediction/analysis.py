"""The analysis of accuracy prediction: what is predicted by which methods, its files and rules."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

from matcheval.accuracy_prediction import ROTATION_VERSION
from matcheval.accuracy_prediction.checks import MIN_MODELS, SettingsCheck
from matcheval.accuracy_prediction.figures import (
    CAPTION,
    ChosenFigure,
    figures_of_outputs,
    figures_of_tables,
    plot_tables,
)
from matcheval.accuracy_prediction.gaps import write_gaps
from matcheval.accuracy_prediction.output_figures import plot_outputs
from matcheval.accuracy_prediction.scores import ALL_SCORES, SCORES, AnyScore
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES
from matcheval.accuracy_prediction.scores.score import Need
from matcheval.accuracy_prediction.scoring import write_agreement, write_scores
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.accuracy_prediction.tables import (
    write_comparison,
    write_model_errors,
    write_predictions,
)
from matcheval.datasets.corruptions.names import PROCEDURAL
from matcheval.datasets.suites import Suite
from matcheval.execution import analysis_resources, resources
from matcheval.execution.arguments import pack_argument
from matcheval.predictions.layout import layout_of
from matcheval.protocol.analysis import Matching
from matcheval.report.sections import Section
from matcheval.study.analysis import Analysis
from matcheval.study.requests import dataset_size, model_size
from matcheval.study.rules import Artifact, Rule, Wildcards
from matcheval.study.study import Study

_OF_SUITE = "suite **{{ snakemake.wildcards.suite }}**"


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

        def table(stem: str, label: str, caption: str) -> Artifact:
            return self.table(stem, caption, {"table": label, "of": "{suite}"})

        self.errors = table(
            "errors/{suite}", "errors",
            f"Mean absolute errors of the accuracies predicted on {_OF_SUITE}, by method and group "
            "of sets.",
        )  # fmt: skip
        self.errors_of_model = table(
            "errors_of_models/{suite}/{scored}", "errors of {scored}",
            "Mean absolute errors of the accuracies predicted for "
            f"**{{{{ snakemake.wildcards.scored }}}}** on {_OF_SUITE}, by method and group of "
            "sets.",
        )  # fmt: skip
        self.correlations = table(
            "correlations/{suite}", "correlations",
            f"Correlations of scores with accuracies over the sets of {_OF_SUITE}.",
        )  # fmt: skip
        self.group_gaps = table(
            "gaps_by_group/{suite}", "gaps",
            f"Mean gaps between the accuracies on the base and on the sets of {_OF_SUITE}, by "
            "model and group of sets.",
        )  # fmt: skip
        self.rankings = table(
            "rankings/{suite}", "rankings of methods",
            "Whether the methods rank alike, by their errors, on every two groups of sets of "
            f"{_OF_SUITE}.",
        )  # fmt: skip
        self.counts = table(
            "counts/{suite}", "numbers of images and errors",
            f"Whether the errors on the subgroups of {_OF_SUITE} go with their numbers of images.",
        )  # fmt: skip
        self.comparison = table(
            "comparison/{suite}", "predicted and matched gaps",
            f"Whether the errors of predicted gaps on {_OF_SUITE} go with what the matched "
            "evaluation protocol says of the gaps.",
        )  # fmt: skip
        self.figure_of_suite = self.figure(
            f"{self.name}/{{suite}}/{{figure}}", CAPTION, {"table": "{figure}", "of": "{suite}"}
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

    def turned(self, suite: str) -> list[str]:
        """Return the sets of a suite that rotation accuracy is measured on, if it is asked for."""
        if not any(Need.IMAGES in score.needs for score in self.chosen):
            return []
        asked = self.settings.suites[suite].rotation
        return self.study.suites[suite].datasets if asked == "all" else list(asked)

    def table_figures(self, suite: str) -> dict[str, ChosenFigure]:
        """Return the figures of a suite that are drawn from its tables: kind and options, by name.

        Parameters
        ----------
        suite : str
            Its name.
        """
        return figures_of_tables(self.settings, self.study.suites[suite], self.chosen)

    def output_figures(self, suite: str) -> dict[str, ChosenFigure]:
        """Return the figures of a suite that are drawn from outputs of models, by name."""
        return figures_of_outputs(self.settings.suites[suite])

    def check(self) -> None:
        """Check names of suites, sets, models, methods and groups, and that inputs are kept."""
        SettingsCheck(self, self.settings, self.chosen, self.pool).check()

    # --- files and rules

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
        found = [path for table in tables for path in table.expand(suite=suites)]
        found += self.errors_of_model.expand(suite=suites, scored=list(self.settings.figure_models))
        for suite in suites:
            names = [*self.table_figures(suite), *self.output_figures(suite)]
            found += self.figure_of_suite.expand(suite=suite, figure=names)
        return found

    @property
    def rules(self) -> list[Rule]:
        """All but `score_rotation`, which runs models (rules/accuracy_prediction.smk)."""
        suites = self.settings.suites
        of_suite = {"suite": suites}
        of_scored = {**of_suite, "scored": self.scored}
        predicted = self.predicted.file(".parquet")
        of_scores = ("matcheval.accuracy_prediction.scores",)
        return [
            Rule(
                name="score_accuracy",
                run=write_scores,
                input={"results": self.score_inputs},
                output={"scores": self.scores.file()},
                arguments=self.score_arguments,
                custom_files=self._custom_files,
                request=self._scoring_request,
                values=of_scored,
                code=of_scores,
                message="Scoring {wildcards.scored} on suite {wildcards.suite}",
            ),
            Rule(
                name="score_agreement",
                run=write_agreement,
                input={"results": lambda wildcards: self._inputs(wildcards.suite, self.models)},
                output={"scores": self.agreement.file()},
                arguments=self.agreement_arguments,
                custom_files=self._custom_files,
                request=lambda wildcards: analysis_resources.of_reading(
                    len(self.models), *self._size(wildcards.suite)
                ),
                values=of_suite,
                message="Comparing the predictions of all models on suite {wildcards.suite}",
            ),
            Rule(  # how the matched evaluation protocol sees the same gaps
                name="compare_gaps",
                run=write_gaps,
                input={"results": self.score_inputs},
                output={"gaps": self.gaps.file()},
                arguments=self.gap_arguments,
                custom_files=self._custom_files,
                request=self._scoring_request,
                values=of_suite,
                message="Matching {wildcards.model} on the sets of suite {wildcards.suite}",
            ),
            Rule(
                name="predict_accuracy",
                run=write_predictions,
                input={
                    "scores": lambda wildcards: self.scores.expand(
                        suite=wildcards.suite, scored=self.scored
                    ),
                    "agreement": self.agreement.files if self.has_agreement else [],
                    "rotation": self.rotation_tables,
                },
                output={
                    "predicted": self.predicted,
                    "errors": self.errors,
                    "correlations": self.correlations,
                    "group_gaps": self.group_gaps,
                    "rankings": self.rankings,
                    "counts": self.counts,
                },
                arguments=self.prediction_arguments,
                request=self._predicting_request,
                values=of_suite,
                environment="models",  # one of its regressions is a network, and needs torch
                code=of_scores,
                message="Predicting the accuracies on suite {wildcards.suite}",
            ),
            Rule(
                name="tabulate_model_errors",
                run=write_model_errors,
                input={"predicted": predicted},
                output={"errors": self.errors_of_model},
                arguments=lambda wildcards: {
                    "settings": self._noted_settings(wildcards.suite),
                    "confidence": self.study.confidence,
                },
                request=self._predicting_request,
                values=of_scored,
                code=of_scores,
                message="Tabulating the errors of {wildcards.scored} on suite {wildcards.suite}",
            ),
            Rule(
                name="compare_predictions",
                run=write_comparison,
                input={
                    "predicted": predicted,
                    "gaps": lambda wildcards: self.gaps.expand(
                        suite=wildcards.suite, model=self.models
                    ),
                },
                output={"tables": self.comparison, "of_suite": self.gaps_of_suite.file()},
                arguments=lambda wildcards: self._of_all_models(wildcards.suite),
                request=self._predicting_request,
                values=of_suite,
                code=of_scores,
                message="Comparing predicted and matched gaps on suite {wildcards.suite}",
            ),
            Rule(
                name="plot_accuracy_prediction",
                run=plot_tables,
                input={
                    "predicted": predicted,
                    "errors": self.errors.file(".parquet"),
                    "correlations": self.correlations.file(".parquet"),
                    "gaps": self.gaps_of_suite.files if self.settings.matching else [],
                },
                output={"outputs": self.figure_of_suite},
                arguments=self.table_figure_arguments,
                values={
                    **of_suite,
                    "figure": {name for suite in suites for name in self.table_figures(suite)},
                },
                code=of_scores,
                message="Plotting {wildcards.figure} of suite {wildcards.suite}",
            ),
            Rule(  # confidences and features, of which no table is kept
                name="plot_model_outputs",
                run=plot_outputs,
                input={
                    "results": lambda wildcards: self._inputs(
                        wildcards.suite, self._members_shown(wildcards)
                    )
                },
                output={"outputs": self.figure_of_suite},
                arguments=self.output_figure_arguments,
                custom_files=self._custom_files,
                request=self._scoring_request,
                values={
                    **of_suite,
                    "figure": {name for suite in suites for name in self.output_figures(suite)},
                },
                message="Plotting {wildcards.figure} of suite {wildcards.suite}",
            ),
        ]

    # --- inputs and arguments of jobs

    def members_of(self, scored: str) -> list[str]:
        """Return the models of an ensemble, or a model itself."""
        return list(self.settings.ensembles.get(scored, (scored,)))

    def _inputs(self, suite: str, models: list[str], *others: str) -> list[str]:
        """Return what jobs wait for that read models' outputs on a suite, its base and others."""
        return self.study.suite_inputs(suite, models, [self.settings.suites[suite].base, *others])

    def score_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the scores of a model or ensemble on a suite wait for."""
        name = getattr(wildcards, "scored", None) or wildcards.model
        sources = self._sources(wildcards.suite)
        return self._inputs(wildcards.suite, self.members_of(name), *sources[1:])

    def _sources(self, suite: str) -> list[str]:
        """Return the names of the base and the reference of a suite."""
        one = self.settings.suites[suite]
        return [one.base, *([one.reference] if one.reference else [])]

    def _custom_files(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a suite."""
        name = getattr(wildcards, "scored", None) or getattr(wildcards, "model", None)
        models = self.members_of(name) if name else self.models
        return self.study.custom_suite_state(
            wildcards.suite, models, self._sources(wildcards.suite)
        )

    def _files(self, suite: str, models: list[str]) -> dict[str, Any]:
        """Return where models' outputs on a suite, its base and its reference lie."""
        study = self.study
        names = [*self._sources(suite), *study.suites[suite].datasets]
        custom = [name for name in names if not study.datasets[name].has_images]
        return {
            "folder": study.predictions_folder,
            "outputs": [name for name in study.inference.outputs if name != "top"],
            "custom": {
                name: {model: study.predictions_file(name, model) for model in models}
                for name in custom
            },
            "layouts": {name: asdict(layout_of(study.datasets[name])) for name in custom},
            "labels": {
                member.dataset: {
                    "file": member.all_labels,
                    "folder": study.dataset_folder(member.dataset),
                    "groups": member.groups,
                }
                for member in study.suites[suite].members
                if member.all_labels
            },
        }

    @property
    def _rule(self) -> dict[str, bool | str]:
        """How the classes that count are treated, as of `ClassRule`."""
        settings = self.settings
        return {
            "renormalise": settings.renormalise, "restrict_argmax": settings.restrict_argmax,
            "members": settings.group_probability,
        }  # fmt: skip

    def _suite(self, suite: str) -> Suite:
        """Return a suite without the names of groups, which scores do not depend on."""
        members = self.study.suites[suite].members
        return Suite(
            suite, tuple(replace(m, group="", subgroup="", severity=None) for m in members)
        )

    def _given(self, suite: str, models: list[str]) -> dict[str, Any]:
        """Return where outputs on a suite lie and what counts of them, as of `SuiteOutputs`."""
        base, study = self.settings.suites[suite].base, self.study
        spec = study.datasets[base]
        known = list(spec.settings.known_classes or ())
        return {
            "suite": asdict(self._suite(suite)),
            "base": base,
            "classes": study.dataset_files(base)[0] if spec.has_images else known,
            "rule": self._rule,
            "files": self._files(suite, models),
        }

    @property
    def _views(self) -> dict[str, Any]:
        """The parts of sets that scores are computed on, too, as of `Views`."""
        settings = self.settings
        return {
            "sizes": settings.test_sizes, "draws": settings.draws,
            "missing_classes": settings.missing_classes,
            "whole_accuracy": settings.test_size_accuracy == "whole",
        }  # fmt: skip

    def score_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of the scores of a model or ensemble on a suite."""
        members, suite = self.members_of(wildcards.scored), wildcards.suite
        in_pool = self.has_agreement and wildcards.scored not in self.settings.ensembles
        chosen = [score.name for score in self.chosen]
        own = [name for name in chosen if name in SCORES]
        return {
            "given": self._given(suite, members),
            "views": self._views,
            # A score of the pool that its own job does not compute has a row here that says why.
            "methods": own if in_pool else chosen,
            "reference": self.settings.suites[suite].reference,
            "members": members,
            "options": {"n_prototypes": self.settings.n_prototypes},
            "seeds": self.settings.seeds,
        }

    def agreement_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of the agreement of models on a suite."""
        return {
            "given": self._given(wildcards.suite, self.models),
            "methods": [score.name for score in self.chosen if score.name in POOL_SCORES],
            "views": self._views,
            "models": self.models,
            "single": self.settings.single,
        }

    def gap_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of the matched gaps of a model on a suite."""
        matching = self.study.analysis(Matching).settings
        return {
            "given": self._given(wildcards.suite, [wildcards.model]),
            "method": next(iter(matching.methods.values())).model_dump(mode="json"),
            "seeds": list(range(matching.seeds)),
        }

    def rotation_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tables of rotation scores of all models on a suite, if they are computed."""
        models = self.models if self.turned(wildcards.suite) else []
        return self.rotation.expand(suite=wildcards.suite, model=models)

    def _noted_settings(self, suite: str) -> dict[str, Any]:
        """Return the settings that are named under tables."""
        one, settings = self.settings.suites[suite], self.settings
        noted = {
            "base": one.base,
            "reference": one.reference or "none",
            "seeds": ", ".join(map(str, settings.seeds)),
            "prototypes": settings.n_prototypes,
            "renormalised": settings.renormalise,
            "argmax restricted": settings.restrict_argmax,
            "probability of a group of classes": settings.group_probability,
            "clipped": settings.clip,
        }
        # A computed texture stands in for photographs of frost.
        frost = [
            name for name in self.study.suites[suite].datasets
            if self.study.datasets[name].options.get("corruption") in PROCEDURAL
        ]  # fmt: skip
        if frost:
            sets = "1 set" if len(frost) == 1 else f"{len(frost)} sets"
            noted["frost"] = f"computed (frost_procedural), no photographs, in {sets}"
        return noted

    def _of_all_models(self, suite: str) -> dict[str, Any]:
        """Return the arguments of tables with means over models."""
        noted = {**self._noted_settings(suite), "models": len(self.pool)}
        if self.settings.single:
            noted["single models, not counted"] = ", ".join(self.settings.single)
        return {
            "confidence": self.study.confidence,
            "uncounted": self.uncounted,
            "places": {
                m.dataset: {"group": m.group, "subgroup": m.subgroup, "severity": m.severity}
                for m in self.study.suites[suite].members
            },
            "settings": noted,
        }

    def prediction_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of the predicted accuracies on a suite."""
        settings, one = self.settings, self.settings.suites[wildcards.suite]
        return {
            **self._of_all_models(wildcards.suite),
            "calibrations": [{"on": on, "predict": predict} for on, predict in one.regressions],
            "loo": settings.leave_one_out,
            "regressors": settings.regressors,
            "clip": settings.clip,
            "published": settings.published,
        }

    def table_figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of a figure that is drawn from tables."""
        kind, options = self.table_figures(wildcards.suite)[wildcards.figure]
        return {"kind": kind, "options": options, "uncounted": self.uncounted}

    def _members_shown(self, wildcards: Wildcards) -> list[str]:
        """Return the models of a figure that is drawn from outputs of models."""
        _, options = self.output_figures(wildcards.suite)[wildcards.figure]
        return self.members_of(options["model"])

    def output_figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of a figure that is drawn from outputs of models."""
        suite, members = wildcards.suite, self._members_shown(wildcards)
        kind, options = self.output_figures(suite)[wildcards.figure]
        return {
            "given": self._given(suite, members) | {"suite": asdict(self.study.suites[suite])},
            "kind": kind,
            "options": options,
            "members": members,
        }

    # --- the passes over turned images

    rotation_version = ROTATION_VERSION

    @property
    def _turned_folder(self) -> str:
        """Folder of what is kept of passes over turned images."""
        return f"{self.study.folder}/{self.name}/turned"

    def rotation_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return what the rotation scores of a model are computed from."""
        sets = [self.settings.suites[wildcards.suite].base, *self.turned(wildcards.suite)]
        weights = self.study.weights_file(wildcards.model)
        return {
            "predictions": self.score_inputs(wildcards),
            "weights": [weights] if weights else [],
            "datasets": [file for name in sets for file in self.study.dataset_files(name)],
        }

    def rotation_saves(self, wildcards: Wildcards) -> str:
        """Return the pattern of the files that a further job of a model goes on from."""
        return f"{self._turned_folder}/*/*/{wildcards.model}.*.npz"

    def rotation_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that computes rotation scores."""
        study, suite, inference = self.study, wildcards.suite, self.study.inference
        source = study.runnable[wildcards.model].source
        assert source is not None, wildcards.model  # models of known predictions are not run
        turned = self.turned(suite)  # the others would make the command too long
        members = tuple(one for one in self._suite(suite).members if one.dataset in turned)
        job = {
            "model": asdict(source),
            "weights": study.weights_file(wildcards.model),
            "suite": asdict(Suite(suite, members)),
            "sets": turned,
            "methods": [score.name for score in self.chosen if Need.IMAGES in score.needs],
            "base": self.settings.suites[suite].base,
            "datasets": study.dataset_folder("").rstrip("/"),
            "files": self._files(suite, [wildcards.model]),
            "folder": self._turned_folder,
            "rule": self._rule,
            "seeds": self.settings.seeds,
        }
        return [
            "--job", pack_argument(job),
            "--device", inference.device, "--precision", inference.precision,
            *(["--compile"] if inference.compile else []),
        ]  # fmt: skip

    # --- resource requests

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the numbers of models, sets, images, classes and features."""
        return {**super().resource_requests, "score_rotation": self._rotation_request}

    def _size(self, suite: str) -> tuple[int, int]:
        """Return the number of sets of a suite, and of images of the largest."""
        sets = self.study.suites[suite].datasets
        names = [*self._sources(suite), *sets]
        return len(sets), max(dataset_size(self.study, name).images for name in names)

    def _scoring_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        base, kept = self.settings.suites[wildcards.suite].base, self.study.inference.outputs
        n_classes = self.study.datasets[base].settings.n_classes or analysis_resources.MANY_CLASSES
        return analysis_resources.of_scoring(
            *self._size(wildcards.suite),
            n_classes if "logits" in kept else 1,
            analysis_resources.MANY_FEATURES if "features" in kept else 0,
        )

    def _predicting_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        n_sets = len(self.study.suites[wildcards.suite].datasets)
        return analysis_resources.of_predicting(len(self.scored), n_sets, len(self.chosen))

    def _rotation_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        base = self.settings.suites[wildcards.suite].base
        sizes = [dataset_size(self.study, name) for name in (base, *self.turned(wildcards.suite))]
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
