"""Export of a set: its kept images at one size, as a dataset's folder."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.decoding import Resize
from matcheval.datasets.folders import (
    IMAGES,
    map_array,
    remove_description,
    write_array,
    write_description,
)
from matcheval.errors import InputError
from matcheval.io.files import atomic_file
from matcheval.warehouse import WAREHOUSE_VERSION
from matcheval.warehouse.boxes import Box, blur
from matcheval.warehouse.decoding import RefusedImageError, decode_collected, read_bounded
from matcheval.warehouse.hashes import pixel_digest
from matcheval.warehouse.manifest import KEPT
from matcheval.warehouse.parallel import Workers
from matcheval.warehouse.settings import DecodingSettings, ExportSettings, WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet

_Item = tuple[Path, str, str, tuple[Box, ...]]


def export_set(
    source: SourceSet,
    images: pa.Table,
    boxes: Mapping[str, Sequence[Box]],
    settings: WarehouseSettings,
    side: int,
    folder: Path,
    workers: Workers,
    png: Path | None = None,
) -> None:
    """Write the kept images of a set as a prepared dataset (`datasets.folders`)."""
    kept = images.filter(pc.equal(images["status"], KEPT)).to_pylist()
    if not kept:
        raise InputError(
            "no image is kept", file=source.name,
            remedy="See the reasons in images.parquet, or take its folder away",
        )  # fmt: skip
    items: list[_Item] = [
        (source.file_at(row["path"]), row["image_id"], row["sha256"],
         tuple(boxes.get(row["image_id"], ())))
        for row in kept
    ]  # fmt: skip
    remove_description(folder)
    make = partial(_make, settings.decoding, settings.export, side)
    with atomic_file(folder / IMAGES) as partial_file:
        write_array(partial_file, (len(kept), side, side, 3), workers.map(make, items))
    labels = np.array([settings.class_names.index(row["class"]) for row in kept], np.int16)
    dataset = make_dataset(
        source.name, map_array(folder / IMAGES), labels,
        classes=settings.class_names, max_value=255, source=f"warehouse {settings.warehouse}",
        names=[row["image_id"] for row in kept],
        provenance={
            "kind": "warehouse_set", "version": WAREHOUSE_VERSION,
            "options": {"side": side, "fit": settings.export.fit},
        },
    )  # fmt: skip
    with atomic_file(folder / "labels.npy") as partial_file, partial_file.open("wb") as stream:
        np.save(stream, dataset.labels)
    write_description(dataset, folder)
    if png is not None:
        _write_png(np.asarray(dataset.images), kept, png)


def _make(decoding: DecodingSettings, export: ExportSettings, side: int, item: _Item) -> bytes:
    """Decode, blur and resize an image; its pixels in C order."""
    file, name, digest, boxes = item
    try:
        image = decode_collected(read_bounded(file, decoding), file.suffix, decoding).image
    except RefusedImageError as error:
        raise InputError(f"{error}, and was read before", file=file) from error
    if pixel_digest(image) != digest:
        raise InputError(
            f"is another image than '{name}', which was read before", file=file,
            remedy="Build the warehouse again",
        )  # fmt: skip
    return fit_square(blur(image, boxes), side, export.fit).tobytes()


def fit_square(image: Image.Image, side: int, fit: str) -> Image.Image:
    """Bring an image to a square: bicubic, antialiased."""
    if fit == "crop":
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        image = image.crop((left, top, left + short, top + short))
    return Resize(side).apply(image)


def _write_png(pixels: Any, rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write PNG files; those of images that are no longer kept are removed."""
    wanted = set()
    for image, row in zip(pixels, rows, strict=True):
        file = folder / row["class"] / f"{row['image_id'].rpartition('/')[2]}.png"
        wanted.add(file)
        with atomic_file(file) as partial_file:
            Image.fromarray(image).save(partial_file, "PNG")
    for old in folder.glob("*/*.png"):
        if old not in wanted:
            old.unlink()
