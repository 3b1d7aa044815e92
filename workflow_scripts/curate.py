"""Build a warehouse step by step: from the user's images to reviewed, documented sets."""

from pathlib import Path

from matcheval.warehouse.build import Build
from matcheval.warehouse.settings import read_warehouse


def read(warehouse: Path, folder: Path, name: str, threads: int = 1) -> None:
    """Decode the images of a set, and write their hashes, sizes, colours or problems."""
    Build(read_warehouse(warehouse), folder).read(name, threads)


def hash_reference(
    warehouse: Path, folder: Path, name: str, downloads: Path, threads: int = 1
) -> None:
    """Hash the images of a base or training set that a warehouse is compared with."""
    Build(read_warehouse(warehouse), folder).hash(name, downloads, threads)


def search(warehouse: Path, folder: Path) -> None:
    """Find duplicates among all images of a warehouse, and write them as a table."""
    Build(read_warehouse(warehouse), folder).search()


def decide(warehouse: Path, folder: Path, name: str) -> None:
    """Decide which images of a set are kept, and write the decisions as a table."""
    Build(read_warehouse(warehouse), folder).decide([name])


def export(
    warehouse: Path, folder: Path, name: str, side: int, output: Path, threads: int = 1
) -> None:
    """Write the kept images of a set, resized to `side`, as a dataset."""
    Build(read_warehouse(warehouse), folder).export(name, side, output, threads)


def document(warehouse: Path, folder: Path) -> None:
    """Write the tables, figures and pages that describe a warehouse."""
    Build(read_warehouse(warehouse), folder).document()
