"""The user's image sets: class folders, arrays and Parquet files."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.datasets.array_files import npz_array, read_npy
from matcheval.datasets.custom_kinds import Arrays, ImageFolder, Parquet
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.label_spaces import (
    check_classes,
    map_labels,
    resolve_classes,
)
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources
from matcheval.errors import InputError

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
