"""What all kinds of dataset have in common: options, and what is known before one is built."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from matcheval.settings import (
    Count,
    Seed,
    Settings,
)


def _in_order(rows: tuple[int, int]) -> tuple[int, int]:
    if rows[0] >= rows[1]:
        raise ValueError(f"no image is from {rows[0]} on and before {rows[1]}")
    return rows


def _as_number(value: Any) -> Any:
    """Read the text that a placeholder of a suite is replaced by."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


# How strong a corruption is; with "all", the images of all severities follow each other.
Severity = Annotated[Literal[1, 2, 3, 4, 5, "all"], BeforeValidator(_as_number)]


class PixelFormat(NamedTuple):
    """Height and width of a dataset's images in pixels, channels, and the value that means 1.0."""

    side: int
    channels: int = 3
    max_value: int = 255

    def __str__(self) -> str:
        """Return the format in words, for error messages."""
        return (
            f"{self.side} × {self.side} pixels, {self.channels} channel(s), "
            f"values up to {self.max_value}"
        )


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
    has_images, has_probabilities, has_correctness : bool
        Whether there are images to run models on; whether predictions come with probabilities;
        whether it is known which datapoints a model classifies correctly.
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
    has_correctness: ClassVar[bool] = True
    is_decoded: ClassVar[bool] = False

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given, as JSON values; a key without a value counts as left out."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_none=True, exclude={"kind"})

    @property
    def published_files(self) -> list[str]:
        """Names of the published files that it is built from."""
        return []

    @property
    def sources(self) -> list[str]:
        """Names of the datasets of the study that it is made from."""
        return []

    @property
    def is_made(self) -> bool:
        """Whether its images are made from those of other datasets whenever they are read."""
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


class Subset(DatasetKind):
    """A dataset of which some images can be taken."""

    rows: Annotated[tuple[Seed, Seed], AfterValidator(_in_order)] | None = Field(
        None, description="First and last image to take, counted from 0, the last one excluded"
    )
    skip_per_class: Seed | None = Field(
        None, description="Of these, how many of each class to leave out: the first ones"
    )
    per_class: Count | None = Field(None, description="Of the rest, only the first of each class")


class Decoded(Subset):
    """A dataset whose images are files."""

    unreadable: Literal["fail", "skip"] = Field(
        "fail", description="What happens at an image that cannot be decoded"
    )
    resize: Count | None = Field(
        None, description="Height and width that all images are resized to, in pixels"
    )
    resize_filter: Literal["bicubic", "bilinear", "lanczos", "box"] = Field(
        "bicubic", description="How they are resized (Pillow, antialiased)"
    )
    is_decoded: ClassVar[bool] = True

    @property
    def has_one_size(self) -> bool:
        """Whether its images are resized to one size."""
        return self.resize is not None

    @property
    def pixel_format(self) -> PixelFormat | None:
        """RGB images of the size that they are resized to."""
        return None if self.resize is None else PixelFormat(self.resize)

    @model_validator(mode="after")
    def _filter_needs_size(self) -> "Decoded":
        if self.resize is None and "resize_filter" in self.model_fields_set:
            raise ValueError("resize_filter has no effect without resize")
        return self


def paths_by_option(**options: str | None) -> dict[str, list[Path]]:
    """Return the files or folders that options name, by option."""
    return {key: [Path(path).expanduser()] for key, path in options.items() if path is not None}
