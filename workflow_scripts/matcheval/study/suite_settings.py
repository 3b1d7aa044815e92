"""Suites in the configuration: members, patterns and manifests."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from matcheval.names import MAX_NAME_LENGTH
from matcheval.settings import (
    Count,
    Integer,
    Name,
    Named,
    Number,
    PathText,
    Settings,
    Unique,
    UniqueItems,
)

Values = Annotated[tuple[str | Integer, ...], Unique, UniqueItems, Field(min_length=1)]


class SuiteMember(Settings):
    """A member of a suite: one dataset, or all datasets that a pattern, manifest or suite gives."""

    dataset: Name | dict[str, Any] | None = Field(
        None,
        description="Name of a dataset, or the block of one, whose texts may have {placeholders}",
    )
    suite: Name | None = Field(None, description="Another suite, all of whose members are taken")
    manifest: PathText | None = Field(
        None, description="CSV file with a member per row (docs/suites.md)"
    )
    warehouse: PathText | None = Field(
        None, description="File of a warehouse, all of whose sets are taken (docs/warehouse.md)"
    )
    side: Count | None = Field(
        None, description="Height and width of a warehouse's images, in pixels; 32 by default"
    )
    data: Annotated[tuple[str, ...], Unique, UniqueItems] = Field(
        (), description="Columns of the manifest that are data about its sets, and no options"
    )
    name: Annotated[str, Field(max_length=MAX_NAME_LENGTH)] | None = Field(
        None, description="Name of the dataset of a block, with its placeholders"
    )
    values: dict[str, Values] = Field(
        {}, description="Values of placeholders; by default those that existing files have"
    )
    group: str = Field("", description="What kind of set it is; may have placeholders")
    subgroup: str = Field("", description="A finer kind; may have placeholders")
    severity: Number | str | None = Field(
        None, description="How strong the shift is, a number; may be a placeholder"
    )
    classes: (
        Literal["imagenet-a", "imagenet-r"] | Annotated[tuple[str, ...], Unique, UniqueItems]
    ) = Field(
        (), description="The classes that it has images of, or a name of them; all by default"
    )
    groups: (
        Annotated[dict[str, Annotated[tuple[str, ...], Unique]], Field(min_length=1)]
        | PathText
        | None
    ) = Field(
        None,
        description="Its classes, if each is a group of classes of the label space: the classes by "
        "the name of their group, or a YAML file of them",
    )
    all_labels: PathText | None = Field(
        None,
        description="CSV file with columns name (of an image) and labels (separated by ;), where "
        "images have several true classes; a prediction of one of them is right",
    )

    @model_validator(mode="after")
    def _one_origin(self) -> "SuiteMember":
        origins = ("dataset", "suite", "manifest", "warehouse")
        given = [key for key in origins if getattr(self, key) is not None]
        if self.manifest is not None and isinstance(self.dataset, dict):
            given.remove("dataset")  # what all rows of the manifest have in common
        if len(given) != 1:
            raise ValueError("give one of 'dataset', 'suite', 'manifest' and 'warehouse'")
        if self.side is not None and self.warehouse is None:
            raise ValueError("'side' belongs to a warehouse")
        known = (
            self.group,
            self.subgroup,
            self.severity,
            self.classes,
            self.groups,
            self.all_labels,
        )
        if self.suite is not None and any(known):
            raise ValueError("what is known of the members of a suite is given there")
        if self.warehouse is not None and any(known):
            raise ValueError("what is known of the sets of a warehouse is given there")
        if self.classes and self.groups:
            raise ValueError("give 'classes', or 'groups' of classes, not both")
        if self.manifest is not None and (self.values or self.name):
            raise ValueError("'name' and 'values' have no effect beside a manifest")
        if self.manifest is None and self.data:
            raise ValueError("'data' names columns of a manifest, and there is none")
        if not isinstance(self.dataset, dict) and (self.values or self.name):
            raise ValueError("'name' and 'values' belong to the block of a dataset")
        return self


class SuiteSettings(Settings):
    """A named collection of datasets."""

    members: Annotated[tuple[Name | SuiteMember, ...], Field(min_length=1)] = Field(
        description="Names of datasets, or members with what is known of them"
    )


class SuitesSettings(Settings):
    """The suites of a configuration, which are read before all else."""

    suites: Named[SuiteSettings] = Field({}, description="Collections of datasets")
