"""Build a warehouse, whole or step by step; steps that are up to date are not repeated."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matcheval.datasets import folders
from matcheval.datasets.dataset import make_dataset
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.files import atomic_file
from matcheval.io.provenance import is_made_from, record_origin
from matcheval.io.self_digests import digest_of
from matcheval.io.tables import write_table
from matcheval.warehouse import WAREHOUSE_VERSION, images, manifest
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA, REFERENCE_SCHEMA, find_duplicates
from matcheval.warehouse.manifest import IMAGES_SCHEMA, READ_SCHEMA, Box, Warehouse
from matcheval.warehouse.sets import reading_state, reference_state
from matcheval.warehouse.settings import WarehouseSettings

LOGGER = logging.getLogger(__name__)


class Build(Warehouse):
    """A warehouse in a folder, where each step reads the files that earlier steps wrote."""

    def __init__(self, settings: WarehouseSettings, folder: Path) -> None:
        super().__init__(settings)
        self.folder = folder
        self.exported: list[str] = []

    def _table_path(self, *parts: str) -> Path:
        """Return the path of a Parquet table in the warehouse's folder."""
        return self.folder.joinpath(*parts[:-1], f"{parts[-1]}.parquet")

    def read(self, name: str, n_workers: int) -> None:
        """Decode the images of a set, and write their hashes, sizes, colours or problems."""
        table = images.read_set(self.sets[name], self.settings.decoding, n_workers)
        write_table(table, self._table_path("read", name))

    def hash(self, name: str, downloads: Path, n_workers: int) -> None:
        """Hash the images of a base or training set, and write the hashes as a table."""
        table = images.read_reference(name, self.settings.against[name], downloads, n_workers)
        write_table(table, self._table_path("references", name))

    def search(self) -> None:
        """Find duplicates among the sets, and in base and training sets; write them as a table."""
        read = {name: READ_SCHEMA.read(self._table_path("read", name)) for name in self.sets}
        references = {
            name: REFERENCE_SCHEMA.read(self._table_path("references", name))
            for name in self.settings.against
        }
        duplicates = find_duplicates(read, references, self.settings.duplicates.distance)
        write_table(duplicates, self._table_path("duplicates"))

    def decide(self, names: Sequence[str]) -> dict[str, pa.Table]:
        """Decide which images are kept; write and return a table per set, or raise all errors."""
        duplicates = DUPLICATES_SCHEMA.read(self._table_path("duplicates"))
        problems, decided = ErrorCollector(), {}
        for name in names:
            with problems.collected():
                set_duplicates = duplicates.filter(pc.equal(duplicates["set"], name))
                read = READ_SCHEMA.read(self._table_path("read", name))
                decided[name] = manifest.decide_set(self, name, read, set_duplicates)
        problems.raise_any()
        for name, table in decided.items():
            write_table(table, self._table_path("sets", name, "images"))
        return decided

    def export(self, name: str, side: int, folder: Path, n_workers: int) -> None:
        """Write a set's kept images, resized to `side`, as a prepared dataset."""
        settings, boxes = self.settings, self.reviews[name].boxes
        decided = IMAGES_SCHEMA.read(self._table_path("sets", name, "images"))
        kept = decided.filter(pc.equal(decided["status"], manifest.KEPT)).to_pylist()
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
        pixels = images.parallel_map(partial(_export_pixels, settings, side), items, n_workers)
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

    def document(self) -> None:
        """Write the tables, figures and pages that describe the warehouse."""
        from matcheval.warehouse.documents import document_warehouse  # loads Matplotlib

        document_warehouse(self, self.folder)

    def run(self, n_workers: int, downloads: Path) -> None:
        """Run the steps whose results are out of date; `exported` names the sets exported now."""
        settings, exports = self.settings, self.settings.export
        assert self.reviews is not None  # so that errors in them are reported first
        states = []
        for name, source in self.sets.items():
            states.append(reading_state(source, settings))
            read = partial(self.read, name, n_workers)
            make_if_stale([self._table_path("read", name)], states[-1], read, f"{name}: read")
        for name in settings.against:
            states.append(reference_state(name, settings))
            make, file = partial(self.hash, name, downloads, n_workers), ("references", name)
            make_if_stale([self._table_path(*file)], states[-1], make, f"{name}: hashed")
        state = digest_of([WAREHOUSE_VERSION, states, settings.duplicates.distance])
        make_if_stale([self._table_path("duplicates")], state, self.search, "duplicates: searched")
        for name, decided in self.decide(list(self.sets)).items():
            kept = decided.filter(pc.equal(decided["status"], manifest.KEPT))
            state = digest_of([
                WAREHOUSE_VERSION, kept.select(["image_id", "path", "sha256", "class"]).to_pylist(),
                self.reviews[name].state[1], exports.model_dump(mode="json"),
                list(settings.class_names), settings.warehouse,
            ])  # fmt: skip
            by_side = {side: self.folder / "sets" / name / str(side) for side in exports.sides}
            files = [folder / folders.DESCRIPTION for folder in by_side.values()]
            export = partial(self._export_sides, name, by_side, n_workers)
            if make_if_stale(files, state, export, f"{name}: exported"):
                self.exported.append(name)
        self.document()

    def _export_sides(self, name: str, by_side: Mapping[int, Path], n_workers: int) -> None:
        for side, folder in by_side.items():
            self.export(name, side, folder, n_workers)


def _export_pixels(
    settings: WarehouseSettings, side: int, item: tuple[Path, Mapping[str, Any], Sequence[Box]]
) -> bytes:
    """Return an image's pixels for export, blurred and resized; its file must be unchanged."""
    file, row, boxes = item
    image = images.decode_again(file, settings.decoding)
    if images.pixel_digest(image) != row["sha256"]:
        problem = f"is another image than '{row['image_id']}', which was read before"
        raise InputError(problem, file=file, remedy="Build the warehouse again")
    return images.fit_square(images.blur(image, boxes), side, settings.export.fit).tobytes()


def make_if_stale(
    files: Sequence[Path], state: str, make: Callable[[], None], message: str
) -> bool:
    """Make files that do not come from this state; return whether they were made now."""
    if is_made_from(files, state):
        return False
    make()
    record_origin(files, state)
    LOGGER.info(message)
    return True
