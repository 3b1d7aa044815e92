"""What is predicted by which scores and models, checked against the study before any job."""

from collections.abc import Collection
from functools import partial
from typing import NoReturn

from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.scores import ALL_SCORES, AnyScore
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES
from matcheval.accuracy_prediction.scores.score import OUTPUTS_FOR, Need, Predicts
from matcheval.accuracy_prediction.settings import (
    AccuracyPredictionSettings,
    SuitePredictionSettings,
)
from matcheval.datasets.suites import Member, check_subset
from matcheval.errors import check_known, configuration_error
from matcheval.settings import Need as DatasetNeed
from matcheval.study.analysis import Analysis
from matcheval.study.checks import check_label_spaces, check_need

MIN_MODELS = 3  # for agreement between models

_check_names = partial(check_known, file="configuration")


class CheckedPrediction(Analysis):
    """Models and scores of an analysis of accuracy prediction, and the checks of its settings."""

    settings: AccuracyPredictionSettings

    @property
    def pool(self) -> list[str]:
        """Names of the models that agreement and means over models are of."""
        return [name for name in self.models if name not in self.settings.single]

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
    def has_agreement(self) -> bool:
        """Whether agreement between models is computed: it is asked for, and there are enough."""
        asked = any(score.name in POOL_SCORES for score in self.chosen)
        return asked and len(self.pool) >= MIN_MODELS

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Bases and references, which need not be in a pair or suite."""
        suites = self.settings.suites.values()
        names = (name for suite in suites for name in (suite.base, suite.reference))
        return tuple(name for name in names if name is not None)

    def _refuse(self, problem: str, field: str, remedy: str = "") -> NoReturn:
        raise configuration_error(problem, field=field, remedy=remedy)

    def check(self) -> None:
        """Check names of sets, methods and groups, and that inputs are there."""
        settings = self.settings
        for name in settings.ensembles:
            if name in self.study.models:
                self._refuse(f"'{name}' is a model", self.field("ensembles"))
        if settings.methods != "all":
            _check_names("method", settings.methods, ALL_SCORES, field=self.field("methods"))
        kind, field = "model or ensemble", self.field("figure_models")
        _check_names(kind, settings.figure_models, self.scored, field=field)
        if not settings.suites:
            return
        self.check_some_models()
        if not self.pool:
            remedy = "Leave 'single' out to count all models"
            self._refuse("no model is left for means over models", self.field("single"), remedy)
        for name, of_suite in settings.suites.items():
            self._check_suite(name, of_suite)
        self._check_inputs()

    def _keeps(self, *outputs: str) -> bool:
        """Whether inference keeps one of some outputs."""
        return not set(outputs).isdisjoint(self.study.inference.outputs)

    def _check_inputs(self) -> None:
        """Check that there is what ensembles need, and the methods that are asked for by name."""
        settings, study = self.settings, self.study
        members = (name for suite in settings.suites for name in study.suites[suite].datasets)
        # Models are run on sets with images.
        is_run = any(study.datasets[name].has_images for name in (*self.evaluated, *members))
        if settings.ensembles and is_run and not self._keeps("logits"):
            problem = "the probabilities of models are averaged, and are not on file"
            self._refuse(problem, self.field("ensembles"), "Add logits to inference.outputs")
        if settings.methods == "all":
            return
        under, suites = f"of a suite under {self.field('suites')}", settings.suites.values()
        remedies = {}
        if not any(suite.reference for suite in suites):
            remedies[Need.REFERENCE] = f"Name a 'reference' {under}"
        if not any(suite.rotation for suite in suites):
            remedies[Need.IMAGES] = f"Name sets as 'rotation' {under}"
        if len(self.pool) < MIN_MODELS:
            remedies[Need.MODELS] = "Count more models"
        for need, outputs in OUTPUTS_FOR.items():
            if is_run and not self._keeps(*outputs):
                remedies[need] = f"Add {' or '.join(outputs)} to inference.outputs"
        for score in self.chosen:
            for need in score.needs:
                if need in remedies:
                    remedy = f"{remedies[need]}, or leave it out"
                    problem = f"'{score.name}' needs {need.value}"
                    self._refuse(problem, self.field("methods"), remedy)

    def _check_suite(self, name: str, settings: SuitePredictionSettings) -> None:
        study, field, suite = self.study, self.field("suites", name), self.study.suites[name]
        for member in suite.members:
            self._check_member(name, settings.base, member)
        groups, datasets = {member.group for member in suite.members}, suite.datasets
        self._check_calibrations(settings, groups, field)
        rotation = datasets if settings.rotation == "all" else settings.rotation
        _check_names("set", rotation, datasets, field=f"{field}.rotation")
        for dataset in (*rotation, *([settings.base] if rotation else [])):
            check_need(study, dataset, DatasetNeed.IMAGES, f"{field}.rotation")
        left_out = self.settings.leave_one_out
        predicts = (score.predicts is Predicts.ACCURACY for score in self.chosen)
        if not (
            settings.calibrations
            or any(predicts)
            or (left_out and any(score.direction for score in self.chosen))
        ):
            self._refuse(
                "nothing is predicted: all of the methods need a regression, and there is none",
                field, "Give calibrations, switch on leave_one_out, or add a method such as ac",
            )  # fmt: skip
        self._check_figures(settings, groups, datasets, field)

    def _check_member(self, suite: str, base: str, member: Member) -> None:
        """Check one set of a suite, and which of its classes count."""
        study, dataset, field = self.study, member.dataset, f"suites.{suite}"
        check_need(self.study, dataset, DatasetNeed.CORRECTNESS, field)
        check_label_spaces(study, self.field("suites", suite), base, dataset)
        if ALL in (member.group, member.subgroup):
            what = "group" if member.group == ALL else "subgroup"
            problem = f"the {what} of '{dataset}' is '{ALL}', which in tables means all sets"
            self._refuse(problem, field, "Call it something else")
        if member.all_labels:
            check_need(study, dataset, DatasetNeed.IMAGES, f"{field}: all_labels of '{dataset}'")
        if not member.counting:
            return
        classes = study.datasets[dataset].settings.known_classes
        if classes is not None:
            check_subset(suite, member, classes)
        if study.datasets[dataset].has_images and not self._keeps("logits"):
            problem = f"'{dataset}' has a part of the classes: the probabilities of all are needed"
            self._refuse(problem, field, "Add logits to inference.outputs")
        names = [name for name, _ in member.groups] or sorted(set(member.classes))
        if len(names) == 1 and self.settings.restrict_argmax:
            remedy = f"Set {self.field('restrict_argmax')} to false, or name more classes"
            problem = f"'{dataset}' has one class, '{names[0]}': all predictions would be right"
            self._refuse(problem, field, remedy)

    def _check_calibrations(
        self, settings: SuitePredictionSettings, groups: Collection[str], suite_field: str
    ) -> None:
        """Check that groups are known, and no set is predicted by the same regression twice."""
        predicted: set[tuple[frozenset[str], str]] = set()
        for number, calibration in enumerate(settings.calibrations):
            field, fitted = f"{suite_field}.calibrations.{number}", frozenset(calibration.fit)
            _check_names("group", calibration.fit, groups, field=f"{field}.fit")
            _check_names("group", calibration.predict or (), groups, field=f"{field}.predict")
            wanted = {(fitted, g) for g in {*(calibration.predict or groups)} - fitted}
            if not wanted:
                self._refuse("all groups are fitted on, and none is left to predict", field)
            for _, group in predicted & wanted:
                problem = f"group '{group}' is predicted from the same groups twice"
                remedy = "Give calibrations with the same 'fit' other 'predict'"
                self._refuse(problem, field, remedy)
            predicted |= wanted

    def _check_figures(
        self, settings: SuitePredictionSettings, groups: Collection[str],
        datasets: Collection[str], suite_field: str,
    ) -> None:  # fmt: skip
        """Check the names in figures of outputs, and that their features are kept."""
        for histogram in settings.histograms:
            field = f"{suite_field}.histograms"
            _check_names("model or ensemble", [histogram.model], self.scored, field=field)
            _check_names("set", [histogram.dataset], datasets, field=field)
        classes = self.study.labelled_like(settings.base).settings.known_classes
        for shown in settings.embeddings:
            field = f"{suite_field}.embeddings"
            _check_names("model", [shown.model], self.models, field=field)
            if shown.group is not None:
                _check_names("group", [shown.group], groups, field=field)
            if classes is not None:
                _check_names("class", [shown.class_name], classes, field=field)
            if not self._keeps("features"):
                remedy = "Add features to inference.outputs, or leave it out"
                self._refuse("a figure of features needs features on file", field, remedy)
