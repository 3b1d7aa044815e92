"""Figures of accuracy prediction: which there are of a suite, and the jobs that draw them."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT, LEAVE_ONE_OUT
from matcheval.accuracy_prediction.published import check_names as check_published
from matcheval.errors import configuration_error, unknown_name_error
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study

if TYPE_CHECKING:
    from matcheval.accuracy_prediction.analysis import AccuracyPrediction

Way = tuple[str, str, str]
Figure = tuple[str, dict[str, Any]]  # kind and options


class PredictionPlots:
    """Names, kinds and options of figures."""

    def __init__(self, analysis: "AccuracyPrediction", study: Study) -> None:
        self._analysis, self._settings, self._study = analysis, analysis.settings, study

    def check(self) -> None:
        """Check the names of published errors, and of what has figures of its own."""
        analysis, settings = self._analysis, self._settings
        suites = {name: self._study.suites[name] for name in settings.suites}
        groups = {name: {m.group for m in suite.members} for name, suite in suites.items()}
        if suites:
            check_published(settings.published, groups, analysis.field("published"))
        models = {"model or ensemble": analysis.scored, "model": analysis.models}
        for name in settings.figure_models:
            _check("model or ensemble", name, models, analysis.field("figure_models"))
        for name, one in settings.suites.items():
            known = {**models, "set": suites[name].datasets, "group": groups[name]}
            field = analysis.field("suites", name, "histograms")
            for histogram in one.histograms:
                _check("model or ensemble", histogram.model, known, field)
                _check("set", histogram.dataset, known, field)
            field = analysis.field("suites", name, "embeddings")
            for embedding in one.embeddings:
                _check("model", embedding.model, known, field)
                if embedding.group is not None:
                    _check("group", embedding.group, known, field)
                if "features" not in self._study.inference.outputs:
                    raise configuration_error(
                        "a figure of features needs features on file",
                        field=field,
                        remedy="Add features to inference.outputs, or leave it out",
                    )

    def names(self, suite: str) -> list[str]:
        """Return the names of all figures of a suite."""
        return [*self.of_tables(suite), *self.of_outputs(suite)]

    @property
    def table_names(self) -> set[str]:
        """Names of the figures that are drawn from tables, of all suites."""
        return {name for suite in self._settings.suites for name in self.of_tables(suite)}

    @property
    def output_names(self) -> set[str]:
        """Names of the figures that are drawn from outputs of models, of all suites."""
        return {name for suite in self._settings.suites for name in self.of_outputs(suite)}

    def of_tables(self, suite: str) -> dict[str, Figure]:
        """Return the figures of a suite that are drawn from its tables: kind and options, by name.

        Parameters
        ----------
        suite : str
            Its name.
        """
        settings = self._settings
        found: dict[str, Figure] = {
            kind: (kind, {}) for kind in ("scores", "correlations", "models")
        }
        for model in settings.figure_models:
            for kind in ("scores", "correlations"):
                found[f"{kind}-of-{model}"] = (kind, {"model": model})
        divided = len({(m.group, m.subgroup) for m in self._study.suites[suite].members}) > 1
        for name, way in self.ways(suite).items():
            for kind in ("errors", "predictions", "errors_by_accuracy"):
                found[f"{kind}-{name}"] = (kind, {"way": way})
            if divided:
                found[f"rankings-{name}"] = ("rankings", {"way": way})
            for model in settings.figure_models:
                options = {"way": way, "model": model}
                found[f"predictions-{name}-of-{model}"] = ("predictions", options)
            found |= self._two_methods(name, way)
        asked = {
            "sizes": bool(settings.test_sizes),
            "missing_classes": settings.missing_classes != "none",
            "protocol": settings.matching,
        }
        return found | {kind: (kind, {}) for kind, wanted in asked.items() if wanted}

    def _two_methods(self, name: str, way: Way) -> dict[str, Figure]:
        """Return figures of AC beside DoC; left out one by one, both predict the same."""
        second = {CALIBRATED: "doc", DIRECT: "doc_feat"}.get(way[0], "")
        if not {"ac", second} <= {score.name for score in self._analysis.chosen}:
            return {}
        return {
            f"ac-and-{second}-by-{by}-{name}": (
                "two_methods",
                {"first": "ac", "second": second, "by": by, "way": way},
            )
            for by in ("dataset", "subgroup", "model")
        }

    def ways(self, suite: str) -> dict[str, Way]:
        """Return the ways of predicting on a suite, by a name for files."""
        found: dict[str, Way] = {}
        if self._settings.leave_one_out:
            found["leave-one-out"] = (LEAVE_ONE_OUT, "linear", "")
        fitted_on = [on for on, _ in self._settings.suites[suite].regressions]
        for on in dict.fromkeys(fitted_on):
            for regressor in self._settings.regressors:
                parts = [
                    "calibrated",
                    *on,
                    *([regressor] if regressor != "linear" else []),
                ]
                way = (CALIBRATED, regressor, "+".join(on))
                found[_free(_file_name(parts), found)] = way
        return found or {"direct": (DIRECT, "", "")}

    def of_outputs(self, suite: str) -> dict[str, Figure]:
        """Return the figures of a suite that are drawn from outputs of models, by name."""
        one = self._settings.suites[suite]
        found: dict[str, Figure] = {}
        for each in one.histograms:
            name = f"confidences-of-{each.model}-on-{each.dataset}"
            found[name] = ("confidences", each.model_dump(mode="json"))
        for embedding in one.embeddings:
            options = embedding.model_dump(mode="json")
            parts = [options["model"], options["class_name"], options["group"] or "all"]
            name = f"features-of-{_file_name(parts)}-by-{options['by']}"
            found[_free(name, found)] = ("features", options)
        return found

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return kind and options of a figure that is drawn from tables."""
        kind, options = self.of_tables(wildcards.suite)[wildcards.figure]
        return {"kind": kind, "options": options, "uncounted": self._analysis.uncounted}

    def output_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what a figure that is drawn from outputs of models waits for."""
        model = self.of_outputs(wildcards.suite)[wildcards.figure][1]["model"]
        members = self._analysis.jobs.members_of(model)
        base = self._settings.suites[wildcards.suite].base
        return self._study.suite_inputs(wildcards.suite, members, [base])

    def output_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a figure that is drawn from outputs of models."""
        jobs, suite = self._analysis.jobs, wildcards.suite
        kind, options = self.of_outputs(suite)[wildcards.figure]
        members = jobs.members_of(options["model"])
        base = self._settings.suites[suite].base
        return {
            "kind": kind,
            "options": options,
            "suite": asdict(self._study.suites[suite]),
            "base": base,
            "members": members,
            "files": jobs.files_of(suite, members),
            "classes": jobs.classes_of(base),
            "rule": jobs.rule,
        }


def _check(what: str, name: str, known: Mapping[str, Collection[str]], field: str) -> None:
    if name not in known[what]:
        raise unknown_name_error(what, name, known[what], file="configuration", field=field)


def _file_name(parts: Sequence[str]) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(parts))


def _free(name: str, taken: dict[str, Any]) -> str:
    """Return a name, with a number if another figure has it."""
    return next(found for found in _numbered(name) if found not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1
