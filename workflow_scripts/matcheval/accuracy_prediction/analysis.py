"""The analysis of accuracy prediction: what is predicted by which methods, its files and rules."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

from matcheval.accuracy_prediction import ROTATION_VERSION, figures, scoring, tables
from matcheval.accuracy_prediction.checks import CheckedPrediction
from matcheval.accuracy_prediction.gaps import write_gaps
from matcheval.accuracy_prediction.output_figures import plot_outputs
from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES
from matcheval.accuracy_prediction.scores.score import Need
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.corruptions.names import PROCEDURAL
from matcheval.datasets.suites import Suite
from matcheval.execution import resources
from matcheval.execution.jobs import pack_argument
from matcheval.predictions.layout import layout_of
from matcheval.protocol.analysis import Matching
from matcheval.report.sections import Section
from matcheval.study.rules import Artifact, Members, Rule, Wildcards
from matcheval.study.sizes import dataset_size, model_size
from matcheval.study.study import Study

_OF_SUITE = "suite **{{ snakemake.wildcards.suite }}**"
# Label and caption of the tables of a suite, by their folder.
_TABLES = {
    "errors": (
        "errors",
        f"Mean absolute errors of the accuracies predicted on {_OF_SUITE}, by method and group of "
        "sets.",
    ),
    "correlations": (
        "correlations", f"Correlations of scores with accuracies over the sets of {_OF_SUITE}.",
    ),
    "gaps_by_group": (
        "gaps",
        f"Mean gaps between the accuracies on the base and on the sets of {_OF_SUITE}, by model "
        "and group of sets.",
    ),
    "rankings": (
        "rankings of methods",
        "Whether the methods rank alike, by their errors, on every two groups of sets of "
        f"{_OF_SUITE}.",
    ),
    "counts": (
        "numbers of images and errors",
        f"Whether the errors on the subgroups of {_OF_SUITE} go with their numbers of images.",
    ),
    "differences": (
        "differences of errors",
        f"By how much the method with the lowest error on {_OF_SUITE} is better than each other, "
        "with intervals that hold for all pairs of methods at once.",
    ),
    "comparison": (
        "predicted and matched gaps",
        f"Whether the errors of predicted gaps on {_OF_SUITE} go with what the matched evaluation "
        "protocol says of the gaps.",
    ),
}  # fmt: skip
_OF_MODEL = (
    "Mean absolute errors of the accuracies predicted for **{{ snakemake.wildcards.scored }}** on "
    f"{_OF_SUITE}, by method and group of sets."
)
_COUNTS_OF_MODEL = (
    "Whether the errors for **{{ snakemake.wildcards.scored }}** on the subgroups of "
    f"{_OF_SUITE} go with their numbers of images."
)


class AccuracyPrediction(CheckedPrediction):
    """Predict accuracies on a suite's sets without their labels, and compare the methods."""

    name: ClassVar[str] = "accuracy_prediction"
    Settings: ClassVar[type[AccuracyPredictionSettings]] = AccuracyPredictionSettings

    def __init__(self, settings: AccuracyPredictionSettings, study: Study) -> None:
        super().__init__(settings, study)

        def data(stem: str, *suffixes: str) -> Artifact:
            return Artifact(f"{study.folder}/{self.name}/{stem}", suffixes or (".parquet",))

        def table(stem: str, label: str, caption: str) -> Artifact:
            return self.table(stem, caption, {"table": label, "of": "{suite}"})

        self.scores, self.agreement = data("scores/{suite}/{scored}"), data("agreement/{suite}")
        self.rotation, self.gaps = data("rotation/{suite}/{model}"), data("gaps/{suite}/{model}")
        self.scored_index = data("scores/{suite}", ".json")
        self.gaps_index = data("gaps/{suite}", ".json")
        self.gaps_of_suite = data("comparison/{suite}.gaps")
        self.predicted = data("predicted/{suite}", ".parquet", ".csv")
        (
            self.errors, self.correlations, self.group_gaps, self.rankings, self.counts,
            self.differences, self.comparison,
        ) = (table(f"{folder}/{{suite}}", *texts) for folder, texts in _TABLES.items())  # fmt: skip
        self.between = self.table(
            "between_suites",
            "Whether the methods rank alike, by their errors, on every two suites, by classifier.",
            {"table": "rankings of methods on two suites"},
        )
        self.errors_of_model = table(
            "errors_of_models/{suite}/{scored}", "errors of {scored}", _OF_MODEL
        )
        self.counts_of_model = table(
            "counts_of_models/{suite}/{scored}", "numbers of images and errors of {scored}",
            _COUNTS_OF_MODEL,
        )  # fmt: skip
        self.figure_of_suite = self.figure(
            f"{self.name}/{{suite}}/{{figure}}", figures.CAPTION,
            {"table": "{figure}", "of": "{suite}"},
        )  # fmt: skip

    @property
    def uncounted(self) -> list[str]:
        """Names of single models and ensembles, which means over models do not count."""
        return [*self.settings.single, *self.settings.ensembles]

    def rotated(self, suite: str) -> list[str]:
        """Return the sets of a suite that rotation accuracy is measured on, if it is asked for."""
        if not any(Need.IMAGES in score.needs for score in self.chosen):
            return []
        asked = self.settings.suites[suite].rotation
        return self.study.suites[suite].datasets if asked == "all" else list(asked)

    def table_figures(self, suite: str) -> dict[str, figures.ChosenFigure]:
        """Return the figures of a suite that are drawn from its tables, by name."""
        return figures.figures_of_tables(self.settings, self.study.suites[suite], self.chosen)

    def output_figures(self, suite: str) -> dict[str, figures.ChosenFigure]:
        """Return the figures of a suite that are drawn from outputs of models, by name."""
        return figures.figures_of_outputs(self.settings.suites[suite])

    # --- files and rules

    @property
    def report_section(self) -> Section:
        """Errors of all methods by suite, besides tables and figures."""
        suites = self.settings.suites
        errors = [self.errors.file(".parquet", suite=suite) for suite in suites]
        return self.section({"errors": errors} if suites else None)

    @property
    def targets(self) -> list[str]:
        """Predicted accuracies, tables and figures of every suite."""
        suites = list(self.settings.suites)
        of_suite = [
            self.predicted, self.errors, self.correlations, self.group_gaps, self.rankings,
            self.counts, self.differences, *([self.comparison] if self.settings.matching else []),
        ]  # fmt: skip
        targets = [path for table in of_suite for path in table.expand(suite=suites)]
        targets += self.between.files if len(suites) > 1 else []
        for of_model in (self.errors_of_model, self.counts_of_model):
            targets += of_model.expand(suite=suites, scored=self.settings.figure_models)
        for suite in suites:
            names = [*self.table_figures(suite), *self.output_figures(suite)]
            targets += self.figure_of_suite.expand(suite=suite, figure=names)
        return targets

    @property
    def rules(self) -> list[Rule]:
        """All but `score_rotation`, which runs models (rules/accuracy_prediction.smk)."""
        suites = self.settings.suites
        of_suite = {"suite": suites}
        of_scored = {**of_suite, "scored": self.scored}
        of_outputs: dict[str, Any] = {
            "custom_files": self._custom_files, "request": self._scoring_request,
        }  # fmt: skip
        predicted = self.predicted.file(".parquet")
        plotting = "Plotting {wildcards.figure} of suite {wildcards.suite}"

        def names(chosen: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
            return {**of_suite, "figure": {name for suite in suites for name in chosen(suite)}}

        return [
            Rule(
                name="score_accuracy", run=scoring.write_scores,
                input={"results": self.score_inputs}, output={"scores": self.scores.file()},
                arguments=self.score_arguments, values=of_scored, **of_outputs,
                members=self._together("scored", self.scored, self.scored_index),
                message="Scoring models on suite {wildcards.suite}",
            ),
            Rule(
                name="score_agreement", run=scoring.write_agreement,
                input={"results": self._outputs}, output={"scores": self.agreement.file()},
                arguments=self.agreement_arguments, custom_files=self._custom_files,
                request=self._agreement_request, values=of_suite,
                message="Comparing the predictions of all models on suite {wildcards.suite}",
            ),
            Rule(  # how the matched evaluation protocol sees the same gaps
                name="compare_gaps", run=write_gaps,
                input={"results": self.score_inputs}, output={"gaps": self.gaps.file()},
                arguments=self.gap_arguments, values=of_suite, **of_outputs,
                members=self._together("model", self.models, self.gaps_index),
                message="Matching models on the sets of suite {wildcards.suite}",
            ),
            Rule(
                name="predict_accuracy", run=tables.write_predictions,
                input={
                    "scored": self.scored_index.file(),
                    "agreement": self.agreement.files if self.has_agreement else [],
                    "rotation": self.rotation_tables,
                },
                output={
                    "predicted": self.predicted, "errors": self.errors,
                    "correlations": self.correlations, "group_gaps": self.group_gaps,
                    "rankings": self.rankings, "counts": self.counts,
                    "differences": self.differences,
                },
                arguments=self.prediction_arguments, request=self._predicting_request,
                values=of_suite,
                environment="models",  # one of its regressions is a network, and needs torch
                message="Predicting the accuracies on suite {wildcards.suite}",
            ),
            Rule(
                name="compare_suites", run=tables.write_between_suites,
                input={"predicted": [self.predicted.file(".parquet", suite=one) for one in suites]},
                output={"outputs": self.between},
                arguments=lambda wildcards: {"uncounted": self.uncounted},
                message="Comparing the rankings of methods on suites",
            ),
            Rule(
                name="tabulate_model_errors", run=tables.write_model_errors,
                input={"predicted": predicted},
                output={"errors": self.errors_of_model, "counts": self.counts_of_model},
                arguments=lambda wildcards: {
                    "settings": self._noted_settings(wildcards.suite),
                    "confidence": self.study.confidence, "published": self.settings.published,
                },
                request=self._predicting_request, values=of_scored,
                message="Tabulating the errors of {wildcards.scored} on suite {wildcards.suite}",
            ),
            Rule(
                name="compare_predictions", run=tables.write_comparison,
                input={"predicted": predicted, "matched": self.gaps_index.file()},
                output={"tables": self.comparison, "of_suite": self.gaps_of_suite.file()},
                arguments=lambda wildcards: {
                    **self._of_all_models(wildcards.suite),
                    "gaps": self.gaps.expand(suite=wildcards.suite, model=self.models),
                },
                request=self._predicting_request, values=of_suite,
                message="Comparing predicted and matched gaps on suite {wildcards.suite}",
            ),
            Rule(
                name="plot_accuracy_prediction", draws=True, run=figures.plot_tables,
                input={
                    "predicted": predicted,
                    "errors": self.errors.file(".parquet"),
                    "correlations": self.correlations.file(".parquet"),
                    "gaps": self.gaps_of_suite.files if self.settings.matching else [],
                },
                output={"outputs": self.figure_of_suite}, arguments=self.table_figure_arguments,
                values=names(self.table_figures), message=plotting,
            ),
            Rule(  # confidences and features, of which no table is kept
                name="plot_model_outputs", draws=True, run=plot_outputs,
                input={"results": self._outputs}, output={"outputs": self.figure_of_suite},
                arguments=self.output_figure_arguments, values=names(self.output_figures),
                message=plotting, **of_outputs,
            ),
        ]  # fmt: skip

    @property
    def indexes(self) -> list[str]:
        """Lists of the tables of scores and of gaps, by suite."""
        suites = list(self.settings.suites)
        return [*self.scored_index.expand(suite=suites), *self.gaps_index.expand(suite=suites)]

    def _together(self, wildcard: str, names: list[str], index: Artifact) -> Members:
        return Members(wildcard, lambda _: names, self._read, index, self.study.results)

    # --- inputs and arguments of jobs

    def members_of(self, scored: str) -> list[str]:
        """Return the names of the models in an ensemble; of a single model, its own name."""
        return list(self.settings.ensembles.get(scored, (scored,)))

    def _models_of(self, wildcards: Wildcards) -> list[str]:
        """Return the models that a job reads: one, those of an ensemble or a figure, or all."""
        name = getattr(wildcards, "scored", None) or getattr(wildcards, "model", None)
        if figure := getattr(wildcards, "figure", None):
            name = self.output_figures(wildcards.suite)[figure][1]["model"]
        return self.members_of(name) if name else self.models

    def _sources(self, suite: str) -> list[str]:
        """Return the names of the base and the reference of a suite."""
        one = self.settings.suites[suite]
        return [one.base, *([one.reference] if one.reference else [])]

    def _outputs(self, wildcards: Wildcards) -> list[str]:
        """Return what jobs wait for that read models' outputs on a suite and its base."""
        suite, models = wildcards.suite, self._models_of(wildcards)
        inputs = self.study.suite_inputs(suite, models, self._sources(suite)[:1])
        return [*inputs, *self._described(suite)]

    def score_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the scores of a model or ensemble on a suite wait for."""
        suite, models = wildcards.suite, self._models_of(wildcards)
        inputs = self.study.suite_inputs(suite, models, self._sources(suite))
        return [*inputs, *self._described(suite)]

    def _described(self, suite: str) -> list[str]:
        """Return what jobs wait for that read a base's classes, and labels of all classes."""
        study, base = self.study, self.settings.suites[suite].base
        names = [base] if study.datasets[base].has_images else []
        names += [one.dataset for one in study.suites[suite].members if one.all_labels]
        return [file for name in names for file in study.description_inputs(name)]

    def _read(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a job of one model or ensemble reads."""
        study, suite = self.study, self.study.suites[wildcards.suite]
        sources = self._sources(wildcards.suite)
        described = [name for name in sources[:1] if study.datasets[name].has_images]
        labelled = [one for one in suite.members if one.all_labels]
        return [
            *(
                study.predictions_file(name, model)
                for name in dict.fromkeys([*sources, *suite.datasets])
                for model in self._models_of(wildcards)
            ),
            *(study.dataset_files(name)[0] for name in described),
            *(one.all_labels for one in labelled),
            *(study.description_files(one.dataset)[1] for one in labelled),
        ]

    def _custom_files(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a suite."""
        suite, models = wildcards.suite, self._models_of(wildcards)
        return self.study.custom_suite_state(suite, models, self._sources(suite))

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

    def _suite(self, suite: str) -> Suite:
        """Return a suite without the names of groups, which scores do not depend on."""
        members = self.study.suites[suite].members
        return Suite(
            suite, tuple(replace(m, group="", subgroup="", severity=None) for m in members)
        )

    def _given(self, suite: str, models: list[str]) -> dict[str, Any]:
        """Return where outputs on a suite lie and what counts of them, as of `SuiteOutputs`."""
        base = self.settings.suites[suite].base
        spec = self.study.datasets[base]
        known = list(spec.settings.known_classes or ())
        rule = {"renormalise", "restrict_argmax", "group_probability"}
        return {
            "suite": asdict(self._suite(suite)),
            "base": base,
            "classes": self.study.dataset_files(base)[0] if spec.has_images else known,
            "rule": self.settings.model_dump(include=rule),
            "files": self._files(suite, models),
        }

    @property
    def _views(self) -> dict[str, Any]:
        """The parts of sets that scores are computed on, too, as of `Views`."""
        names = {"test_sizes", "draws", "missing_classes", "test_size_accuracy"}
        return self.settings.model_dump(include=names)

    def score_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the script that scores a model or ensemble on a suite."""
        members, suite = self.members_of(wildcards.scored), wildcards.suite
        in_pool = self.has_agreement and wildcards.scored not in self.settings.ensembles
        return {
            "given": self._given(suite, members),
            "views": self._views,
            # A score of the pool that its own job does not compute has a row here that says why.
            "methods": [s.name for s in self.chosen if s.name in SCORES or not in_pool],
            "reference": self.settings.suites[suite].reference,
            "members": members,
            "options": {"n_prototypes": self.settings.n_prototypes},
            "seeds": self.settings.seeds,
        }

    def agreement_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the script that measures how often models agree on a suite."""
        return {
            "given": self._given(wildcards.suite, self.models),
            "methods": [score.name for score in self.chosen if score.name in POOL_SCORES],
            "views": self._views,
            "models": self.models,
            "single": self.settings.single,
            "recipes": [self._recipe(name) for name in self.models],
        }

    def _recipe(self, name: str) -> str:
        """Return what a model shares with those that differ in their seed only."""
        model = self.study.models[name]
        if model.recipe is None:
            return name
        seeded = {"seed", "seeded_by"}
        recipe = {k: v for k, v in model.recipe.to_mapping().items() if k not in seeded}
        return json.dumps([recipe, model.train], sort_keys=True)

    def gap_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the script that computes a model's matched gaps on a suite."""
        matching = self.study.analysis(Matching).settings
        return {
            "given": self._given(wildcards.suite, [wildcards.model]),
            "method": next(iter(matching.methods.values())).model_dump(mode="json"),
            "seeds": list(range(matching.seeds)),
            "confidence": self.study.confidence,
        }

    def rotation_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tables of rotation scores of all models on a suite, if they are computed."""
        models = self.models if self.rotated(wildcards.suite) else []
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
        """Return the parameters shared by all scripts that average over models."""
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
        """Return the parameters of the script that predicts accuracies from the scores."""
        names = {"leave_one_out", "regressors", "clip", "published"}
        regressions = self.settings.suites[wildcards.suite].regressions
        return {
            **self._of_all_models(wildcards.suite),
            "scores": self.scores.expand(suite=wildcards.suite, scored=self.scored),
            **self.settings.model_dump(include=names),
            "calibrations": [{"on": on, "predict": predict} for on, predict in regressions],
        }

    def table_figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the script that plots a figure from result tables."""
        kind, options = self.table_figures(wildcards.suite)[wildcards.figure]
        return {"kind": kind, "options": options, "uncounted": self.uncounted}

    def output_figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the script that plots a figure from logits and features."""
        suite, members = wildcards.suite, self._models_of(wildcards)
        kind, options = self.output_figures(suite)[wildcards.figure]
        return {
            "given": self._given(suite, members) | {"suite": asdict(self.study.suites[suite])},
            "kind": kind,
            "options": options,
            "members": members,
        }

    # --- the passes over rotated images

    rotation_version = ROTATION_VERSION

    @property
    def _kept_folder(self) -> str:
        """Folder of what is kept of passes over rotated images."""
        return f"{self.study.folder}/{self.name}/turned"

    def rotation_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return what the rotation scores of a model are computed from."""
        sets = [self.settings.suites[wildcards.suite].base, *self.rotated(wildcards.suite)]
        weights = self.study.trainings.checkpoint_input(wildcards.model)
        return {
            "predictions": self.score_inputs(wildcards),
            "weights": [weights] if weights else [],
            "datasets": [file for name in sets for file in self.study.dataset_inputs(name)],
        }

    def rotation_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line arguments for computing a model's rotation scores."""
        study, suite, inference = self.study, wildcards.suite, self.study.inference
        source = study.runnable[wildcards.model].source
        assert source is not None, wildcards.model  # models of known predictions are not run
        rotated = self.rotated(suite)  # the others would make the command too long
        members = tuple(one for one in self._suite(suite).members if one.dataset in rotated)
        given = self._given(suite, [wildcards.model])
        job = {
            "model": asdict(source),
            "weights": study.weights_file(wildcards.model),
            "given": given | {"suite": asdict(Suite(suite, members))},
            "methods": [score.name for score in self.chosen if Need.IMAGES in score.needs],
            "datasets": study.dataset_folder("").rstrip("/"),
            "folder": self._kept_folder,
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

    def _agreement_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        return resources.of_reading(len(self.models), *self._size(wildcards.suite))

    def _scoring_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        base, kept = self.settings.suites[wildcards.suite].base, self.study.inference.outputs
        n_classes = self.study.datasets[base].settings.n_classes or resources.MANY_CLASSES
        return resources.of_scoring(
            *self._size(wildcards.suite),
            n_classes if "logits" in kept else 1,
            resources.MANY_FEATURES if "features" in kept else 0,
        )

    def _predicting_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        n_sets = len(self.study.suites[wildcards.suite].datasets)
        return resources.of_predicting(len(self.scored), n_sets, len(self.chosen))

    def _rotation_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        base = self.settings.suites[wildcards.suite].base
        sizes = [dataset_size(self.study, name) for name in (base, *self.rotated(wildcards.suite))]
        rotated = [replace(size, images=4 * size.images) for size in sizes]
        model = model_size(self.study, wildcards.model, sizes[0])
        settings = self.study.inference
        return resources.of_inference(
            [(size, [model]) for size in rotated],
            max(rotated, key=lambda size: size.pixel_bytes),
            batch_size=settings.batch_size if isinstance(settings.batch_size, int) else 256,
            gpus=int(settings.device == "cuda"),
            threads=settings.threads,
        )
