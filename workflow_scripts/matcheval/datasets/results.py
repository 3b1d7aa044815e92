"""Kinds without images: what models predicted, or how accurate they are, is on file."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from matcheval.datasets.custom import ClassNames
from matcheval.datasets.kind import DatasetKind, dataset_kind
from matcheval.datasets.label_spaces import resolve_classes
from matcheval.names import MODEL_PATTERN, NAMED_SUFFIXES, PREDICTION_SUFFIXES
from matcheval.settings import Boolean, Count, Integer, Names, PathText, Settings, Texts

Aliases = Annotated[dict[str, PathText], Field(description="Names in the files, by name of model")]
PathOfModel = Annotated[str, Field(pattern=MODEL_PATTERN)]


class _WithoutImages(DatasetKind):
    """Base class of datasets without images: results of models are on file, and none is run."""

    has_images: ClassVar[bool] = False


class PredictionColumns(Settings):
    """Names of the columns in the user's prediction files, where they differ from ours."""

    index: str | None = Field(None, description="Position in the dataset")
    label: str | None = Field(None, description="True class")
    prediction: str | None = Field(None, description="Predicted class")
    probability: str | None = Field(None, description="Largest softmax value")
    logits: str | None = Field(
        None, description="Logits of all classes; with `*` at the end, what columns begin with"
    )
    probabilities: str | None = Field(
        None, description="Probabilities of all classes; with `*`, what columns begin with"
    )

    @model_validator(mode="after")
    def _check_distinct(self) -> "PredictionColumns":
        names = [name for name in self.model_dump().values() if name is not None]
        if "" in names or len(set(names)) < len(names):
            raise ValueError("two columns have one name, or a name is empty")
        return self


class PublishedPredictions(Settings):
    """Published prediction files, which are downloaded and verified."""

    files: PathText = Field(
        description="CSV file with the columns `model`, `dataset`, `path`, `bytes` and `sha256`"
    )
    dataset: str = Field(description="Which rows of it")
    address: Annotated[str, Field(pattern="^(https?|file)://")] = Field(
        description="What the paths are relative to"
    )


@dataset_kind
class Predictions(_WithoutImages):
    """A prediction file per model."""

    kind: Literal["predictions"]
    files: PathOfModel | None = Field(None, description="With {model} for the model's name")
    download: PublishedPredictions | None = Field(None, description="Or published files")
    labels: PathText | None = Field(
        None, description="File of the true classes, in place of those in the files: a path, or "
        "the name of a published file"
    )  # fmt: skip
    aliases: Aliases = {}
    columns: PredictionColumns = Field(
        PredictionColumns(), description="Names of the files' columns where they differ from ours"
    )
    classes: ClassNames | None = Field(
        None,
        description="A label space by name, or the class names in label order, for files with "
        "names in place of labels",
    )
    first_label: Annotated[Integer, Field(ge=0, le=1)] = Field(
        0, description="The number of the first class in the files"
    )
    labels_are_true: Boolean = Field(
        False, description="Labels that all predictions equal are the truth all the same"
    )
    suffixes: ClassVar[tuple[str, ...]] = (*PREDICTION_SUFFIXES, *NAMED_SUFFIXES)

    @model_validator(mode="after")
    def _check_sources(self) -> "Predictions":
        if (self.files is None) == (self.download is None):
            raise ValueError("give either 'files' or 'download'")
        if self.labels and self.columns.label:
            raise ValueError("true classes are in the column label or in the file labels, not both")
        return self

    @property
    def known_classes(self) -> tuple[str, ...] | None:
        """Class names, if the option `classes` is set."""
        return None if self.classes is None else resolve_classes(self.classes)


class _PublishedClasses(_WithoutImages):
    """Base class of published predictions that are classes without probabilities."""

    reversed: Names = Field((), description="Models whose top classes come least probable first")
    classes: Annotated[Integer, Field(ge=2)] | None = Field(None, description="Number of classes")
    has_probabilities: ClassVar[bool] = False

    @property
    def n_classes(self) -> int | None:
        """Number of classes, if the option `classes` is set."""
        return self.classes


@dataset_kind
class Labels(_PublishedClasses):
    """A file of predicted classes per model, and one of true labels."""

    kind: Literal["labels"]
    files: PathOfModel = Field(description="With {model} for the model's name")
    labels: PathText = Field(description="File of the true labels")
    aliases: Aliases = {}
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".npy")


@dataset_kind
class LabelArchive(_PublishedClasses):
    """One archive of the predicted classes of all models, and of the true labels."""

    kind: Literal["label_archive"]
    file: PathText = Field(description="The archive")
    models: PathText | None = Field(None, description="Its array of model names")
    predictions: PathText = Field(description="Its array of predicted classes")
    labels: PathText = Field(description="Its array of true labels")
    aliases: Aliases = {}
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)


class AccuracyColumns(Settings):
    """Columns of a table of accuracies."""

    model: Texts = Field(description="Column of the model's name; several are tried in turn")
    top1: str = Field(description="Column of top-1 accuracies")
    top5: str | None = Field(None, description="Column of top-5 accuracies")


@dataset_kind
class Accuracies(_WithoutImages):
    """A table of published accuracies."""

    kind: Literal["accuracies"]
    file: PathText = Field(description="The table (.csv)")
    columns: AccuracyColumns = Field(description="Which columns hold what")
    unit: Literal["percent", "fraction", "correct"] = Field(
        "percent", description="Of the accuracies"
    )
    n: Count | None = Field(None, description="Size of the set; needed if the unit is correct")
    aliases: Aliases = {}
    has_probabilities: ClassVar[bool] = False
    has_correctness: ClassVar[bool] = False
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    @model_validator(mode="after")
    def _check_size(self) -> "Accuracies":
        if self.unit == "correct" and self.n is None:
            raise ValueError("n missing: numbers of correct predictions need the size of the set")
        return self
