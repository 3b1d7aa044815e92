"""Building a warehouse: its steps one by one, and all of them; what is done stays done."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from matcheval.datasets import folders
from matcheval.datasets.dataset import make_dataset
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.files import atomic_file, disk_errors
from matcheval.io.tables import write_table
from matcheval.warehouse import WAREHOUSE_VERSION, manifest
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA, REFERENCE_SCHEMA, find_duplicates
from matcheval.warehouse.images import blur, decode_again, fit_square, pixel_digest
from matcheval.warehouse.manifest import IMAGES_SCHEMA, READ_SCHEMA, Box, Warehouse
from matcheval.warehouse.reading import Workers, read_reference, read_set
from matcheval.warehouse.sets import digest_of, reading_state, reference_state
from matcheval.warehouse.settings import WarehouseSettings

LOGGER = logging.getLogger(__name__)


class Build(Warehouse):
    """A warehouse in a folder: each step reads the files of earlier ones, and writes its own."""

    def __init__(self, settings: WarehouseSettings, folder: Path) -> None:
        super().__init__(settings)
        self.folder = folder
        self.exported: list[str] = []

    def _table(self, *parts: str) -> Path:
        """The file of a table of the build."""
        return self.folder.joinpath(*parts[:-1], f"{parts[-1]}.parquet")

    def read(self, name: str, workers: Workers) -> None:
        """Read the images of a set."""
        table = read_set(self.sets[name], self.settings.decoding, workers)
        write_table(table, self._table("read", name))

    def hash(self, name: str, downloads: Path, workers: Workers) -> None:
        """Hash the images of a base or training set."""
        table = read_reference(name, self.settings.against[name], downloads, workers)
        write_table(table, self._table("references", name))

    def search(self) -> None:
        """Search for duplicates among all images that were read."""
        read = {name: READ_SCHEMA.read(self._table("read", name)) for name in self.sets}
        references = {
            name: REFERENCE_SCHEMA.read(self._table("references", name))
            for name in self.settings.against
        }
        found = find_duplicates(read, references, self.settings.duplicates.distance)
        write_table(found, self._table("duplicates"))

    def decide(self, names: Sequence[str]) -> dict[str, pa.Table]:
        """Decide what becomes of the images of sets, and write that if there is no error."""
        duplicates = DUPLICATES_SCHEMA.read(self._table("duplicates"))
        problems, decided = ErrorCollector(), {}
        for name in names:
            with problems.collected():
                mine = duplicates.filter(pc.equal(duplicates["set"], name))
                read = READ_SCHEMA.read(self._table("read", name))
                decided[name] = manifest.decide_set(self, name, read, mine)
        problems.raise_any()
        for name, table in decided.items():
            write_table(table, self._table("sets", name, "images"))
        return decided

    def export(
        self, name: str, side: int, folder: Path, workers: Workers, png: Path | None = None
    ) -> None:
        """Write the kept images of a set as a prepared dataset (`datasets.folders`)."""
        settings, boxes = self.settings, self.reviews[name].boxes
        images = IMAGES_SCHEMA.read(self._table("sets", name, "images"))
        kept = images.filter(pc.equal(images["status"], manifest.KEPT)).to_pylist()
        if not kept:
            raise InputError(
                "no image is kept", file=name,
                remedy="See the reasons in images.parquet, or take its folder away",
            )  # fmt: skip
        items = [
            (self.sets[name].file_at(row["path"]), row, boxes.get(row["image_id"], ()))
            for row in kept
        ]
        folders.remove_description(folder)
        pixels = workers.map(partial(_exported, settings, side), items)
        with atomic_file(folder / folders.IMAGES) as partial_file:
            folders.write_array(partial_file, (len(kept), side, side, 3), pixels)
        labels = np.array([settings.class_names.index(row["class"]) for row in kept], np.int16)
        dataset = make_dataset(
            name, folders.map_array(folder / folders.IMAGES), labels,
            classes=settings.class_names, max_value=255, source=f"warehouse {settings.warehouse}",
            names=[row["image_id"] for row in kept],
            provenance={
                "kind": "warehouse_set", "version": WAREHOUSE_VERSION,
                "options": {"side": side, "fit": settings.export.fit},
            },
        )  # fmt: skip
        with atomic_file(folder / "labels.npy") as partial_file, partial_file.open("wb") as stream:
            np.save(stream, dataset.labels)
        folders.write_description(dataset, folder)
        if png is not None:
            _write_png(np.asarray(dataset.images), kept, png)

    def document(self) -> None:
        """Write the tables, figures and pages."""
        from matcheval.warehouse.documents import document_warehouse  # loads Matplotlib

        document_warehouse(self, self.folder)

    def run(self, n_workers: int, downloads: Path) -> None:
        """Build what is missing or out of date, and note the sets that are exported."""
        against = self.settings.against
        assert self.reviews is not None  # so that errors in them are told first
        with Workers(n_workers) as workers:
            for number, (name, source) in enumerate(self.sets.items(), 1):
                state = reading_state(source, self.settings)
                if unless_done(self._table("read", name), state, partial(self.read, name, workers)):
                    LOGGER.info("%s: read (%d of %d sets)", name, number, len(self.sets))
            for name in against:
                state = reference_state(name, self.settings)
                make = partial(self.hash, name, downloads, workers)
                if unless_done(self._table("references", name), state, make):
                    LOGGER.info("%s: hashed", name)
            parts = [("read", name) for name in self.sets]
            parts += [("references", name) for name in against]
            states = [_record_of(self._table(*part)).read_text() for part in parts]
            state = digest_of(states, self.settings.duplicates.distance)
            unless_done(self._table("duplicates"), state, self.search)
            self._export_all(self.decide(list(self.sets)), workers)
        self.document()

    def _export_all(self, manifests: Mapping[str, pa.Table], workers: Workers) -> None:
        """Export the sets that are not; before the first, see that the disk has room for all."""
        export = self.settings.export
        pixels = 3 * sum(side**2 for side in export.sides)
        states, needed = {}, 0
        for name, images in manifests.items():
            kept = images.filter(pc.equal(images["status"], manifest.KEPT))
            states[name] = digest_of(
                kept.select(["image_id", "path", "sha256", "class"]).to_pylist(),
                self.reviews[name].state[1], export.model_dump(mode="json"),
                list(self.settings.class_names), self.settings.warehouse,
            )  # fmt: skip
            if not _is_done(self._last_file(name), states[name]):
                needed += pixels * len(kept)
        with disk_errors(self.folder / "sets", needed):
            pass
        for number, (name, state) in enumerate(states.items(), 1):
            if unless_done(self._last_file(name), state, partial(self._export_set, name, workers)):
                self.exported.append(name)
                LOGGER.info("%s: exported (%d of %d sets)", name, number, len(states))

    def _last_file(self, name: str) -> Path:
        """The file of a set that is written last."""
        side = self.settings.export.sides[-1]
        return self.folder / "sets" / name / str(side) / "dataset.json"

    def _export_set(self, name: str, workers: Workers) -> None:
        folder = self.folder / "sets" / name
        for side in self.settings.export.sides:
            png = folder / "png" / str(side) if self.settings.export.png else None
            self.export(name, side, folder / str(side), workers, png)


def _exported(
    settings: WarehouseSettings, side: int, item: tuple[Path, Mapping[str, Any], Sequence[Box]]
) -> bytes:
    """Decode, blur and resize an image; its pixels in C order."""
    file, row, boxes = item
    image = decode_again(file, settings.decoding)
    if pixel_digest(image) != row["sha256"]:
        problem = f"is another image than '{row['image_id']}', which was read before"
        raise InputError(problem, file=file, remedy="Build the warehouse again")
    return fit_square(blur(image, boxes), side, settings.export.fit).tobytes()


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


def _record_of(file: Path) -> Path:
    """The file that says what another one was made from."""
    return file.with_name(f".{file.name}.state")


def _is_done(file: Path, state: str) -> bool:
    record = _record_of(file)
    return file.exists() and record.exists() and record.read_text(encoding="utf-8") == state


def unless_done(file: Path, state: str, make: Callable[[], None]) -> bool:
    """Make a file, unless it was made from the same before; return whether it was made now."""
    if _is_done(file, state):
        return False
    _record_of(file).unlink(missing_ok=True)
    make()
    with atomic_file(_record_of(file)) as partial_file:
        partial_file.write_text(state, encoding="utf-8")
    return True
