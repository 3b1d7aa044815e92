"""The analysis of accuracy prediction: what is predicted by which methods, its files and rules."""

import json
from dataclasses import asdict, replace
from typing import Any, ClassVar

from matcheval.accuracy_prediction import ROTATION_VERSION, figures, scoring
from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES
from matcheval.accuracy_prediction.scores.score import Data
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings, CheckedPrediction
from matcheval.datasets.corruptions import PROCEDURAL
from matcheval.datasets.suites import Suite
from matcheval.execution.jobs import pack_argument
from matcheval.names import MODEL
from matcheval.predictions.layout import layout_of
from matcheval.report.sections import Section
from matcheval.study.rules import Artifact, Wildcards, call, kept_calls
from matcheval.study.study import Study

_SUITE = "suite **{{ snakemake.wildcards.suite }}**"
_OF_MODEL = f"**{{{{ snakemake.wildcards.scored }}}}** on {_SUITE}"
_ERRORS = "Mean absolute errors of predicted accuracies by method and group of sets"
_COUNTS = "Whether errors on subgroups depend on their numbers of images"
_CAPTIONS = {
    "errors": f"{_ERRORS}, {_SUITE}.",
    "correlations": f"Correlations of scores with accuracies over the sets of {_SUITE}.",
    "gaps_by_group": f"Mean gaps between the accuracies on the base and on the sets of {_SUITE}, "
    "by model and group of sets.",
    "rankings": f"Whether the methods rank alike on every two groups of sets of {_SUITE}.",
    "counts": f"{_COUNTS}, {_SUITE}.",
    "differences": f"By how much the method with the lowest error on {_SUITE} is better than each "
    "other, with intervals that hold for all pairs of methods at once.",
    "errors_of_models": f"{_ERRORS}, {_OF_MODEL}.",
    "counts_of_models": f"{_COUNTS}, {_OF_MODEL}.",
    "between_suites": "Whether the methods rank alike, by their errors, on every two suites, by "
    "classifier.",
}


