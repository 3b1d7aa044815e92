"""The user's image sets: class folders, arrays and Parquet files."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BeforeValidator, Field, model_validator

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.kind import Decoded, Subset, paths_by_option
from matcheval.datasets.label_spaces import (
    check_classes,
    folder_classes,
    labels_of_folders,
    map_labels,
    resolve_classes,
)
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources, npz_array, read_npy
from matcheval.errors import InputError, suggest
from matcheval.settings import Integer, PathText, Texts, Unique, UniqueItems

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


_BATCH_ROWS = 256


def build_image_folder(name: str, settings: ImageFolder, sources: Sources) -> ImageStream:
    """Build a set from a folder or tar archive with a folder per class, as `ImageFolder` does."""
    path = sources.custom_path(settings.path)
    tree = sources.tree(path)
    root = _common_root(tree.paths) if path.is_file() else 0
    inside = {p: p.split("/")[root] for p in tree.paths if p.count("/") > root}
    classes, labels = settings.labels_of(Counter(inside.values()), path)
    listed = sorted(
        (label, file) for file, folder in inside.items() if (label := labels[folder]) is not None
    )

    def files() -> Iterator[LabelledFile]:
        for label, file in listed:
            yield LabelledFile(file, label, tree.read(file))

    notes = _unlisted(Counter(inside.values()), labels)
    return ImageStream(name, classes, f"image folders, {path.name}", files(), notes)


def build_arrays(name: str, settings: Arrays, sources: Sources) -> Dataset:
    """Build a set from arrays."""
    classes = resolve_classes(settings.classes)
    if settings.file is not None:
        path = sources.custom_path(settings.file)
        images, labels = npz_array(path, "images"), npz_array(path, "labels")
    else:
        assert settings.images is not None  # the settings have either `file` or both arrays
        assert settings.labels is not None
        path = sources.custom_path(settings.images)
        images, labels = read_npy(path), read_npy(sources.custom_path(settings.labels))
    images = images[..., np.newaxis] if images.ndim == 3 else images
    names, notes = None, {}
    if settings.label_map is not None and labels.ndim == 1 and len(images) == len(labels):
        counts = Counter(map(str, labels.tolist()))
        mapped = map_labels(counts, settings.label_map, classes, path)
        new = np.array([-1 if (to := mapped[str(label)]) is None else to for label in labels])
        rows = np.flatnonzero(new >= 0)
        images, labels, names = images[rows], new[rows], [f"{row:05d}" for row in rows]
        notes = _unlisted(counts, mapped)
    return make_dataset(
        name, images, labels,
        classes=classes, max_value=settings.max_value, source=f"arrays, {path.name}",
        names=names, provenance=notes,
    )  # fmt: skip


def build_parquet(name: str, settings: Parquet, sources: Sources) -> ImageStream:
    """Build a set from Parquet files, in the order of their rows."""
    paths = [sources.custom_path(path) for path in settings.files]
    columns = settings.image_column, settings.label_column
    classes = _parquet_classes(name, paths, columns, settings)
    labels: Mapping[str, int | None] = {str(label): label for label in range(len(classes))}
    notes = {}
    if settings.label_map is not None:
        counts = _parquet_counts(paths, settings.label_column)
        labels = map_labels(counts, settings.label_map, classes, name)
        notes = _unlisted(counts, labels)

    def files() -> Iterator[LabelledFile]:
        for path in paths:
            yield from _parquet_rows(path, columns, labels)

    source = f"Parquet, {', '.join(p.name for p in paths)}"
    return ImageStream(name, classes, source, files(), notes)


def _unlisted(counts: Mapping[str, int], labels: Mapping[str, int | None]) -> dict[str, object]:
    """For the provenance: numbers of images that a map of labels leaves out, by label."""
    unlisted = {label: n for label, n in counts.items() if labels[label] is None}
    return {"unlisted": unlisted} if unlisted else {}


def _common_root(paths: Sequence[str]) -> int:
    """Depth of the class folders in an archive: 1 if a single folder contains all, else 0."""
    tops = {p.split("/")[0] for p in paths}
    deep = all(p.count("/") >= 2 for p in paths)
    return 1 if len(tops) == 1 and deep else 0


def _parquet_classes(
    name: str, paths: Sequence[Path], columns: tuple[str, str], settings: Parquet
) -> tuple[str, ...]:
    classes = settings.known_classes
    for path in paths:
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"not a readable Parquet file ({reason})", file=path) from error
        _check_columns(schema, columns, path)
        stored = _metadata_classes(schema, columns[1]) if settings.label_map is None else None
        if stored is not None and classes is not None:
            check_classes(stored, classes, path)
        classes = stored if classes is None else classes
    if classes is None:
        raise InputError(
            "the files do not contain the names of the classes",
            file=name,
            field="classes",
            remedy="Give a list of names in order of their labels, or cifar10, or imagenet",
        )
    return classes


def _check_columns(schema: pa.Schema, columns: tuple[str, str], path: Path) -> None:
    for column in columns:
        if column not in schema.names:
            raise InputError(
                f"no column '{column}'", file=path, remedy=f"It has {', '.join(schema.names)}"
            )
    image, label = (schema.field(column).type for column in columns)
    nested = pa.types.is_struct(image) and image.get_field_index("bytes") >= 0
    if not (nested or pa.types.is_binary(image) or pa.types.is_large_binary(image)):
        raise InputError(
            f"is {image}, not bytes of image files, or a structure that contains them",
            file=path,
            field=columns[0],
        )
    if not pa.types.is_integer(label):
        raise InputError(f"is {label}, not an integer type", file=path, field=columns[1])


def _metadata_classes(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Class names in the metadata that Hugging Face's library writes."""
    text = (schema.metadata or {}).get(b"huggingface")
    if text is None:
        return None
    features = json.loads(text).get("info", {}).get("features", {})
    names = features.get(column, {}).get("names")
    return None if names is None else tuple(map(str, names))


def _parquet_counts(paths: Sequence[Path], column: str) -> Counter[str]:
    """Number of rows by label, in the order of the labels; missing labels are not counted."""
    found = Counter(
        label for path in paths for label in pq.read_table(path, columns=[column])[0].to_pylist()
    )
    return Counter({str(label): found[label] for label in sorted(found.keys() - {None})})


def _parquet_rows(
    path: Path, columns: tuple[str, str], known: Mapping[str, int | None]
) -> Iterator[LabelledFile]:
    row = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns)):
            images, labels = (batch.column(column) for column in columns)
            if pa.types.is_struct(images.type):
                images = images.field("bytes")
            for image, label in zip(images, labels.to_pylist(), strict=True):
                if str(label) not in known:
                    raise InputError(
                        f"row {row} (from 0): {label} is not one of {len(known)} classes",
                        file=path,
                        field=columns[1],
                    )
                if (mapped := known[str(label)]) is not None:
                    # Rows without bytes (Hugging Face has files with paths instead) are unreadable.
                    yield LabelledFile(f"{path.stem}/{row:06d}", mapped, image.as_py() or b"")
                row += 1
