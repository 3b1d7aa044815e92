"""The user's image sets: class folders, arrays and Parquet files."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BeforeValidator, Field, model_validator

from matcheval.datasets import label_spaces as spaces
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.kind import Decoded, Subset, dataset_kind
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources, npz_array, read_npy
from matcheval.errors import InputError, suggest
from matcheval.io.files import readable
from matcheval.settings import Integer, Label, PathText, Texts, Unique, UniqueItems

_BATCH_ROWS = 256

ClassNames = (
    Literal["cifar10", "imagenet"]
    | Annotated[tuple[Label | Integer, ...], Unique, UniqueItems, Field(min_length=2)]
)
_CLASSES = "A label space by name, or the class names in label order"


def _integer_as_text(value: Any) -> Any:
    """Convert an integer, as labels often are, to text, as keys of JSON are; keep other values."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Label = Annotated[str, BeforeValidator(_integer_as_text)]


class _UserImages(Subset):
    """Base class of the user's image sets: class names, and a map from labels to them."""

    classes: ClassNames | None = Field(None, description=_CLASSES)
    label_map: Annotated[dict[_Label, _Label], Field(min_length=1)] | None = Field(
        None,
        description="Class of each label, or class folder, of the source; images of labels that "
        "are not listed are left out",
    )

    @model_validator(mode="after")
    def _check_label_map(self) -> "_UserImages":
        mapped, classes = (self.label_map or {}).values(), self.known_classes or ()
        if mapped and not classes:
            raise ValueError("label_map needs classes, the label space that it maps to")
        for name in mapped:
            if name not in classes:
                hint = suggest(name, classes)
                raise ValueError(f"label_map: '{name}' is not among the classes. {hint}")
        return self

    @property
    def known_classes(self) -> tuple[str, ...] | None:
        """Class names, if the option `classes` is set."""
        return None if self.classes is None else spaces.resolve_classes(self.classes)


def _left_out(counts: Mapping[str, int], labels: Mapping[str, int | None]) -> dict[str, object]:
    """Return, for the provenance, how many images of each label the label map leaves out."""
    unlisted = {label: n for label, n in counts.items() if labels[label] is None}
    return {"unlisted": unlisted} if unlisted else {}


@dataset_kind
class ImageFolder(_UserImages, Decoded):
    """A folder, or archive, with a folder of image files per class."""

    kind: Literal["image_folder"]
    path: PathText = Field(description="The folder, or an archive of it")
    path_options: ClassVar[tuple[str, ...]] = ("path",)

    def class_labels(
        self, folders: Mapping[str, int], file: object
    ) -> tuple[tuple[str, ...], Mapping[str, int | None]]:
        """Return the class names, and the label of each class folder; None for those left out."""
        if not folders:
            raise InputError("has no class folders with files in them", file=file)
        if self.label_map is None:
            spaces.check_letter_case(folders, file)
        classes = self.known_classes or spaces.classes_from_folders(folders, file)
        if self.label_map is not None:
            return classes, spaces.map_labels(folders, self.label_map, classes, file)
        return classes, spaces.label_class_folders(folders, classes, file, all_required=False)

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Stream the images of a folder or tar archive with a folder per class."""
        path = sources.custom_path(self.path)
        tree = sources.tree(path)
        root = _class_folder_depth(tree.paths) if path.is_file() else 0
        folders = {p: p.split("/")[root] for p in tree.paths if p.count("/") > root}
        counts = Counter(folders.values())
        classes, labels = self.class_labels(counts, path)
        kept = {p: to for p, folder in folders.items() if (to := labels[folder]) is not None}
        stream = tree.stream(name, classes, f"image folders, {path.name}", kept)
        return replace(stream, notes=_left_out(counts, labels))


def _class_folder_depth(paths: Sequence[str]) -> int:
    """Return the depth of class folders in an archive: 1 if one folder contains all, else 0."""
    tops = {p.split("/")[0] for p in paths}
    return 1 if len(tops) == 1 and all(p.count("/") >= 2 for p in paths) else 0


@dataset_kind
class Arrays(_UserImages):
    """NumPy arrays of images and labels."""

    kind: Literal["arrays"]
    classes: ClassNames = Field(description=_CLASSES)
    file: PathText | None = Field(None, description="Archive (.npz) of images and labels")
    images: PathText | None = Field(None, description="Array of the images (.npy)")
    labels: PathText | None = Field(None, description="Array of the labels (.npy)")
    max_value: Annotated[Integer, Field(ge=1, le=255)] = Field(
        255, description="The pixel value that means 1.0"
    )
    path_options: ClassVar[tuple[str, ...]] = ("file", "images", "labels")

    @model_validator(mode="after")
    def _check_one_source(self) -> "Arrays":
        sources = [key for key in self.path_options if getattr(self, key) is not None]
        if sources not in (["file"], ["images", "labels"]):
            raise ValueError("give either 'file' (.npz), or both 'images' and 'labels' (.npy)")
        return self

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build a dataset from arrays of images and labels."""
        classes = spaces.resolve_classes(self.classes)
        paths = [sources.custom_path(str(path)) for (path,) in self.custom_paths.values()]
        path = paths[0]
        if self.file is not None:
            images, labels = npz_array(path, "images"), npz_array(path, "labels")
        else:
            images, labels = map(read_npy, paths)
        images = images[..., np.newaxis] if images.ndim == 3 else images
        names, notes = None, {}
        if self.label_map is not None and labels.ndim == 1 and len(images) == len(labels):
            counts = Counter(map(str, labels.tolist()))
            mapped = spaces.map_labels(counts, self.label_map, classes, path)
            rows = [row for row, label in enumerate(labels) if mapped[str(label)] is not None]
            names, notes = [f"{row:05d}" for row in rows], _left_out(counts, mapped)
            images, labels = images[rows], np.array([mapped[str(labels[row])] for row in rows])
        return make_dataset(
            name, images, labels,
            classes=classes, max_value=self.max_value, source=f"arrays, {path.name}",
            names=names, provenance=notes,
        )  # fmt: skip


