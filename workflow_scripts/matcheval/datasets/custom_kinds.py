"""Kinds of datasets of the user's images."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from matcheval.datasets.kind import Decoded, Subset, paths_by_option
from matcheval.datasets.label_spaces import (
    folder_classes,
    labels_of_folders,
    map_labels,
    resolve_classes,
)
from matcheval.errors import InputError, suggest
from matcheval.settings import (
    Integer,
    PathText,
    Texts,
    Unique,
    UniqueItems,
)

ClassNames = (
    Literal["cifar10", "imagenet"]
    | Annotated[tuple[str | Integer, ...], Unique, UniqueItems, Field(min_length=2)]
)
_CLASSES = "A label space by name, or the class names in label order"


def _as_text(value: Any) -> Any:
    """Take numbers, which labels often are, as texts: keys of JSON are."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Label = Annotated[str, BeforeValidator(_as_text)]


class _WithClasses(Subset):
    """The user's images, with class names that may be given."""

    classes: ClassNames | None = Field(None, description=_CLASSES)
    label_map: Annotated[dict[_Label, _Label], Field(min_length=1)] | None = Field(
        None,
        description="Class of each label, or class folder, of the source; images of labels that "
        "are not listed are left out",
    )

    @model_validator(mode="after")
    def _labels_become_classes(self) -> "_WithClasses":
        if self.label_map is None:
            return self
        classes = self.known_classes
        if classes is None:
            raise ValueError("label_map needs classes, the label space that it maps to")
        unknown = [name for name in self.label_map.values() if name not in classes]
        if unknown:
            hint = suggest(unknown[0], classes)
            raise ValueError(f"label_map: '{unknown[0]}' is not among the classes. {hint}")
        return self

    @property
    def known_classes(self) -> tuple[str, ...] | None:
        """The given class names."""
        return None if self.classes is None else resolve_classes(self.classes)


class ImageFolder(_WithClasses, Decoded):
    """A folder with a folder of image files per class."""

    kind: Literal["image_folder"]
    path: PathText = Field(description="The folder, or an archive of it")
    builder: ClassVar[str] = "custom.build_image_folder"

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The folder."""
        return paths_by_option(path=self.path)

    def labels_of(
        self, folders: Mapping[str, int], file: object
    ) -> tuple[tuple[str, ...], Mapping[str, int | None]]:
        """Return the classes, and the label of each class folder; None for those left out."""
        if not folders:
            raise InputError("has no class folders with files in them", file=file)
        classes = self.known_classes or folder_classes(list(folders), file)
        if self.label_map is not None:
            return classes, map_labels(folders, self.label_map, classes, file)
        return classes, labels_of_folders(list(folders), classes, file, all_required=False)


class Arrays(_WithClasses):
    """NumPy arrays of images and labels."""

    kind: Literal["arrays"]
    classes: ClassNames = Field(description=_CLASSES)
    file: PathText | None = Field(None, description="Archive (.npz) of images and labels")
    images: PathText | None = Field(None, description="Array of the images (.npy)")
    labels: PathText | None = Field(None, description="Array of the labels (.npy)")
    max_value: Annotated[Integer, Field(ge=1, le=255)] = Field(
        255, description="The pixel value that means 1.0"
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
        return paths_by_option(file=self.file, images=self.images, labels=self.labels)


class Parquet(_WithClasses, Decoded):
    """Parquet files with a column of encoded images."""

    kind: Literal["parquet"]
    files: Texts = Field(description="One file, or several that are read one after the other")
    image_column: str = Field("image", description="Column of the encoded images")
    label_column: str = Field("label", description="Column of the labels")
    builder: ClassVar[str] = "custom.build_parquet"

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """The files."""
        return {"files": [Path(file).expanduser() for file in self.files]}
