"""Settings of a warehouse, from its YAML file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from matcheval import settings as types
from matcheval.datasets.custom import ClassNames
from matcheval.datasets.kind import DatasetKind
from matcheval.datasets.kinds import KINDS
from matcheval.datasets.label_spaces import resolve_classes
from matcheval.errors import InputError, suggest
from matcheval.io.user_files import read_yaml
from matcheval.settings import Count, PathText, Settings, Texts, read_settings

DEFAULT = Path(__file__).with_name("cifar10_warehouse.yaml")
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
# Pillow itself refuses images of twice as many pixels as its own limit.
_MOST_PIXELS = 178_956_970

Colours = types.UniqueTuple[Annotated[str, Field(min_length=1)]]


def _check_placeholders(text: str, known: tuple[str, ...]) -> None:
    for name in _PLACEHOLDER.findall(text):
        if name not in known:
            raise ValueError(f"'{{{name}}}' is not a placeholder. {suggest(name, known)}")


class PlannedGroup(Settings):
    """Sets of a query plan with the same style and templates."""

    style: str = Field(description="Style of the images; may have {key}")
    sources: Annotated[
        dict[Annotated[str, Field(min_length=1)], Colours | Count | None], Field(min_length=1)
    ] = Field(
        description="Where images come from; for each, names of the colours that are asked for, "
        "or how many there are if they are only numbered, or nothing for none"
    )
    template: str | None = Field(None, description="Query, with {class} and perhaps {colour}")
    templates: Annotated[dict[str, str], Field(min_length=1)] | None = Field(
        None, description="Several queries by key, each of which makes a set"
    )
    name: str | None = Field(
        None, description="Names of the sets, of {group}, {source}, {colour} and {key}"
    )

    @property
    def all_templates(self) -> dict[str, str]:
        """The query templates by key; the key of a single template is empty."""
        return self.templates or {"": self.template or ""}

    @model_validator(mode="after")
    def _check_templates(self) -> "PlannedGroup":
        if (self.template is None) == (self.templates is None):
            raise ValueError("give either 'template' or 'templates'")
        for text in self.all_templates.values():
            _check_placeholders(text, ("class", "colour"))
            if "{class}" not in text:
                raise ValueError(f"query '{text}' has no {{class}}")
            unnamed = [s for s, colours in self.sources.items() if not isinstance(colours, tuple)]
            if "{colour}" in text and unnamed:
                needed = f"query '{text}' needs names of colours"
                raise ValueError(f"{needed}, and source '{unnamed[0]}' has none")
        _check_placeholders(self.style, ("key",))
        _check_placeholders(self.name or "", ("group", "source", "colour", "key"))
        return self


class DecodingSettings(Settings):
    """Limits of the image files that are used."""

    min_side: Count = Field(32, description="Smallest height and width, in pixels")
    max_pixels: Annotated[types.Integer, Field(ge=1, le=_MOST_PIXELS)] = Field(
        100_000_000, description="Most pixels of an image; a larger one is not decoded"
    )
    max_bytes: Count = Field(200_000_000, description="Most bytes of a file; others are not read")


def _false_to_off(value: Any) -> Any:
    return "off" if value is False else value  # YAML reads the word as a boolean


class DuplicateSettings(Settings):
    """When two images count as the same picture, and what follows."""

    distance: Annotated[
        Literal["off"] | Annotated[types.Integer, Field(ge=0, le=8)], BeforeValidator(_false_to_off)
    ] = Field(4, description="Most differing bits of two 64-bit hashes; `off`: exact copies only")
    across: Literal["keep", "drop"] = Field(
        "keep", description="Copies in a later set are kept, or left out as duplicates"
    )
    leaked: Literal["keep", "drop"] = Field(
        "keep", description="Images that are in a set of `against` are kept, or left out"
    )


class ReviewSettings(Settings):
    """What people have decided about images."""

    decisions: Texts | None = Field(None, description="CSV files of decisions (docs/datasets.md)")
    unreviewed: Literal["keep", "pending"] = Field(
        "keep", description="Images without a decision are kept, or wait for one"
    )
    arbiter: str = Field(
        "arbiter", description="Reviewer whose decision counts where others disagree"
    )


class LicenceSettings(Settings):
    """Licences of the images; whether they permit a use is for the user to judge."""

    fallback: str | None = Field(
        None, description="Licence of images for which none is stated; by default `unstated`"
    )
    export: types.UniqueTuple[str] | None = Field(
        None, description="Only images with one of these licences are exported; by default, all"
    )


class ExportSettings(Settings):
    """Sizes of the exported images, and how images are made square."""

    sides: types.SomeUnique[Count] = Field((32, 224), description="Heights and widths in pixels")
    fit: Literal["squash", "crop"] = Field(
        "squash", description="Resized to the square directly, or by the shorter side, then cropped"
    )


class WarningSettings(Settings):
    """When there is a warning about a set; by default outside the range of CIFAR-10-Warehouse."""

    smallest: Count = Field(300, description="Images of a set, below which it is small")
    largest: Count = Field(8000, description="Images of a set, above which it is large")
    imbalance: Annotated[types.Number, Field(ge=1)] = Field(
        10, description="Largest class over smallest class of a set"
    )


class WarehouseSettings(Settings):
    """A warehouse of sets."""

    warehouse: types.Name = Field(description="Its name")
    classes: ClassNames = Field(description="A label space by name, or the class names in order")
    plan: types.Named[PlannedGroup] = Field({}, description="The query plan, by group of sets")
    images: PathText | None = Field(
        None, description="Folder of the images, as <group>/<set>/<class>/..."
    )
    files: PathText | None = Field(
        None, description="Instead, a list of image files (.csv or .jsonl)"
    )
    about: PathText | None = Field(
        None, description="CSV file of what is known of the sets: source, style, colour, ..."
    )
    against: types.Named[dict[str, Any]] = Field(
        {}, description="Base and training sets to compare with, as blocks of datasets"
    )
    decoding: DecodingSettings = DecodingSettings()
    duplicates: DuplicateSettings = DuplicateSettings()
    review: ReviewSettings = ReviewSettings()
    boxes: PathText | None = Field(
        None, description="CSV file of boxes that are blurred: faces, number plates"
    )
    licences: LicenceSettings = LicenceSettings()
    export: ExportSettings = ExportSettings()
    warnings: WarningSettings = WarningSettings()

    @model_validator(mode="after")
    def _check_images_and_classes(self) -> "WarehouseSettings":
        if self.images is not None and self.files is not None:
            raise ValueError("give 'images' or 'files', not both")
        resolve_classes(self.classes)
        return self

    @field_validator("against")
    @classmethod
    def _check_against(cls, blocks: Mapping[str, dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
        for name, block in blocks.items():
            reference_settings(name, block)
        return blocks

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their labels."""
        return resolve_classes(self.classes)


def reference_settings(name: str, block: Mapping[str, Any]) -> DatasetKind:
    """Read the settings of a base or training set, which must be of a kind with images."""
    field = f"against.{name}"
    usable = [name for name, kind in KINDS.items() if kind.has_images and name != "corrupted"]
    if block.get("kind") not in usable:
        problem = f"kind {block.get('kind')} is not a kind of dataset with images"
        raise InputError(problem, field=field, remedy=f"Use one of {', '.join(usable)}")
    return read_settings(KINDS[block["kind"]], block, file=field)


def read_warehouse(path: str | Path | None = None) -> WarehouseSettings:
    """Read the settings of a warehouse from its YAML file; CIFAR-10-Warehouse by default."""
    path = DEFAULT if path is None else Path(path)
    return read_settings(WarehouseSettings, read_yaml(path), file=path)
