"""Base and training sets that a warehouse is compared with: the hashes of their images."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from matcheval.datasets.dataset import EncodedImages
from matcheval.datasets.decoding import UnreadableImageError, array_image, decode_rgb
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.datasets.sources import ImageStream, Sources
from matcheval.errors import InputError
from matcheval.io.tables import Column, TableSchema
from matcheval.warehouse.hashes import perceptual_hash, pixel_digest
from matcheval.warehouse.parallel import Workers
from matcheval.warehouse.settings import reference_settings

REFERENCE_SCHEMA = TableSchema(
    "hashes of a set",
    (
        Column("name", pa.string(), "", "name of the image in its source"),
        Column("class", pa.string(), "", "its class"),
        Column("sha256", pa.string(), "", "of pixels and shape"),
        Column("phash", pa.uint64(), "", "perceptual hash"),
    ),
)


def read_reference(
    name: str, block: Mapping[str, Any], downloads: Path, workers: Workers
) -> pa.Table:
    """Hash the images of a set."""
    settings = reference_settings(name, block)
    options = settings.options
    with ExitStack() as stack:
        sources = Sources(downloads, stack, downloads.parent / "datasets", read_dataset)
        built = build_dataset(name, settings.kind, options, sources)
        start, stop = options.get("rows", (0, None))
        names: list[str] = []
        labels: list[int] = []

        def images() -> Iterator[Any]:
            for position, (image, title, label) in enumerate(_images(built)):
                if stop is not None and position >= stop:
                    return
                if position >= start:
                    names.append(title)
                    labels.append(label)
                    yield image

        hashes = list(workers.map(_hash_image, images()))
    found = [one for one in hashes if one is not None]
    if len(found) < len(hashes):
        raise InputError(
            f"{len(hashes) - len(found)} images cannot be decoded, the first is "
            f"{names[hashes.index(None)]}", file=name,
        )  # fmt: skip
    columns = {
        "name": names, "class": [built.classes[label] for label in labels],
        "sha256": [digest for digest, _ in found], "phash": [code for _, code in found],
    }  # fmt: skip
    return REFERENCE_SCHEMA.table(columns)


def _images(built: Any) -> Iterator[tuple[Any, str, int]]:
    """Images as files or as pixels with their range, with names and labels."""
    if isinstance(built, ImageStream):
        for file in built.files:
            yield file.encoded, file.name, file.label
        return
    for position, (title, label) in enumerate(zip(built.names, built.labels, strict=True)):
        if isinstance(built.images, EncodedImages):
            yield bytes(built.images.encoded(position)), title, int(label)
        else:
            yield (built.images[position], built.max_value), title, int(label)


def _hash_image(image: Any) -> tuple[str, int] | None:
    try:
        shown = decode_rgb(image) if isinstance(image, bytes) else array_image(*image)
    except UnreadableImageError:
        return None
    return pixel_digest(shown), perceptual_hash(shown)
