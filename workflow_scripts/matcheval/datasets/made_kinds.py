"""Kinds of datasets that are made from other datasets of the study."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from matcheval.datasets.corruptions.names import (
    ARCHIVE,
    C_BAR,
    CORRUPTION_VERSION,
    EXTRA,
    PROCEDURAL,
    STANDARD,
)
from matcheval.datasets.kind import DatasetKind, Severity
from matcheval.errors import suggest
from matcheval.settings import Boolean, Count, Integer, Name, Seed

NO_CORRUPTION = "none"
_NAMES = (*STANDARD, *EXTRA, *C_BAR, *PROCEDURAL, NO_CORRUPTION)
# Raised by hand when an edit of the builder, not of the corruptions, changes images.
_BUILDER_VERSION = 1


def _known(name: str) -> str:
    if name not in _NAMES:
        raise ValueError(f"'{name}' is no corruption. {suggest(name, _NAMES)}")
    return name


class Corrupted(DatasetKind):
    """The images of another dataset, corrupted as in CIFAR-10-C and ImageNet-C."""

    kind: Literal["corrupted"]
    of: Name = Field(description="The other dataset, of this study")
    corruption: Annotated[str, AfterValidator(_known)] = Field(
        description="Its name, or `none` to bring images to a size, or to JPEG, only",
        json_schema_extra={"enum": list(_NAMES)},
    )
    severity: Severity | None = Field(None, description="5 is the strongest, `all` joins them")
    seed: Seed = Field(0, description="Seed of the random numbers")
    parameters: Literal["auto", 32, 224] = Field(
        "auto", description="Those for images of 32 or 224 pixels; by default, by their size"
    )
    size: Count | None = Field(
        None, description="Side that images are brought to first; 224 by default for image files"
    )
    jpeg_quality: Literal["auto", "none"] | Annotated[Integer, Field(ge=1, le=95)] = Field(
        "auto", description="Save as JPEG in the end; `auto` is 85 with parameters for 224, or none"
    )
    restore: Boolean = Field(
        False,
        description="Enlarge images by repeating pixels, and bring them back, by averages, to the "
        "size, channels and pixel range of the other dataset, for models that know only these",
    )
    stored: Boolean = Field(
        False, description="Store the pixels, rather than make them whenever they are read"
    )
    builder: ClassVar[str] = "corrupted.build_corrupted"
    builder_version: ClassVar[int] = 100 * _BUILDER_VERSION + CORRUPTION_VERSION

    @model_validator(mode="after")
    def _has_severity(self) -> "Corrupted":
        if (self.severity is None) != (self.corruption == NO_CORRUPTION):
            needed = "has no" if self.corruption == NO_CORRUPTION else "needs a"
            raise ValueError(f"corruption '{self.corruption}' {needed} severity")
        return self

    @property
    def sources(self) -> list[str]:
        """The other dataset."""
        return [self.of]

    @property
    def needs_one_size(self) -> bool:
        """If images are brought back to the size that they had."""
        return self.restore

    @property
    def is_made(self) -> bool:
        """Unless its images are stored."""
        return not self.stored

    @property
    def published_files(self) -> list[str]:
        """The photographs of frost, for that corruption."""
        return [ARCHIVE] if self.corruption == "frost" else []


class Restyled(DatasetKind):
    """The images of another dataset in another style, as a domain of the same task."""

    kind: Literal["restyled"]
    of: Name = Field(description="The other dataset, of this study; its images are arrays")
    style: Literal["inverted", "background"] = Field(
        description="Inverted grey levels, or the difference to a random smooth background"
    )
    seed: Seed = Field(0, description="Seed of the backgrounds")
    builder: ClassVar[str] = "restyled.build_restyled"

    @property
    def needs_one_size(self) -> bool:
        """Always: its pixels are changed in place."""
        return True

    @property
    def sources(self) -> list[str]:
        """The other dataset."""
        return [self.of]
