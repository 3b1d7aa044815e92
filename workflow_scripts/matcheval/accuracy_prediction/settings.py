"""Settings of accuracy prediction, and their checks against the study before any job."""

from collections.abc import Collection
from functools import partial
from typing import Annotated, Literal, NoReturn

from pydantic import Field, model_validator

from matcheval import settings
from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.scores import ALL_SCORES, AnyScore
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES
from matcheval.accuracy_prediction.scores.score import OUTPUTS_FOR, Data, Predicts
from matcheval.datasets.suites import Member, check_subset
from matcheval.errors import check_known, configuration_error
from matcheval.settings import Need
from matcheval.study.analysis import Analysis
from matcheval.study.checks import check_label_spaces, check_need


class CalibrationSettings(settings.Settings):
    """Groups of sets that a regression is fitted on, and groups that it is used on."""

    fit: Annotated[settings.Texts, settings.Unique] = Field(
        description="Groups whose labels are used"
    )
    predict: Annotated[settings.Texts, settings.Unique] | None = Field(
        None, description="Groups to predict; all others by default"
    )


class HistogramSettings(settings.Settings):
    """A figure of the confidences of a model on the base and on a set."""

    model: settings.Name = Field(description="Model or ensemble")
    dataset: settings.Name = Field(description="A set of the suite")


class EmbeddingSettings(settings.Settings):
    """A figure of the features of the images of one class, in two dimensions (t-SNE)."""

    model: settings.Name = Field(description="Model, of which the features are on file")
    class_name: settings.PathText = Field(description="The class")
    group: str | None = Field(None, description="Group of the sets; all sets by default")
    by: Literal["group", "subgroup", "dataset"] = Field(
        "subgroup", description="What has a colour of its own, besides the base"
    )


