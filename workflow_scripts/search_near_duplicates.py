"""Rule search_near_duplicates: find the most similar images of another set for every image."""

import logging
from pathlib import Path

from matcheval.analyses.near_duplicates.search import find_near_duplicates, labelled_pixels
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table


def main(*, queries: Path, references: Path, k: int, size: int | None, nearest: Path) -> None:
    """Search one set for near duplicates of the images of another."""
    sets = [labelled_pixels(read_dataset(folder), size) for folder in (queries, references)]
    table = find_near_duplicates(*sets, min(k, len(sets[1].labels) - 1))
    write_table(table, nearest)
    logging.info("%d images, the nearest of %d each", len(sets[0].labels), len(sets[1].labels))


if __name__ == "__main__":
    run_script(main, snakemake)
