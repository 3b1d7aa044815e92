"""Settings of accuracy prediction: the configuration's block `accuracy_prediction`."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from matcheval import settings


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
        """Groups fitted on and predicted (empty: all others); the same groups in one order."""
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
    def _ensembles_are_of_several(self) -> "AccuracyPredictionSettings":
        for name, members in self.ensembles.items():
            if len(members) < 2:
                raise ValueError(f"ensembles.{name}: has one model, not several")
        return self