class SuitePredictionSettings(settings.Settings):
    """How the accuracies on the sets of one suite are predicted."""

    base: settings.CorrectName = Field(
        description="The labelled set that the sets are compared with"
    )
    reference: settings.ImagesName | None = Field(
        None,
        description="A training set, for scores that compare features with those of training "
        "images; the models may have been trained on it",
    )
    calibrations: tuple[CalibrationSettings, ...] = Field(
        (), description="Regressions fitted on some groups of sets and used on others"
    )
    rotation: Literal["all"] | settings.Names = Field(
        (),
        description="Sets that rotation accuracy is measured on, which runs the models again, "
        "four times for every image; all: every set of the suite",
    )
    histograms: tuple[HistogramSettings, ...] = Field(
        (), description="Figures of the confidences of a model on the base and on a set"
    )
    embeddings: tuple[EmbeddingSettings, ...] = Field(
        (), description="Figures of the features of one class on the sets and on the base"
    )

    @property
    def regressions(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Groups fitted on and groups predicted (none: all others), of each of `calibrations`."""
        # The same groups are always in the same order.
        orders: dict[frozenset[str], tuple[str, ...]] = {}
        return [
            (orders.setdefault(frozenset(groups.fit), groups.fit), groups.predict or ())
            for groups in self.calibrations
        ]


class AccuracyPredictionSettings(settings.Settings):
    """How accuracies are predicted without labels, and the predictions checked against labels."""

    suites: dict[settings.SuiteName, SuitePredictionSettings] = Field(
        {}, description="What is predicted, by suite"
    )
    methods: (
        Literal["all"]
        | Annotated[tuple[str, ...], settings.Unique, settings.UniqueItems, Field(min_length=1)]
    ) = Field(
        "all", description="Methods, or variants as method:variant; all: every method by default"
    )
    without: settings.ModelNames = Field((), description="Models to leave out")
    single: settings.ModelNames = Field(
        (),
        description="Models that are reported by themselves: they are compared with the others, "
        "but are outside of the pool of agreement and not counted in means over models",
    )
    ensembles: settings.Named[settings.SomeUnique[settings.ModelName]] = Field(
        {}, description="Models whose probabilities are averaged, by the name of the ensemble"
    )
    leave_one_out: settings.Boolean = Field(
        True, description="Whether every set is predicted from all other sets of its suite"
    )
    regressors: Annotated[
        tuple[Literal["linear", "mlp", "mlp_raw"], ...], settings.Unique, Field(min_length=1)
    ] = Field(
        ("linear",),
        description="Regressions of calibrations; mlp standardises scores, mlp_raw does not",
    )
    clip: settings.Boolean = Field(
        False, description="Whether predicted accuracies are clipped to [0, 1]"
    )
    seeds: Annotated[tuple[settings.Seed, ...], settings.Unique, Field(min_length=1)] = Field(
        (0,), description="Of random splits and initial values; errors are averaged over them"
    )
    n_prototypes: Annotated[settings.Integer, Field(ge=2)] = Field(
        80, description="Size of the codebook of the bag of prototypes"
    )
    renormalise: settings.Boolean = Field(
        False,
        description="Whether the probabilities of the classes that count are made to sum to 1",
    )
    restrict_argmax: settings.Boolean = Field(
        True, description="Whether the prediction is the most probable of the classes that count"
    )
    test_sizes: Annotated[tuple[settings.Count, ...], settings.Unique] = Field(
        (), description="Numbers of datapoints that sets are reduced to at random"
    )
    draws: settings.Count = Field(5, description="Random reductions of every size")
    missing_classes: Literal["none", "singles", "pairs"] = Field(
        "none",
        description="Whether sets are also scored without each class (singles), and without each "
        "two (pairs), the outputs of the models unchanged",
    )
    figure_models: settings.Names = Field(
        (), description="Models or ensembles that have figures, errors and counts of their own"
    )

    @model_validator(mode="after")
    def _refuse_ensembles_of_one(self) -> "AccuracyPredictionSettings":
        for name, members in self.ensembles.items():
            if len(members) < 2:
                raise ValueError(f"ensembles.{name}: has one model, not several")
        return self


# --- Checks against the study

MIN_MODELS = 3  # for agreement between models

_check_names = partial(check_known, file="configuration")


class CheckedPrediction(Analysis):
    """Models and scores of an analysis of accuracy prediction, and the checks of its settings."""

    settings: AccuracyPredictionSettings

    @property
    def pool(self) -> list[str]:
        """Names of the models that agreement and means over models include: all but `single`."""
        return [name for name in self.models if name not in self.settings.single]

    @property
    def scored(self) -> list[str]:
        """Names of models and ensembles, whose scores are computed."""
        return [*self.models, *self.settings.ensembles]

    @property
    def chosen(self) -> list[AnyScore]:
        """The scores that the setting `methods` chooses."""
        if self.settings.methods == "all":
            return [score for score in ALL_SCORES.values() if not score.variant]
        return [ALL_SCORES[name] for name in self.settings.methods]

    @property
    def has_agreement(self) -> bool:
        """Whether scores of agreement are chosen, and there are enough models for them."""
        is_chosen = any(score.name in POOL_SCORES for score in self.chosen)
        return is_chosen and len(self.pool) >= MIN_MODELS

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Names of all bases and references, which need not be in a pair or suite."""
        suites = self.settings.suites.values()
        names = (name for suite in suites for name in (suite.base, suite.reference))
        return tuple(name for name in names if name is not None)

    def _refuse(self, problem: str, field: str, remedy: str = "") -> NoReturn:
        raise configuration_error(problem, field=field, remedy=remedy)

    def check(self) -> None:
        """Check the names in the settings, and that the study has the inputs they need."""
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
        for name, suite_settings in settings.suites.items():
            self._check_suite(name, suite_settings)
        self._check_inputs()

    def _keeps(self, *outputs: str) -> bool:
        """Whether inference keeps at least one of these outputs."""
        return not set(outputs).isdisjoint(self.study.inference.outputs)

    def _check_inputs(self) -> None:
        """Check that inputs of ensembles, and of methods chosen by name, are kept or named."""
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
            remedies[Data.REFERENCE] = f"Name a 'reference' {under}"
        if not any(suite.rotation for suite in suites):
            remedies[Data.IMAGES] = f"Name sets as 'rotation' {under}"
        if len(self.pool) < MIN_MODELS:
            remedies[Data.MODELS] = "Count more models"
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
        """Check the settings of one suite, and that anything is predicted on it."""
        study, field, suite = self.study, self.field("suites", name), self.study.suites[name]
        for member in suite.members:
            self._check_member(name, settings.base, member)
        groups, datasets = {member.group for member in suite.members}, suite.datasets
        self._check_calibrations(settings, groups, field)
        rotation = datasets if settings.rotation == "all" else settings.rotation
        _check_names("set", rotation, datasets, field=f"{field}.rotation")
        for dataset in (*rotation, *([settings.base] if rotation else [])):
            check_need(study, dataset, Need.IMAGES, f"{field}.rotation")
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
        """Check one set of a suite: its correctness, label space, group, and classes that count."""
        study, dataset, field = self.study, member.dataset, f"suites.{suite}"
        check_need(self.study, dataset, Need.CORRECTNESS, field)
        check_label_spaces(study, self.field("suites", suite), base, dataset)
        if ALL in (member.group, member.subgroup):
            what = "group" if member.group == ALL else "subgroup"
            problem = f"the {what} of '{dataset}' is '{ALL}', which in tables means all sets"
            self._refuse(problem, field, "Call it something else")
        if member.all_labels:
            check_need(study, dataset, Need.IMAGES, f"{field}: all_labels of '{dataset}'")
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
        """Check the names in settings of histograms and embeddings, and that features are kept."""
        for histogram in settings.histograms:
            field = f"{suite_field}.histograms"
            _check_names("model or ensemble", [histogram.model], self.scored, field=field)
            _check_names("set", [histogram.dataset], datasets, field=field)
        classes = self.study.label_source(settings.base).settings.known_classes
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
