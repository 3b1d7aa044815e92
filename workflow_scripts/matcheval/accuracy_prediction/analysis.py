"""The analysis of accuracy prediction: what is predicted by which methods, its files and rules."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, ClassVar

from matcheval.accuracy_prediction import ROTATION_VERSION, figures, scoring
from matcheval.accuracy_prediction.checks import CheckedPrediction
from matcheval.accuracy_prediction.gaps import write_gaps
from matcheval.accuracy_prediction.output_figures import plot_outputs
from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES
from matcheval.accuracy_prediction.scores.score import Need
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.corruptions.names import PROCEDURAL
from matcheval.datasets.suites import Suite
from matcheval.execution.jobs import pack_argument
from matcheval.predictions.layout import layout_of
from matcheval.protocol.analysis import Matching
from matcheval.report.sections import Section
from matcheval.study.rules import Artifact, Wildcards, call, kept_calls
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

    def rotated_with_base(self, suite: str) -> list[str]:
        """Return the names of the sets of a suite whose images are rotated, and of its base."""
        return [self.settings.suites[suite].base, *self.rotated(suite)]

    def table_figures(self, suite: str) -> dict[str, figures.ChosenFigure]:
        """Return the figures of a suite that are drawn from its tables, by name."""
        return figures.figures_of_tables(self.settings, self.study.suites[suite], self.chosen)

    def output_figures(self, suite: str) -> dict[str, figures.ChosenFigure]:
        """Return the figures of a suite that are drawn from outputs of models, by name."""
        return figures.figures_of_outputs(self.settings.suites[suite])

    # --- files

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

    # --- inputs and arguments of jobs

    def members_of(self, scored: str) -> list[str]:
        """Return the names of the models in an ensemble; of a single model, its own name."""
        return list(self.settings.ensembles.get(scored, (scored,)))

    def _sources(self, suite: str) -> list[str]:
        """Return the names of the base and the reference of a suite."""
        one = self.settings.suites[suite]
        return [one.base, *([one.reference] if one.reference else [])]

    def base_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return all models' outputs on a suite and its base."""
        return self._inputs(wildcards.suite, self._sources(wildcards.suite)[:1])

    def suite_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return all models' outputs on a suite, its base and its reference."""
        return self._inputs(wildcards.suite, self._sources(wildcards.suite))

    def _inputs(self, suite: str, others: list[str]) -> list[str]:
        outputs = self.study.suite_inputs(suite, self._all_models, others)
        return [*outputs, *self._described(suite)]

    @property
    def _all_models(self) -> list[str]:
        """Names of the models whose accuracies are predicted, including members of ensembles."""
        of = (name for scored in self.scored for name in self.members_of(scored))
        return list(dict.fromkeys([*self.models, *of]))

    def _described(self, suite: str) -> list[str]:
        """Return what jobs wait for that read a base's classes, and labels of all classes."""
        study, base = self.study, self.settings.suites[suite].base
        names = [base] if study.datasets[base].has_images else []
        names += [one.dataset for one in study.suites[suite].members if one.all_labels]
        return [file for name in names for file in study.description_inputs(name)]

    def _read(self, suite: str, models: list[str]) -> list[str]:
        """Return the files that a job of some models reads."""
        study, of_suite = self.study, self.study.suites[suite]
        sources = self._sources(suite)
        described = [name for name in sources[:1] if study.datasets[name].has_images]
        labelled = [one for one in of_suite.members if one.all_labels]
        names = dict.fromkeys([*sources, *of_suite.datasets])
        return [
            *(study.predictions_file(name, model) for name in names for model in models),
            *(study.dataset_files(name)[0] for name in described),
            *(one.all_labels for one in labelled),
            *(study.description_files(one.dataset)[1] for one in labelled),
        ]

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a suite."""
        suite = wildcards.suite
        return self.study.custom_suite_state(suite, self._all_models, self._sources(suite))

    def _files(self, suite: str, models: list[str]) -> dict[str, Any]:
        """Return where models' outputs on a suite, its base and its reference lie."""
        study = self.study
        names, custom = self._sets(suite), self._custom_sets(suite)
        return {
            "stems": {
                name: study.predictions_pattern(name) for name in names if name not in custom
            },
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
        """Return the arguments of `execution.batches.make_calls` for the scores of all models."""
        suite = wildcards.suite

        def own(scored: str) -> dict[str, Any]:
            in_pool = self.has_agreement and scored not in self.settings.ensembles
            # A score of the pool that its own job does not compute has a row here that says why.
            methods = [s.name for s in self.chosen if s.name in SCORES or not in_pool]
            return {"scored": scored, "members": self.members_of(scored), "methods": methods}

        shared = {
            "views": self._views,
            "reference": self.settings.suites[suite].reference,
            "options": {"n_prototypes": self.settings.n_prototypes},
            "seeds": self.settings.seeds,
        }
        return self._calls(scoring.write_scores, suite, shared, own, self.scored, "scores")

    def gap_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `execution.batches.make_calls` for the gaps of all models."""
        matching = self.study.analysis(Matching).settings
        shared = {
            "method": next(iter(matching.methods.values())).model_dump(mode="json"),
            "seeds": list(range(matching.seeds)),
            "confidence": self.study.confidence,
        }
        suite = wildcards.suite
        return self._calls(
            write_gaps, suite, shared, lambda name: {"model": name}, self.models, "gaps"
        )

    def _calls(
        self, function: Callable[..., None], suite: str, shared: dict[str, Any],
        own: Callable[[str], dict[str, Any]], names: list[str], output: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the calls of a function for each of some models or ensembles on a suite."""
        of = {name: self.members_of(name) for name in names}
        members = {name: own(name) for name in names}
        if self._custom_sets(suite):
            for name in names:  # files of other models do not count
                members[name]["given"] = self._given(suite, of[name])
        else:
            shared["given"] = self._given(suite, [])
        reads = {name: self._read(suite, models) for name, models in of.items()}
        return kept_calls(self.study, function, f"{self.name}/{output}/{suite}") | {
            "shared": shared, "members": members, "reads": reads, "output": output,
        }  # fmt: skip

    def _custom_sets(self, suite: str) -> list[str]:
        """Return the base, reference and sets of a suite that are known by the user's files."""
        names = self._sets(suite)
        return [name for name in names if not self.study.datasets[name].has_images]

    def _sets(self, suite: str) -> list[str]:
        return [*self._sources(suite), *self.study.suites[suite].datasets]

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

    def model_error_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `write_model_errors`."""
        return {
            "settings": self._noted_settings(wildcards.suite),
            "confidence": self.study.confidence, "published": self.settings.published,
        }  # fmt: skip

    def comparison_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `write_comparison`."""
        gaps = self.gaps.expand(suite=wildcards.suite, model=self.models)
        return {**self._of_all_models(wildcards.suite), "gaps": gaps}

    @property
    def _drawn_outputs(self) -> dict[str, dict[str, figures.ChosenFigure]]:
        return {suite: self.output_figures(suite) for suite in self.settings.suites}

    def figure_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the tables and outputs that all figures are drawn from."""
        suites = list(self.settings.suites)
        tables = (self.predicted, self.errors, self.correlations)
        read = [one.file(".parquet", suite=suite) for one in tables for suite in suites]
        read += self.gaps_of_suite.expand(suite=suites) if self.settings.matching else []
        drawn = [
            self._outputs_drawn(suite, name) for suite in suites
            for name in self._drawn_outputs[suite]
        ]  # fmt: skip
        return {"tables": read, "outputs": [file for files in drawn for file in files]}

    def _outputs_drawn(self, suite: str, figure: str) -> list[str]:
        """Return the outputs that a figure of a suite is drawn from."""
        models = self.members_of(self.output_figures(suite)[figure][1]["model"])
        outputs = self.study.suite_inputs(suite, models, self._sources(suite)[:1])
        return [*outputs, *self._described(suite)]

    def figure_state(self, wildcards: Wildcards) -> list[Any]:
        """Return size and time of the user's files that figures are drawn from."""
        return [
            self.study.custom_suite_state(
                suite, self.members_of(options["model"]), self._sources(suite)
            )
            for suite, drawn in self._drawn_outputs.items()
            for _, options in drawn.values()
        ]

    def figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the calls that draw all figures."""
        calls = []
        for suite in self.settings.suites:
            tables = {
                name: one.file(".parquet", suite=suite)
                for name, one in (
                    ("predicted", self.predicted), ("errors", self.errors),
                    ("correlations", self.correlations),
                )
            }  # fmt: skip
            gaps = self.gaps_of_suite.expand(suite=suite) if self.settings.matching else []
            for name, (kind, options) in self.table_figures(suite).items():
                shown = {"kind": kind, "options": options, "uncounted": self.uncounted}
                outputs = self.figure_of_suite.expand(suite=suite, figure=name)
                shown |= {**tables, "gaps": gaps, "outputs": outputs}
                calls.append(call(figures.plot_tables, **shown))
            for name, (kind, options) in self.output_figures(suite).items():
                members = self.members_of(options["model"])
                given = self._given(suite, members) | {"suite": asdict(self.study.suites[suite])}
                shown = {"kind": kind, "options": options, "given": given, "members": members}
                outputs = self.figure_of_suite.expand(suite=suite, figure=name)
                calls.append(call(plot_outputs, **shown, outputs=outputs))
        return {"calls": calls}

    # --- the passes over rotated images

    rotation_version = ROTATION_VERSION

    @property
    def _kept_folder(self) -> str:
        """Folder of what is kept of passes over rotated images."""
        return f"{self.study.folder}/{self.name}/turned"

    def rotation_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return what the rotation scores of a model are computed from."""
        sets = self.rotated_with_base(wildcards.suite)
        study, suite = self.study, wildcards.suite
        outputs = study.suite_inputs(suite, [wildcards.model], self._sources(suite))
        weights = study.weights_file(wildcards.model)
        return {
            "predictions": [*outputs, *self._described(suite)],
            "weights": [weights] if weights else [],
            "datasets": [file for name in sets for file in study.dataset_inputs(name)],
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
            "datasets": f"{study.results}/datasets",
            "folder": self._kept_folder,
            "seeds": self.settings.seeds,
        }
        return [
            "--job", pack_argument(job),
            "--device", inference.device, "--precision", inference.precision,
            *(["--compile"] if inference.compile else []),
        ]  # fmt: skip
