"""What all kinds of dataset have in common: options, facts that are known before one is built.

To add a kind: a class with its options as fields, its facts and its method `build`, decorated by
`dataset_kind`, in a module that `kinds` imports.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from matcheval.settings import Count, Seed, Settings

if TYPE_CHECKING:
    from matcheval.datasets.dataset import Dataset
    from matcheval.datasets.sources import ImageStream, Sources


def _check_row_range(rows: tuple[int, int]) -> tuple[int, int]:
    if rows[0] >= rows[1]:
        raise ValueError(f"no image is from {rows[0]} on and before {rows[1]}")
    return rows


def _digits_as_number(value: Any) -> Any:
    """Convert the digits that replace a suite's placeholder to a number; keep other values."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


# How strong a corruption is; with "all", the images of all severities follow each other.
Severity = Annotated[Literal[1, 2, 3, 4, 5, "all"], BeforeValidator(_digits_as_number)]


class PixelFormat(NamedTuple):
    """Side of a dataset's square images in pixels, channels, and the value that means 1.0."""

    side: int
    channels: int = 3
    max_value: int = 255

    def __str__(self) -> str:
        """Return the format in words, for error messages."""
        size = f"{self.side} × {self.side} pixels"
        return f"{size}, {self.channels} channel(s), values up to {self.max_value}"


class DatasetKind(Settings):
    """Base class of the kinds of dataset: the options of a dataset, and how it is built.

    Attributes
    ----------
    kind : str
        Name of the kind.
    label_space : tuple of str or None
        Class names by label, for kinds that have the same always.
    published : tuple of str
        Names of the published files that it is built from, with options in braces.
    path_options : tuple of str
        Options that name the user's files and folders that its images are built from.
    builder_version : int
        Raised by hand when an edit changes what `build` gives. Datasets are built by a `shell:`
        rule, which does not notice edits of the library: without this, every edit would build all
        datasets again, and with them everything that depends on them.
    suffixes : tuple of str
        Of the files that the options name, for kinds that have predictions or accuracies.
    has_images, has_probabilities, has_correctness : bool
        Whether there are images to run models on; whether predictions come with probabilities;
        whether it is known which datapoints a model classifies correctly.
    """

    kind: str
    label_space: ClassVar[tuple[str, ...] | None] = None
    published: ClassVar[tuple[str, ...]] = ()
    path_options: ClassVar[tuple[str, ...]] = ()
    builder_version: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = ()
    has_images: ClassVar[bool] = True
    has_probabilities: ClassVar[bool] = True
    has_correctness: ClassVar[bool] = True

    def build(self, name: str, sources: "Sources") -> "Dataset | ImageStream":
        """Build the dataset of this name; an `InputError` says what is wrong with a source."""
        raise NotImplementedError

    @property
    def options(self) -> dict[str, Any]:
        """The options that differ from their defaults, as JSON values."""
        return self.model_dump(
            mode="json", exclude_defaults=True, exclude_none=True, exclude={"kind"}
        )

    @property
    def published_files(self) -> list[str]:
        """Names of the published files that it is built from."""
        return [name.format(**self.model_dump()) for name in self.published]

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The user's files and folders that its images are built from, by option."""
        values = {key: getattr(self, key) for key in self.path_options}
        return {
            key: [Path(p).expanduser() for p in ([value] if isinstance(value, str) else value)]
            for key, value in values.items()
            if value is not None
        }

    @property
    def sources(self) -> list[str]:
        """Names of the study's datasets that its images are made from; for most kinds, none."""
        return []

    @property
    def is_made(self) -> bool:
        """Whether its images are not stored, but made from other sets' whenever they are read."""
        return False

    @property
    def has_one_size(self) -> bool:
        """Whether its images are stored as pixels of one size, not as files."""
        return True

    @property
    def needs_one_size(self) -> bool:
        """Whether the images of the sets that it is made from must be pixels of one size."""
        return False

    @property
    def pixel_format(self) -> PixelFormat | None:
        """Size, channels and range of its images, if they are known before it is built."""
        return None

    @property
    def known_classes(self) -> tuple[str, ...] | None:
        """Class names by label, if they are known before it is built."""
        return self.label_space

    @property
    def n_classes(self) -> int | None:
        """Number of classes, if that is known before it is built."""
        return None if self.known_classes is None else len(self.known_classes)


Kind = TypeVar("Kind", bound=DatasetKind)
REGISTERED: dict[str, type[DatasetKind]] = {}


def dataset_kind(kind: type[Kind]) -> type[Kind]:
    """Register a class of datasets under the name that is the value of its field `kind`."""
    (name,) = get_args(kind.model_fields["kind"].annotation)
    REGISTERED[name] = kind
    return kind


class Subset(DatasetKind):
    """Base class of datasets with options that select images, by row and number per class."""

    rows: Annotated[tuple[Seed, Seed], AfterValidator(_check_row_range)] | None = Field(
        None, description="First and last image to take, counted from 0, the last one excluded"
    )
    skip_per_class: Seed | None = Field(
        None, description="Of these, how many of each class to leave out: the first ones"
    )
    per_class: Count | None = Field(None, description="Of the rest, only the first of each class")


class Decoded(Subset):
    """Base class of datasets built from image files, which can be resized to one size."""

    unreadable: Literal["fail", "skip"] = Field(
        "fail", description="What happens at an image that cannot be decoded"
    )
    resize: Count | None = Field(
        None, description="Height and width that all images are resized to, in pixels"
    )

    @property
    def has_one_size(self) -> bool:
        """Whether its images are resized to one size."""
        return self.resize is not None

    @property
    def pixel_format(self) -> PixelFormat | None:
        """RGB images of the size that they are resized to; None if they are not resized."""
        return None if self.resize is None else PixelFormat(self.resize)
