"""Build a warehouse step by step: from the user's images to reviewed, documented sets."""

from pathlib import Path

from matcheval.warehouse.build import Build
from matcheval.warehouse.settings import read_warehouse


def read(warehouse: Path, folder: Path, name: str, threads: int = 1) -> None:
    """Read the images of a set."""
    Build(read_warehouse(warehouse), folder).read(name, threads)


def hash_reference(
    warehouse: Path, folder: Path, name: str, downloads: Path, threads: int = 1
) -> None:
    """Hash the images of a set that the warehouse is compared with."""
    Build(read_warehouse(warehouse), folder).hash(name, downloads, threads)


def search(warehouse: Path, folder: Path) -> None:
    """Search all images for duplicates."""
    Build(read_warehouse(warehouse), folder).search()


def decide(warehouse: Path, folder: Path, name: str) -> None:
    """Decide what becomes of the images of a set."""
    Build(read_warehouse(warehouse), folder).decide([name])


def export(
    warehouse: Path, folder: Path, name: str, side: int, output: Path, threads: int = 1
) -> None:
    """Export the kept images of a set as a dataset."""
    Build(read_warehouse(warehouse), folder).export(name, side, output, threads)


def document(warehouse: Path, folder: Path) -> None:
    """Write tables, figures and pages."""
    Build(read_warehouse(warehouse), folder).document()
