"""Inputs and parameters of the jobs that make tables from scores, by wildcards."""

from typing import TYPE_CHECKING, Any

from matcheval.datasets.corruptions.names import PROCEDURAL
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study

if TYPE_CHECKING:
    from matcheval.accuracy_prediction.analysis import AccuracyPrediction


class TableJobs:
    """Jobs that predict accuracies, and tabulate errors."""

    def __init__(self, analysis: "AccuracyPrediction", study: Study) -> None:
        self._analysis, self._settings, self._study = analysis, analysis.settings, study

    @property
    def gaps_files(self) -> list[str]:
        """The table of matched gaps, with wildcard `suite`; none if gaps are not matched."""
        return self._analysis.gaps_of_suite.files if self._settings.matching else []

    def places_of(self, suite: str) -> dict[str, dict[str, Any]]:
        """Return group, subgroup and severity of every set of a suite, by its name."""
        return {
            m.dataset: {"group": m.group, "subgroup": m.subgroup, "severity": m.severity}
            for m in self._study.suites[suite].members
        }

    def all_scores(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the tables of scores that accuracies on a suite are predicted from."""
        suite, analysis = wildcards.suite, self._analysis
        turned = analysis.models if analysis.turned(suite) else []
        pools = [suite] if analysis.has_agreement else []
        return {
            "scores": analysis.scores.expand(suite=suite, scored=analysis.scored),
            "agreement": analysis.agreement.expand(suite=pools),
            "rotation": analysis.rotation.expand(suite=suite, model=turned),
        }

    def all_gaps(self, wildcards: Wildcards) -> list[str]:
        """Return the tables of matched gaps of all models on a suite."""
        return self._analysis.gaps.expand(suite=wildcards.suite, model=self._analysis.models)

    def model_error_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the errors of one model on a suite."""
        return {
            "settings": self._noted_settings(wildcards.suite),
            "confidence": self._study.confidence,
        }

    def _noted_settings(self, suite: str) -> dict[str, Any]:
        """Return the settings that are named under tables."""
        one = self._settings.suites[suite]
        return {
            "base": one.base,
            "reference": one.reference or "none",
            "seeds": ", ".join(map(str, self._settings.seeds)),
            "prototypes": self._settings.n_prototypes,
            "renormalised": self._settings.renormalise,
            "argmax restricted": self._settings.restrict_argmax,
            "probability of a group of classes": self._settings.group_probability,
            "clipped": self._settings.clip,
            **self._noted_frost(suite),
        }

    def _noted_frost(self, suite: str) -> dict[str, str]:
        """Return that a computed texture stands in for photographs of frost, where it does."""
        found = [
            name for name in self._study.suites[suite].datasets
            if self._study.datasets[name].options.get("corruption") in PROCEDURAL
        ]  # fmt: skip
        sets = "1 set" if len(found) == 1 else f"{len(found)} sets"
        return {"frost": f"computed (frost_procedural), no photographs, in {sets}"} if found else {}

    @property
    def _noted_models(self) -> dict[str, int | str]:
        """Return the models that are named under tables with means over models."""
        single = {"single models, not counted": ", ".join(self._settings.single)}
        return {"models": len(self._analysis.pool), **(single if self._settings.single else {})}

    def comparison_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the comparison of predicted and matched gaps."""
        return {
            "confidence": self._study.confidence,
            "uncounted": self._analysis.uncounted,
            "places": self.places_of(wildcards.suite),
            "settings": {**self._noted_settings(wildcards.suite), **self._noted_models},
        }

    def prediction_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the predicted accuracies on a suite."""
        one = self._settings.suites[wildcards.suite]
        return {
            "calibrations": [{"on": on, "predict": predict} for on, predict in one.regressions],
            "loo": self._settings.leave_one_out,
            "regressors": self._settings.regressors,
            "clip": self._settings.clip,
            "places": self.places_of(wildcards.suite),
            "settings": {**self._noted_settings(wildcards.suite), **self._noted_models},
            "confidence": self._study.confidence,
            "uncounted": self._analysis.uncounted,
            "published": self._settings.published,
        }
