"""Rule find_neighbours: the images of one set most like those of another."""

import logging

from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.analyses.near_duplicates.search import find_neighbours
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table


def main(*, queries: str, references: str, k: int, size: int | None, output: str) -> None:
    """Search the set in folder `references` for neighbours of those in `queries`."""
    sets = [labelled_pixels(read_dataset(folder), size) for folder in (queries, references)]
    table = find_neighbours(*sets, min(k, len(sets[1].labels) - 1))
    write_table(table, output)
    logging.info("%d images, the nearest of %d each", len(sets[0].labels), len(sets[1].labels))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        queries=snakemake.params.queries,
        references=snakemake.params.references,
        k=snakemake.params.k,
        size=snakemake.params.size,
        output=snakemake.output[0],
    )