@dataset_kind
class Parquet(_UserImages, Decoded):
    """Parquet files with a column of encoded images."""

    kind: Literal["parquet"]
    files: Texts = Field(description="One file, or several that are read one after the other")
    image_column: str = Field("image", description="Column of the encoded images")
    label_column: str = Field("label", description="Column of the labels")
    path_options: ClassVar[tuple[str, ...]] = ("files",)

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Stream the images of Parquet files, in the order of their rows."""
        paths = [sources.custom_path(path) for path in self.files]
        classes = self._read_classes(name, paths)
        labels: Mapping[str, int | None] = {str(label): label for label in range(len(classes))}
        notes = {}
        if self.label_map is not None:
            counts = _count_labels(paths, self.label_column)
            labels = spaces.map_labels(counts, self.label_map, classes, name)
            notes = _left_out(counts, labels)
        files = (file for path in paths for file in self._stream(path, labels))
        source = f"Parquet, {', '.join(p.name for p in paths)}"
        return ImageStream(name, classes, source, files, notes)

    def _read_classes(self, name: str, paths: Sequence[Path]) -> tuple[str, ...]:
        """Check the files' columns, and return the class names that are set or stored in files."""
        classes = self.known_classes
        for path in paths:
            with readable(path, "a readable Parquet file", pa.ArrowException):
                schema = pq.read_schema(path)
            self._check_columns(schema, path)
            stored = _metadata_classes(schema, self.label_column) if not self.label_map else None
            if stored is not None and classes is not None:
                spaces.check_classes(stored, classes, path)
            classes = stored if classes is None else classes
        if classes is None:
            problem = "the files do not contain the names of the classes"
            remedy = "Give a list of names in order of their labels, or cifar10, or imagenet"
            raise InputError(problem, file=name, field="classes", remedy=remedy)
        return classes

    def _check_columns(self, schema: pa.Schema, path: Path) -> None:
        for column in (self.image_column, self.label_column):
            if column not in schema.names:
                remedy = f"It has {', '.join(schema.names)}"
                raise InputError(f"no column '{column}'", file=path, remedy=remedy)
        image, label = (schema.field(c).type for c in (self.image_column, self.label_column))
        nested = pa.types.is_struct(image) and image.get_field_index("bytes") >= 0
        if not (nested or pa.types.is_binary(image) or pa.types.is_large_binary(image)):
            problem = f"is {image}, not bytes of image files, or a structure that contains them"
            raise InputError(problem, file=path, field=self.image_column)
        if not pa.types.is_integer(label):
            problem = f"is {label}, not an integer type"
            raise InputError(problem, file=path, field=self.label_column)

    def _stream(self, path: Path, mapped: Mapping[str, int | None]) -> Iterator[LabelledFile]:
        """Yield a file's images with their mapped labels, except those mapped to None."""
        row, columns = 0, [self.image_column, self.label_column]
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
                images, labels = (batch.column(column) for column in columns)
                if pa.types.is_struct(images.type):
                    images = images.field("bytes")
                for image, label in zip(images, labels.to_pylist(), strict=True):
                    if str(label) not in mapped:
                        problem = f"row {row} (from 0): {label} is not one of {len(mapped)} classes"
                        raise InputError(problem, file=path, field=self.label_column)
                    if (to := mapped[str(label)]) is not None:
                        # Rows without bytes (Hugging Face has files with paths instead) are
                        # unreadable.
                        yield LabelledFile(f"{path.stem}/{row:06d}", to, image.as_py() or b"")
                    row += 1


def _metadata_classes(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Return a column's class names in the metadata that Hugging Face's library writes, if any."""
    text = (schema.metadata or {}).get(b"huggingface")
    features = json.loads(text).get("info", {}).get("features", {}) if text else {}
    names = features.get(column, {}).get("names")
    return None if names is None else tuple(map(str, names))


def _count_labels(paths: Sequence[Path], column: str) -> Counter[str]:
    """Count the rows of each label in Parquet files, sorted by label; skip missing labels."""
    counts = Counter(
        label for path in paths for label in pq.read_table(path, columns=[column])[0].to_pylist()
    )
    return Counter({str(label): counts[label] for label in sorted(counts.keys() - {None})})
