"""Reading the images of a set: what each is, or why it is not taken; nothing is kept of pixels."""

import hashlib
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema
from matcheval.warehouse.colours import dominant_colour
from matcheval.warehouse.decoding import RefusedImageError, decode_collected, read_bounded
from matcheval.warehouse.hashes import perceptual_hash, pixel_digest
from matcheval.warehouse.parallel import Workers
from matcheval.warehouse.settings import DecodingSettings
from matcheval.warehouse.source_sets import ImageFile, SourceSet

READ_SCHEMA = TableSchema(
    "images as they were read",
    (
        Column("image_id", pa.string(), "", "set, and digest of pixels and place"),
        Column("place", pa.string(), "", "class and file name, within the set"),
        Column("class_given", pa.string(), "", "class that it was collected for"),
        Column("problem", pa.string(), "", "why it is not taken", nullable=True),
        Column("detail", pa.string(), "", "the decoder's words", nullable=True),
        Column("animated", pa.bool_(), "", "whether it is the first frame of several"),
        Column("misnamed", pa.bool_(), "", "whether the suffix is of another format"),
        Column("sha256", pa.string(), "", "of pixels and shape", nullable=True),
        Column("phash", pa.uint64(), "", "perceptual hash", nullable=True),
        Column("width", pa.int32(), "pixels", "after its orientation is applied", nullable=True),
        Column("height", pa.int32(), "pixels", "after its orientation is applied", nullable=True),
        Column("colour_measured", pa.string(), "", "most frequent colour", nullable=True),
        Column("query", pa.string(), "", "text that it was found by", nullable=True),
        Column("url", pa.string(), "", "its address", nullable=True),
        Column("licence", pa.string(), "", "as stated", nullable=True),
        Column("retrieved", pa.string(), "", "date", nullable=True),
        Column("generator", pa.string(), "", "what generated it", nullable=True),
        Column("seed", pa.string(), "", "of the generator", nullable=True),
    ),
)


def read_set(source: SourceSet, settings: DecodingSettings, workers: Workers) -> pa.Table:
    """Read all images of a set."""
    rows = list(workers.map(partial(read_image, source.name, settings), source.files()))
    return READ_SCHEMA.table({name: [row[name] for row in rows] for name in READ_SCHEMA.names})


def read_image(set_name: str, settings: DecodingSettings, image: ImageFile) -> dict[str, Any]:
    """Read one image."""
    row: dict[str, Any] = dict.fromkeys(READ_SCHEMA.names)
    row |= {"place": image.place, "class_given": image.class_name}
    row |= {"animated": False, "misnamed": False, **asdict(image.facts)}
    content = b""
    try:
        content = read_bounded(image.file, settings)
        decoded = decode_collected(content, image.file.suffix, settings)
    except RefusedImageError as error:
        row |= {"problem": error.problem, "detail": str(error)}
        row["image_id"] = image_id(set_name, image.place, hashlib.sha256(content).hexdigest())
        return row
    shown = decoded.image
    digest = pixel_digest(shown)
    row |= {
        "image_id": image_id(set_name, image.place, digest), "sha256": digest,
        "phash": perceptual_hash(shown), "width": shown.width, "height": shown.height,
        "colour_measured": dominant_colour(shown), "animated": decoded.animated,
        "misnamed": decoded.misnamed,
    }  # fmt: skip
    return row


def image_id(set_name: str, place: str, digest: str) -> str:
    """Return the name of an image, which does not depend on where its warehouse lies."""
    text = f"{digest} {Path(place).as_posix()}"
    return f"{set_name}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"
