"""The kinds of dataset that a configuration can name: options, published files, classes.

To add a kind: a class here, with its options as fields and its builder, a function that gives the
images (see `datasets.build`), and its name in `DatasetChoice`. Imports no images.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from matcheval.datasets.label_spaces import CIFAR10, DIGITS, imagenet_classes, resolve_classes
from matcheval.settings import (
    Count,
    Integer,
    Names,
    PathText,
    Settings,
    Texts,
    Unique,
    UniqueItems,
)

PathOfModel = Annotated[str, Field(pattern=r"\{model\}")]
ClassNames = (
    Literal["cifar10", "imagenet"]
    | Annotated[tuple[str | Integer, ...], Unique, UniqueItems, Field(min_length=2)]
)
_CLASSES = "A label space by name, or the class names in label order"


class DatasetKind(Settings):
    """Options of a dataset of one kind.

    Attributes
    ----------
    kind : str
        Name of the kind.
    builder : str
        `module.function` within `matcheval.datasets` that builds it; empty for kinds without
        images of their own.
    label_space : tuple of str or None
        Class names by label, for kinds that have the same always.
    builder_version : int
        Raised by hand when an edit changes what the builder gives. Datasets are built by a
        `shell:` rule, which does not notice edits of the library: without this, every edit would
        build all datasets again, and with them everything that depends on them.
    suffixes : tuple of str
        Of the files that the options name, for kinds that have predictions or accuracies.
    has_images, has_probabilities : bool
        Whether there are images to run models on; whether predictions come with probabilities.
    is_decoded : bool
        Whether the images are files that are decoded while the dataset is built.
    """

    kind: str
    builder: ClassVar[str] = ""
    label_space: ClassVar[tuple[str, ...] | None] = None
    builder_version: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = ()
    has_images: ClassVar[bool] = True
    has_probabilities: ClassVar[bool] = True
    is_decoded: ClassVar[bool] = False

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given, as JSON values."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"kind"})

    @property
    def published_files(self) -> list[str]:
        """Names of the published files that it is built from."""
        return []

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The user's files and folders that its images are built from, by option."""
        return {}

    @property
    def known_classes(self) -> tuple[str, ...] | None:
        """Class names by label, if they are known before it is built.

        Raises
        ------
        InputError
            If the option `classes` is not a list of class names.
        """
        return self.label_space

    @property
    def n_classes(self) -> int | None:
        """Number of classes, if that is known before it is built."""
        classes = self.known_classes
        return None if classes is None else len(classes)


class _Subset(DatasetKind):
    """A dataset that can be cut to the first images of each class."""

    per_class: Count | None = Field(None, description="Only the first images of each class")


class _Decoded(_Subset):
    """A dataset whose images are files."""

    unreadable: Literal["fail", "skip"] = Field(
        "fail", description="What happens at an image that cannot be decoded"
    )
    is_decoded: ClassVar[bool] = True


class Digits(DatasetKind):
    """Scikit-learn's handwritten digits."""

    kind: Literal["digits"]
    part: Literal["train", "validation", "known", "new-writers"] = Field(
        description="Three parts are of the same writers, new-writers are of others"
    )
    builder: ClassVar[str] = "digits.build_digits"
    builder_version: ClassVar[int] = 2
    label_space: ClassVar[tuple[str, ...] | None] = DIGITS


class _Cifar(_Subset):
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10


