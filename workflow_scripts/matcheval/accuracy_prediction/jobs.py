"""Inputs, parameters and arguments of the jobs that score models, by wildcards."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from matcheval.accuracy_prediction import ROTATION_VERSION
from matcheval.accuracy_prediction.scores.registry import POOL_SCORES, SCORES
from matcheval.accuracy_prediction.scores.score import Need
from matcheval.datasets.suites import Suite
from matcheval.execution.jobs import pack_argument
from matcheval.predictions.layout import layout_of
from matcheval.protocol.analysis import Matching
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study

if TYPE_CHECKING:
    from matcheval.accuracy_prediction.analysis import AccuracyPrediction


class ScoreJobs:
    """Jobs that compute scores and matched gaps of single models, or of all."""

    def __init__(self, analysis: "AccuracyPrediction", study: Study) -> None:
        self._analysis, self._settings, self._study = analysis, analysis.settings, study

    def members_of(self, scored: str) -> list[str]:
        """Return the models of an ensemble, or a model itself."""
        return list(self._settings.ensembles.get(scored, (scored,)))

    def sources_of(self, suite: str) -> list[str]:
        """Return the names of the base and the reference of a suite."""
        one = self._settings.suites[suite]
        return [one.base, *([one.reference] if one.reference else [])]

    def score_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the scores of a model or ensemble on a suite wait for."""
        name = getattr(wildcards, "scored", None) or wildcards.model
        sources = self.sources_of(wildcards.suite)
        return self._study.suite_inputs(wildcards.suite, self.members_of(name), sources)

    def agreement_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the agreement of models on a suite waits for."""
        base = self._settings.suites[wildcards.suite].base
        return self._study.suite_inputs(wildcards.suite, self._analysis.models, [base])

    def files_of(self, suite: str, models: Sequence[str]) -> dict[str, Any]:
        """Return where models' outputs on a suite, its base and its reference lie."""
        study = self._study
        names = [*self.sources_of(suite), *study.suites[suite].datasets]
        custom = [name for name in names if not self._analysis.has_images(name)]
        kept = [name for name in study.inference.outputs if name != "top"]
        return {
            "folder": study.predictions_folder,
            "outputs": kept,
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

    def score_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the scores of a model or ensemble on a suite."""
        settings, suite = self._settings, wildcards.suite
        one = settings.suites[suite]
        is_ensemble = wildcards.scored in settings.ensembles
        in_pool = self._analysis.has_agreement and not is_ensemble
        chosen = [score.name for score in self._analysis.chosen]
        own = [name for name in chosen if name in SCORES]
        return {
            "suite": asdict(self._scored(suite)),
            "base": one.base,
            "reference": one.reference,
            "members": self.members_of(wildcards.scored),
            "files": self.files_of(suite, self.members_of(wildcards.scored)),
            "classes": self.classes_of(one.base),
            "rule": self.rule,
            # A score of the pool that its own job does not compute has a row here that says why.
            "methods": own if in_pool else chosen,
            "view_methods": self._on_views(own),
            "options": {"n_prototypes": settings.n_prototypes},
            "views": self._views,
            "seeds": settings.seeds,
        }  # fmt: skip

    def _scored(self, suite: str) -> Suite:
        """Return a suite without the names of groups, which scores do not depend on."""
        members = self._study.suites[suite].members
        return Suite(
            suite, tuple(replace(m, group="", subgroup="", severity=None) for m in members)
        )

    def _on_views(self, methods: list[str]) -> list[str]:
        """Return those of some methods that are computed on parts of sets, too."""
        return [name for name in methods if name in (self._settings.view_methods or methods)]

    @property
    def _views(self) -> dict[str, Any]:
        """The parts of sets that scores are computed on, too, as of `Views`."""
        settings = self._settings
        return {
            "sizes": settings.test_sizes, "draws": settings.draws,
            "missing_classes": settings.missing_classes,
            "whole_accuracy": settings.test_size_accuracy == "whole",
        }  # fmt: skip

    def classes_of(self, base: str) -> str | list[str]:
        """Return the class names of a base, or its description, which has them."""
        if self._analysis.has_images(base):
            return self._study.dataset_files(base)[0]
        return list(self._study.datasets[base].settings.known_classes or ())

    @property
    def rule(self) -> dict[str, bool | str]:
        """How the classes that count are treated, as of `ClassRule`."""
        settings = self._settings
        return {
            "renormalise": settings.renormalise, "restrict_argmax": settings.restrict_argmax,
            "members": settings.group_probability,
        }  # fmt: skip

    def rotation_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return what the rotation scores of a model are computed from."""
        one, weights = (
            self._settings.suites[wildcards.suite], self._study.weights_file(wildcards.model),
        )  # fmt: skip
        sets = [one.base, *self._analysis.turned(wildcards.suite)]
        return {
            "predictions": self.score_inputs(wildcards),
            "weights": [weights] if weights else [],
            "datasets": [file for name in sets for file in self._study.dataset_files(name)],
        }

    @property
    def _turned(self) -> str:
        """Folder of what is kept of passes over turned images."""
        return f"{self._study.folder}/{self._analysis.name}/turned"

    def rotation_saves(self, wildcards: Wildcards) -> str:
        """Return the pattern of the files that a further job of a model goes on from."""
        return f"{self._turned}/*/*/{wildcards.model}.*.npz"

    def rotation_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that computes rotation scores."""
        study, suite, inference = self._study, wildcards.suite, self._study.inference
        one, source = self._settings.suites[suite], study.runnable[wildcards.model].source
        assert source is not None, wildcards.model  # models of known predictions are not run
        turned = self._analysis.turned(suite)  # the others would make the command too long
        members = tuple(one for one in self._scored(suite).members if one.dataset in turned)
        job = {
            "model": asdict(source),
            "weights": study.weights_file(wildcards.model),
            "suite": asdict(Suite(suite, members)),
            "sets": turned,
            "methods": [s.name for s in self._analysis.chosen if Need.IMAGES in s.needs],
            "base": one.base,
            "datasets": study.dataset_folder("").rstrip("/"),
            "files": self.files_of(suite, [wildcards.model]),
            "folder": self._turned,
            "rule": self.rule,
            "seeds": self._settings.seeds,
        }
        return [
            "--job", pack_argument(job),
            "--device", inference.device, "--precision", inference.precision,
            *(["--compile"] if inference.compile else []),
        ]  # fmt: skip

    rotation_version = ROTATION_VERSION

    def agreement_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the agreement of models on a suite."""
        suite = wildcards.suite
        one = self._settings.suites[suite]
        chosen = [score.name for score in self._analysis.chosen if score.name in POOL_SCORES]
        return {
            "suite": asdict(self._scored(suite)),
            "base": one.base,
            "models": self._analysis.models,
            "single": self._settings.single,
            "classes": self.classes_of(one.base),
            "rule": self.rule,
            "files": self.files_of(suite, self._analysis.models),
            "methods": chosen,
            "view_methods": self._on_views(chosen),
            "views": self._views,
        }

    def gap_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the matched gaps of a model on a suite."""
        suite, matching = wildcards.suite, self._study.analysis(Matching)
        first = next(iter(matching.settings.methods.values()))
        return {
            "suite": asdict(self._scored(suite)),
            "base": self._settings.suites[suite].base,
            "classes": self.classes_of(self._settings.suites[suite].base),
            "rule": self.rule,
            "files": self.files_of(suite, [wildcards.model]),
            "method": first.model_dump(mode="json"),
            "seeds": list(range(matching.settings.seeds)),
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a suite."""
        name = getattr(wildcards, "scored", None) or getattr(wildcards, "model", None)
        models = self.members_of(name) if name else self._analysis.models
        sources = self.sources_of(wildcards.suite)
        return self._study.custom_suite_state(wildcards.suite, models, sources)