class AccuracyPrediction(CheckedPrediction):
    """Predict accuracies on a suite's sets without their labels, and compare the methods."""

    name: ClassVar[str] = "accuracy_prediction"
    Settings: ClassVar[type[AccuracyPredictionSettings]] = AccuracyPredictionSettings
    rotation_version = ROTATION_VERSION

    def __init__(self, settings: AccuracyPredictionSettings, study: Study) -> None:
        super().__init__(settings, study)

        def suite_table(name: str, label: str, stem: str = "{suite}") -> Artifact:
            """Declare a table for each suite, with a file per value of the wildcards in `stem`."""
            labels = {"table": label, "of": "{suite}"}
            return self.table(f"{name}/{stem}", _CAPTIONS[name], labels)

        predicted = f"{study.folder}/{self.name}/predicted/{{suite}}"
        self.predicted = Artifact(predicted, (".parquet", ".csv"))
        self.errors = suite_table("errors", "errors")
        self.correlations = suite_table("correlations", "correlations")
        self.group_gaps = suite_table("gaps_by_group", "gaps")
        self.rankings = suite_table("rankings", "rankings of methods")
        counts, stem = "numbers of images and errors", "{suite}/{scored}"
        self.counts = suite_table("counts", counts)
        self.differences = suite_table("differences", "differences of errors")
        self.errors_of_model = suite_table("errors_of_models", "errors of {scored}", stem)
        self.counts_of_model = suite_table("counts_of_models", f"{counts} of {{scored}}", stem)
        self.between = self.table(
            "between_suites", _CAPTIONS["between_suites"],
            {"table": "rankings of methods on two suites"},
        )  # fmt: skip
        self.figure_of_suite = self.figure(
            f"{self.name}/{{suite}}/{{figure}}", figures.CAPTION,
            {"table": "{figure}", "of": "{suite}"},
        )  # fmt: skip

    @property
    def excluded_from_mean(self) -> list[str]:
        """Names of single models and of ensembles, which means over models leave out."""
        return [*self.settings.single, *self.settings.ensembles]

    def rotated(self, suite: str) -> list[str]:
        """Return the sets of a suite that rotation is scored on; none if it is not chosen."""
        if not any(Data.IMAGES in score.needs for score in self.chosen):
            return []
        chosen = self.settings.suites[suite].rotation
        return self.study.suites[suite].datasets if chosen == "all" else list(chosen)

    def rotated_with_base(self, suite: str) -> list[str]:
        """Return the names of the base of a suite and of the sets that rotation is scored on."""
        return [self.settings.suites[suite].base, *self.rotated(suite)]

    def figures_of(self, suite: str) -> dict[str, figures.ChosenFigure]:
        """Return kind and options of each figure of a suite, by name."""
        return figures.figures_of_suite(self.settings, self.study.suites[suite], self.chosen)

    # --- files

    @property
    def report_section(self) -> Section:
        """Its section of the report, with the errors of all suites as data."""
        suites = self.settings.suites
        errors = [self.errors.file(".parquet", suite=suite) for suite in suites]
        return self.section({"errors": errors} if suites else None)

    @property
    def targets(self) -> list[str]:
        """Paths of the predicted accuracies, tables and figures of every suite."""
        suites = list(self.settings.suites)
        tables = (
            self.predicted, self.errors, self.correlations, self.group_gaps, self.rankings,
            self.counts, self.differences,
        )  # fmt: skip
        targets = [path for table in tables for path in table.expand(suite=suites)]
        targets += self.between.expand() if len(suites) > 1 else []
        for model_table in (self.errors_of_model, self.counts_of_model):
            targets += model_table.expand(suite=suites, scored=self.settings.figure_models)
        for suite in suites:
            targets += self.figure_of_suite.expand(suite=suite, figure=self.figures_of(suite))
        return targets

    # --- inputs and arguments of jobs

    def members_of(self, scored: str) -> list[str]:
        """Return the names of the models in an ensemble; of a single model, its own name."""
        return list(self.settings.ensembles.get(scored, (scored,)))

    @property
    def all_models(self) -> list[str]:
        """Names of the models whose accuracies are predicted, including members of ensembles."""
        members = (name for scored in self.scored for name in self.members_of(scored))
        return list(dict.fromkeys([*self.models, *members]))

    def _base_and_reference(self, suite: str) -> list[str]:
        """Return the names of the base of a suite and, if it has one, of its reference."""
        settings = self.settings.suites[suite]
        return [settings.base, *([settings.reference] if settings.reference else [])]

    def _all_sets(self, suite: str) -> list[str]:
        """Return the names of the base, the reference, and all test sets of a suite."""
        return [*self._base_and_reference(suite), *self.study.suites[suite].datasets]

    def _sets_with_description(self, suite: str) -> list[str]:
        """Return the names of the sets of a suite whose description files jobs read."""
        # The base, for its class names, and sets with several labels per image.
        base = self.settings.suites[suite].base
        names = [base] if self.study.datasets[base].has_images else []
        return names + [m.dataset for m in self.study.suites[suite].members if m.all_labels]

    def inputs(self, suite: str, models: list[str]) -> list[str]:
        """Return the input files of jobs that read models' outputs on a suite."""
        outputs = self.study.suite_inputs(suite, models, self._base_and_reference(suite))
        described = self._sets_with_description(suite)
        return [*outputs, *(f for name in described for f in self.study.description_inputs(name))]

    def _files_read(self, suite: str, models: list[str]) -> list[str]:
        """Return the prediction, description and label files that a job on these models reads."""
        study, labelled = self.study, [m for m in self.study.suites[suite].members if m.all_labels]
        names = dict.fromkeys(self._all_sets(suite))
        return [
            *(study.predictions_file(name, model) for name in names for model in models),
            *(study.description_files(name)[0] for name in self._sets_with_description(suite)),
            *(member.all_labels for member in labelled),
            *(study.description_files(member.dataset)[1] for member in labelled),
        ]

    def _ungrouped_suite(self, suite: str) -> Suite:
        """Return a suite without groups and severities, which scores do not depend on."""
        members = self.study.suites[suite].members
        return Suite(
            suite, tuple(replace(m, group="", subgroup="", severity=None) for m in members)
        )

    def _stored_outputs(self, suite: str, models: list[str]) -> dict[str, Any]:
        """Return the fields of a `SuiteOutputs`: where outputs lie, and which classes count."""
        study, base, names = self.study, self.settings.suites[suite].base, self._all_sets(suite)
        spec = study.datasets[base]
        classes = list(spec.settings.known_classes or ())
        custom = [name for name in names if not study.datasets[name].has_images]
        files = {
            "stems": {
                name: study.predictions_stem(name, MODEL) for name in names if name not in custom
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
        return {
            "suite": asdict(self._ungrouped_suite(suite)),
            "base": base,
            "classes": study.dataset_files(base)[0] if spec.has_images else classes,
            "rule": self.settings.model_dump(include={"renormalise", "restrict_argmax"}),
            "files": files,
        }

    @property
    def _scored_subsets(self) -> dict[str, Any]:
        """The fields of a `Subsets`: which subsets of test sets are scored, too."""
        return self.settings.model_dump(include={"test_sizes", "draws", "missing_classes"})

    def score_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `execution.batches.make_calls` for the scores of all models."""
        suite, study = wildcards.suite, self.study
        members: dict[str, dict[str, Any]] = {}
        for scored in self.scored:
            in_pool = self.has_agreement and scored not in self.settings.ensembles
            # A score of the pool that its own job does not compute has a row here that says why.
            methods = [s.name for s in self.chosen if s.name in SCORES or not in_pool]
            members[scored] = {
                "scored": scored, "members": self.members_of(scored), "methods": methods,
            }  # fmt: skip
        shared = {
            "subsets": self._scored_subsets,
            "reference": self.settings.suites[suite].reference,
            "options": {"n_prototypes": self.settings.n_prototypes},
            "seeds": self.settings.seeds,
        }
        if all(study.datasets[name].has_images for name in self._all_sets(suite)):
            shared["stored"] = self._stored_outputs(suite, [])
        else:  # the user's files of other models do not matter
            for scored in self.scored:
                members[scored]["stored"] = self._stored_outputs(suite, self.members_of(scored))
        return kept_calls(study, scoring.write_scores, f"{self.name}/scores/{suite}") | {
            "shared": shared, "members": members, "output": "scores",
            "reads": {name: self._files_read(suite, self.members_of(name)) for name in self.scored},
        }  # fmt: skip

    def agreement_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `write_agreement`."""
        return {
            "stored": self._stored_outputs(wildcards.suite, self.models),
            "methods": [score.name for score in self.chosen if score.name in POOL_SCORES],
            "subsets": self._scored_subsets,
            "models": self.models,
            "single": self.settings.single,
            "recipes": [self._recipe_without_seed(name) for name in self.models],
        }

    def _recipe_without_seed(self, model_name: str) -> str:
        """Return a model's recipe as text, without its seeds; its name if it has no recipe."""
        model = self.study.models[model_name]
        if model.recipe is None:
            return model_name
        seeded = {"seed", "seeded_by"}
        recipe = {k: v for k, v in model.recipe.to_mapping().items() if k not in seeded}
        return json.dumps([recipe, model.train], sort_keys=True)

    def _noted_settings(self, suite: str) -> dict[str, Any]:
        """Return the settings to state in notes below the tables of a suite, by label."""
        suite_settings, settings = self.settings.suites[suite], self.settings
        noted = {
            "base": suite_settings.base,
            "reference": suite_settings.reference or "none",
            "seeds": ", ".join(map(str, settings.seeds)),
            "prototypes": settings.n_prototypes,
            "renormalised": settings.renormalise,
            "argmax restricted": settings.restrict_argmax,
            "clipped": settings.clip,
        }
        # A computed texture stands in for photographs of frost.
        datasets = (self.study.datasets[name] for name in self.study.suites[suite].datasets)
        if n := sum(spec.options.get("corruption") in PROCEDURAL for spec in datasets):
            sets = "1 set" if n == 1 else f"{n} sets"
            noted["frost"] = f"computed (frost_procedural), no photographs, in {sets}"
        return noted

    def prediction_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `write_predictions` for a suite."""
        suite, settings = wildcards.suite, self.settings
        pool: dict[str, Any] = {"models": len(self.pool)}
        if settings.single:
            pool["single models, not counted"] = ", ".join(settings.single)
        return {
            "confidence": self.study.confidence,
            "excluded_from_mean": self.excluded_from_mean,
            "places": {
                m.dataset: {"group": m.group, "subgroup": m.subgroup, "severity": m.severity}
                for m in self.study.suites[suite].members
            },
            "settings": self._noted_settings(suite),
            "pool": pool,
            "scores": [
                f"{self.study.folder}/{self.name}/scores/{suite}/{name}.parquet"
                for name in self.scored
            ],
            **settings.model_dump(include={"leave_one_out", "regressors", "clip"}),
            "calibrations": settings.suites[suite].regressions,
        }

    # --- figures, which one job draws

    @property
    def suites_with_outputs(self) -> list[str]:
        """Names of the suites with figures of models' outputs: histograms or embeddings."""
        suites = self.settings.suites.items()
        return [name for name, suite in suites if suite.histograms or suite.embeddings]

    def figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the calls that draw the figures of all suites."""
        calls = []
        for suite in self.settings.suites:
            tables = {
                "predicted": self.predicted.file(".parquet", suite=suite),
                "errors": self.errors.file(".parquet", suite=suite),
                "correlations": self.correlations.file(".parquet", suite=suite),
                "excluded_from_mean": self.excluded_from_mean,
            }
            for name, (kind, options) in self.figures_of(suite).items():
                outputs = self.figure_of_suite.expand(suite=suite, figure=name)
                figure = {"kind": kind, "options": options, "outputs": outputs}
                if kind in figures.KINDS:
                    calls.append(call(figures.plot_tables, **tables, **figure))
                    continue
                members = self.members_of(options["model"])
                stored = self._stored_outputs(suite, members)
                stored["suite"] = asdict(self.study.suites[suite])  # with its groups
                calls.append(call(figures.plot_outputs, stored=stored, members=members, **figure))
        return {"calls": calls}

    # --- the passes over rotated images

    def rotation_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the options of the command that scores a model on a suite's rotated images."""
        study, suite, inference = self.study, wildcards.suite, self.study.inference
        source = study.runnable[wildcards.model].source
        assert source is not None, wildcards.model  # models of known predictions are not run
        rotated = self.rotated(suite)  # the others would make the command too long
        members = tuple(m for m in self._ungrouped_suite(suite).members if m.dataset in rotated)
        stored = self._stored_outputs(suite, [wildcards.model])
        job = {
            "model": asdict(source),
            "weights": study.weights_file(wildcards.model),
            "stored": stored | {"suite": asdict(Suite(suite, members))},
            "methods": [score.name for score in self.chosen if Data.IMAGES in score.needs],
            "datasets": f"{study.results}/datasets",
            "folder": f"{study.folder}/{self.name}/turned",
            "seeds": self.settings.seeds,
        }
        return [
            "--job", pack_argument(job),
            "--device", inference.device, "--precision", inference.precision,
            *(["--compile"] if inference.compile else []),
        ]  # fmt: skip