class Cifar10(_Cifar):
    """CIFAR-10 (Krizhevsky 2009)."""

    kind: Literal["cifar10"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    builder: ClassVar[str] = "cifar.build_cifar10"

    @property
    def published_files(self) -> list[str]:
        """The archive of both parts."""
        return ["cifar-10-python.tar.gz"]


class Cifar101(_Cifar):
    """CIFAR-10.1 (Recht et al. 2018)."""

    kind: Literal["cifar10_1"]
    version: Literal["v4", "v6"] = Field(description="v6 is exactly class-balanced")
    builder: ClassVar[str] = "cifar.build_cifar10_1"

    @property
    def published_files(self) -> list[str]:
        """Images and labels."""
        return [f"cifar10.1_{self.version}_{what}.npy" for what in ("data", "labels")]


class Cifar102(_Cifar):
    """CIFAR-10.2 (Lu et al. 2020)."""

    kind: Literal["cifar10_2"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    builder: ClassVar[str] = "cifar.build_cifar10_2"

    @property
    def published_files(self) -> list[str]:
        """Images and labels of the part."""
        return [f"cifar102_{self.part}.npz"]


class Cifar10C(_Cifar):
    """CIFAR-10-C (Hendrycks & Dietterich 2019)."""

    kind: Literal["cifar10_c"]
    corruption: Literal[
        "brightness", "contrast", "defocus_blur", "elastic_transform", "fog", "frost",
        "gaussian_blur", "gaussian_noise", "glass_blur", "impulse_noise", "jpeg_compression",
        "motion_blur", "pixelate", "saturate", "shot_noise", "snow", "spatter", "speckle_noise",
        "zoom_blur",
    ] = Field(description="Kind of corruption")  # fmt: skip
    severity: Literal[1, 2, 3, 4, 5] = Field(description="5 is the strongest")
    builder: ClassVar[str] = "cifar.build_cifar10_c"

    @property
    def published_files(self) -> list[str]:
        """The archive of all corruptions."""
        return ["CIFAR-10-C.tar"]


class Cinic10(_Decoded):
    """CINIC-10 (Darlow et al. 2018)."""

    kind: Literal["cinic10"]
    part: Literal["test", "valid", "train"] = Field(description="90,000 images each")
    builder: ClassVar[str] = "cifar.build_cinic10"
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10

    @property
    def published_files(self) -> list[str]:
        """The archive of all parts."""
        return ["CINIC-10.tar.gz"]


class _ImageNetClasses(_Decoded):
    @property
    def known_classes(self) -> tuple[str, ...]:
        """WordNet ids of ILSVRC 2012."""
        return imagenet_classes()


class ImageNet(_ImageNetClasses):
    """ImageNet's validation set (Russakovsky et al. 2015), which the user has to provide."""

    kind: Literal["imagenet"]
    source: PathText = Field(description="Archive of the images, or a folder of class folders")
    devkit: PathText | None = Field(None, description="Development kit, which has the labels")
    builder: ClassVar[str] = "imagenet.build_imagenet"

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """Images, and the development kit that holds their labels."""
        return _paths(source=self.source, devkit=self.devkit)


class ImageNetV2(_ImageNetClasses):
    """ImageNetV2 (Recht et al. 2019)."""

    kind: Literal["imagenetv2"]
    variant: Literal["matched-frequency", "threshold-0.7", "top-images"] = Field(
        description="How its images were sampled"
    )
    builder: ClassVar[str] = "imagenet.build_imagenetv2"

    @property
    def published_files(self) -> list[str]:
        """The variant's archive."""
        name = "threshold0.7" if self.variant == "threshold-0.7" else self.variant
        return [f"imagenetv2-{name}.tar.gz"]


class _WithClasses(_Subset):
    """The user's images, with class names that may be given."""

    classes: ClassNames | None = Field(None, description=_CLASSES)

    @property
    def known_classes(self) -> tuple[str, ...] | None:
        """The given class names."""
        return None if self.classes is None else resolve_classes(self.classes)


class ImageFolder(_WithClasses, _Decoded):
    """A folder with a folder of image files per class."""

    kind: Literal["image_folder"]
    path: PathText = Field(description="The folder, or an archive of it")
    builder: ClassVar[str] = "custom.build_image_folder"

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The folder."""
        return _paths(path=self.path)


class Arrays(_WithClasses):
    """NumPy arrays of images and labels."""

    kind: Literal["arrays"]
    classes: ClassNames = Field(description=_CLASSES)
    file: PathText | None = Field(None, description="Archive (.npz) of images and labels")
    images: PathText | None = Field(None, description="Array of the images (.npy)")
    labels: PathText | None = Field(None, description="Array of the labels (.npy)")
    max_value: Annotated[Integer, Field(ge=1, le=255)] | None = Field(
        None, description="The pixel value that means 1.0; 255 by default"
    )
    builder: ClassVar[str] = "custom.build_arrays"

    @model_validator(mode="after")
    def _one_source(self) -> "Arrays":
        alone = self.file is not None and self.images is None and self.labels is None
        both = self.file is None and self.images is not None and self.labels is not None
        if not (alone or both):
            raise ValueError("give either 'file' (.npz), or both 'images' and 'labels' (.npy)")
        return self

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The files of the arrays; with `file`, `images` and `labels` are names inside it."""
        return _paths(file=self.file, images=self.images, labels=self.labels)


class Parquet(_WithClasses, _Decoded):
    """Parquet files with a column of encoded images."""

    kind: Literal["parquet"]
    files: Texts = Field(description="One file, or several that are read one after the other")
    image_column: str | None = Field(None, description="Found by its content by default")
    label_column: str | None = Field(None, description="Found by its name by default")
    builder: ClassVar[str] = "custom.build_parquet"

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The files."""
        return {"files": [Path(file).expanduser() for file in self.files]}


class _WithoutImages(DatasetKind):
    """What models predicted is on file; no model is run."""

    has_images: ClassVar[bool] = False


class Predictions(_WithoutImages):
    """A prediction file per model."""

    kind: Literal["predictions"]
    files: PathOfModel = Field(description="With {model} for the model's name")
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".csv", ".npz")


class _Published(_WithoutImages):
    """Published classes without probabilities."""

    reversed: Names = Field((), description="Models whose top classes come least probable first")
    classes: Annotated[Integer, Field(ge=2)] | None = Field(None, description="Number of classes")
    has_probabilities: ClassVar[bool] = False

    @property
    def n_classes(self) -> int | None:
        """The given number of classes."""
        return self.classes


class Labels(_Published):
    """A file of predicted classes per model, and one of true labels."""

    kind: Literal["labels"]
    files: PathOfModel = Field(description="With {model} for the model's name")
    labels: PathText = Field(description="File of the true labels")
    aliases: dict[str, PathText] = Field({}, description="Names in the files, by name of model")
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".npy")


class LabelArchive(_Published):
    """One archive of the predicted classes of all models, and of the true labels."""

    kind: Literal["label_archive"]
    file: PathText = Field(description="The archive")
    models: PathText | None = Field(None, description="Its array of model names")
    predictions: PathText = Field(description="Its array of predicted classes")
    labels: PathText = Field(description="Its array of true labels")
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)


class AccuracyColumns(Settings):
    """Columns of a table of accuracies."""

    model: Texts = Field(description="Column of the model's name; several are tried in turn")
    top1: str = Field(description="Column of top-1 accuracies")
    top5: str | None = Field(None, description="Column of top-5 accuracies")


class Accuracies(_WithoutImages):
    """A table of published accuracies."""

    kind: Literal["accuracies"]
    file: PathText = Field(description="The table (.csv)")
    columns: AccuracyColumns = Field(description="Which columns hold what")
    unit: Literal["percent", "fraction", "correct"] | None = Field(
        None, description="Of the accuracies; percent by default"
    )
    n: Count | None = Field(None, description="Size of the set; needed if the unit is correct")
    has_probabilities: ClassVar[bool] = False
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    @model_validator(mode="after")
    def _counts_need_a_size(self) -> "Accuracies":
        if self.unit == "correct" and self.n is None:
            raise ValueError("n missing: numbers of correct predictions need the size of the set")
        return self


KINDS: Mapping[str, type[DatasetKind]] = {
    "digits": Digits,
    "cifar10": Cifar10,
    "cifar10_1": Cifar101,
    "cifar10_2": Cifar102,
    "cifar10_c": Cifar10C,
    "cinic10": Cinic10,
    "imagenet": ImageNet,
    "imagenetv2": ImageNetV2,
    "image_folder": ImageFolder,
    "arrays": Arrays,
    "parquet": Parquet,
    "predictions": Predictions,
    "labels": Labels,
    "label_archive": LabelArchive,
    "accuracies": Accuracies,
}


def _paths(**options: str | None) -> dict[str, list[Path]]:
    return {key: [Path(path).expanduser()] for key, path in options.items() if path is not None}


def builder_version(kind: str) -> int | None:
    """Version of a kind's builder; None for an unknown kind."""
    return KINDS[kind].builder_version if kind in KINDS else None
