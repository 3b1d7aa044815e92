"""The steps of a build as jobs: each reads the warehouse's file, and the files of earlier steps."""

from pathlib import Path

import pyarrow.compute as pc

from matcheval.io.tables import write_table
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA, find_duplicates
from matcheval.warehouse.export import export_set
from matcheval.warehouse.inputs import find_sets
from matcheval.warehouse.manifest import IMAGES_SCHEMA, decide_set
from matcheval.warehouse.parallel import start_workers
from matcheval.warehouse.reading import READ_SCHEMA, read_set
from matcheval.warehouse.references import REFERENCE_SCHEMA, read_reference
from matcheval.warehouse.review import read_reviews
from matcheval.warehouse.settings import read_warehouse


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
