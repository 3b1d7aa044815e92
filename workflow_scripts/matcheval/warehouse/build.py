"""A whole build: reading, duplicates, decisions, export, documents; what is done stays done."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from matcheval.errors import ErrorCollector
from matcheval.io.files import atomic_file, disk_errors
from matcheval.io.tables import write_table
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA, find_duplicates
from matcheval.warehouse.export import export_set
from matcheval.warehouse.inputs import find_sets
from matcheval.warehouse.manifest import KEPT, decide_set
from matcheval.warehouse.parallel import Workers, start_workers
from matcheval.warehouse.reading import READ_SCHEMA, read_set
from matcheval.warehouse.references import REFERENCE_SCHEMA, read_reference
from matcheval.warehouse.review import read_reviews
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet
from matcheval.warehouse.states import digest_of, reading_state, reference_state

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
