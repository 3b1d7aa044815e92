"""A whole build: reading, duplicates, decisions, export, documents; what is done stays done."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from matcheval.datasets.array_files import write_array
from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import IMAGES, map_array, remove_description, write_description
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.files import atomic_file, disk_errors
from matcheval.io.tables import write_table
from matcheval.warehouse import WAREHOUSE_VERSION
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA, find_duplicates
from matcheval.warehouse.images import (
    RefusedImageError,
    blur,
    decode_collected,
    fit_square,
    pixel_digest,
    read_bounded,
)
from matcheval.warehouse.manifest import IMAGES_SCHEMA, KEPT, Box, decide_set, read_reviews
from matcheval.warehouse.reading import (
    READ_SCHEMA,
    REFERENCE_SCHEMA,
    Workers,
    read_reference,
    read_set,
    start_workers,
)
from matcheval.warehouse.sets import SourceSet, digest_of, find_sets, reading_state, reference_state
from matcheval.warehouse.settings import (
    DecodingSettings,
    ExportSettings,
    WarehouseSettings,
    read_warehouse,
)

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


def read_job(warehouse: Path, name: str, folder: Path, threads: int) -> None:
    """Read the images of a set."""
    settings = read_warehouse(warehouse)
    source = find_sets(settings)[name]
    with start_workers(threads) as workers:
        table = read_set(source, settings.decoding, workers)
    write_table(table, folder / "read" / f"{name}.parquet")


def hash_job(warehouse: Path, name: str, folder: Path, downloads: Path, threads: int) -> None:
    """Hash the images of a base or training set."""
    block = read_warehouse(warehouse).against[name]
    with start_workers(threads) as workers:
        table = read_reference(name, block, downloads, workers)
    write_table(table, folder / "references" / f"{name}.parquet")


def search_job(warehouse: Path, folder: Path) -> None:
    """Search for duplicates among all images that were read."""
    settings = read_warehouse(warehouse)
    read = {
        name: READ_SCHEMA.read(folder / "read" / f"{name}.parquet") for name in find_sets(settings)
    }
    references = {
        name: REFERENCE_SCHEMA.read(folder / "references" / f"{name}.parquet")
        for name in settings.against
    }
    write_table(
        find_duplicates(read, references, settings.duplicates), folder / "duplicates.parquet"
    )


def decide_job(warehouse: Path, name: str, folder: Path) -> None:
    """Decide what becomes of the images of a set."""
    settings = read_warehouse(warehouse)
    sets = find_sets(settings)
    duplicates = DUPLICATES_SCHEMA.read(folder / "duplicates.parquet")
    table = decide_set(
        sets[name],
        READ_SCHEMA.read(folder / "read" / f"{name}.parquet"),
        duplicates.filter(pc.equal(duplicates["set"], name)),
        read_reviews(settings, sets).of(name),
        settings,
    )
    write_table(table, folder / "sets" / name / "images.parquet")


def export_job(
    warehouse: Path, name: str, side: int, folder: Path, output: Path, threads: int
) -> None:
    """Export the kept images of a set as a prepared dataset."""
    settings = read_warehouse(warehouse)
    sets = find_sets(settings)
    images = IMAGES_SCHEMA.read(folder / "sets" / name / "images.parquet")
    boxes = read_reviews(settings, sets).of(name).boxes
    with start_workers(threads) as workers:
        export_set(sets[name], images, boxes, settings, side, output, workers)


def document_job(warehouse: Path, folder: Path) -> None:
    """Write the tables, figures and pages of a warehouse."""
    from matcheval.warehouse.documents import document_warehouse  # loads pandas

    settings = read_warehouse(warehouse)
    sets = find_sets(settings)
    reviews = read_reviews(settings, sets)
    document_warehouse(settings, sets, reviews.decisions, reviews.boxes, folder)


LOGGER = logging.getLogger(__name__)


class Build:
    """Builds a warehouse in a folder."""

    def __init__(self, settings: WarehouseSettings, folder: Path, downloads: Path) -> None:
        self.settings, self.folder, self._downloads = settings, folder, downloads
        self.sets = find_sets(settings)
        self.reviews = read_reviews(settings, self.sets)
        self.exported: list[str] = []

    def run(self, n_workers: int) -> None:
        """Build what is missing or no longer true."""
        from matcheval.warehouse.documents import document_warehouse  # loads pandas

        with start_workers(n_workers) as workers:
            for number, source in enumerate(self.sets.values(), 1):
                if self._read(source, workers):
                    LOGGER.info("%s: read (%d of %d sets)", source.name, number, len(self.sets))
            for name in self.settings.against:
                if self._hash(name, workers):
                    LOGGER.info("%s: hashed", name)
            self._search()
            manifests = self._decide()
            self._check_space(manifests)
            for number, source in enumerate(self.sets.values(), 1):
                if self._export(source, manifests[source.name], workers):
                    self.exported.append(source.name)
                    LOGGER.info("%s: exported (%d of %d sets)", source.name, number, len(self.sets))
        document_warehouse(
            self.settings, self.sets, self.reviews.decisions, self.reviews.boxes, self.folder
        )

    def read_file(self, name: str) -> Path:
        """Return where the table of what was read of a set lies."""
        return self.folder / "read" / f"{name}.parquet"

    def _read(self, source: SourceSet, workers: Workers) -> bool:
        file = self.read_file(source.name)

        def make() -> None:
            write_table(read_set(source, self.settings.decoding, workers), file)

        return unless_done(file, reading_state(source, self.settings), make)

    def _reference_file(self, name: str) -> Path:
        return self.folder / "references" / f"{name}.parquet"

    def _hash(self, name: str, workers: Workers) -> bool:
        file, block = self._reference_file(name), self.settings.against[name]

        def make() -> None:
            write_table(read_reference(name, block, self._downloads, workers), file)

        return unless_done(file, reference_state(name, self.settings), make)

    def _search(self) -> None:
        files = [self.read_file(name) for name in self.sets]
        others = [self._reference_file(name) for name in self.settings.against]
        records = [file.with_name(f".{file.name}.state").read_text() for file in (*files, *others)]
        file = self.folder / "duplicates.parquet"

        def make() -> None:
            read = {name: READ_SCHEMA.read(self.read_file(name)) for name in self.sets}
            references = {
                name: REFERENCE_SCHEMA.read(self._reference_file(name))
                for name in self.settings.against
            }
            write_table(find_duplicates(read, references, self.settings.duplicates), file)

        unless_done(file, digest_of(records, self.settings.duplicates.distance), make)

    def _decide(self) -> dict[str, pa.Table]:
        """Decide on all images, before the first is exported; unchanged files are left alone."""
        duplicates = DUPLICATES_SCHEMA.read(self.folder / "duplicates.parquet")
        problems, found = ErrorCollector(), {}
        for name, source in self.sets.items():
            with problems.collected():
                mine = duplicates.filter(pc.equal(duplicates["set"], name))
                read = READ_SCHEMA.read(self.read_file(name))
                found[name] = decide_set(source, read, mine, self.reviews.of(name), self.settings)
        problems.raise_any()
        for name, table in found.items():
            write_table(table, self.folder / "sets" / name / "images.parquet")
        return found

    def _export_state(self, name: str, images: pa.Table) -> str:
        kept = images.filter(pc.equal(images["status"], KEPT))
        rows = kept.select(["image_id", "path", "sha256", "class"]).to_pylist()
        return digest_of(
            rows, self.reviews.state(name)[1], self.settings.export.model_dump(mode="json"),
            list(self.settings.class_names), self.settings.warehouse,
        )  # fmt: skip

    def _check_space(self, manifests: Mapping[str, pa.Table]) -> None:
        """Refuse to begin an export that the disk has no room for."""
        pixels = 3 * sum(side**2 for side in self.settings.export.sides)
        needed = 0
        for name, images in manifests.items():
            record = self._last_file(name)
            record = record.with_name(f".{record.name}.state")
            state = self._export_state(name, images)
            if not record.exists() or record.read_text(encoding="utf-8") != state:
                needed += pixels * pc.sum(pc.equal(images["status"], KEPT)).as_py()
        with disk_errors(self.folder / "sets", needed):
            pass

    def _last_file(self, name: str) -> Path:
        """The file of a set that is written last."""
        side = self.settings.export.sides[-1]
        return self.folder / "sets" / name / str(side) / "dataset.json"

    def _export(self, source: SourceSet, images: pa.Table, workers: Workers) -> bool:
        folder = self.folder / "sets" / source.name

        def make() -> None:
            for side in self.settings.export.sides:
                png = folder / "png" / str(side) if self.settings.export.png else None
                export_set(
                    source, images, self.reviews.of(source.name).boxes, self.settings, side,
                    folder / str(side), workers, png,
                )  # fmt: skip

        return unless_done(
            self._last_file(source.name), self._export_state(source.name, images), make
        )


def unless_done(file: Path, state: str, make: Callable[[], None]) -> bool:
    """Make a file, unless it was made from the same before."""
    record = file.with_name(f".{file.name}.state")
    if file.exists() and record.exists() and record.read_text(encoding="utf-8") == state:
        return False
    record.unlink(missing_ok=True)
    make()
    with atomic_file(record) as partial:
        partial.write_text(state, encoding="utf-8")
    return True
