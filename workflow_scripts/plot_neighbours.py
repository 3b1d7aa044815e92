"""Rule plot_neighbours: a contact sheet of near duplicates, for a person to review."""

from collections.abc import Sequence

from matcheval.analyses.near_duplicates.figures import plot_neighbours
from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.analyses.near_duplicates.schemas import NEIGHBOURS
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures


def main(
    *,
    table: str,
    queries: str,
    references: str,
    size: int | None,
    rows: int,
    outputs: Sequence[str],
) -> None:
    """Draw the images most alike to every output, by its suffix."""
    sets = [labelled_pixels(read_dataset(folder), size) for folder in (queries, references)]
    figure = plot_neighbours(NEIGHBOURS.read(table).to_pandas(), *sets, rows)
    save_figures(figure, outputs)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        table=snakemake.input.table,
        queries=snakemake.params.queries,
        references=snakemake.params.references,
        size=snakemake.params.size,
        rows=snakemake.params.rows,
        outputs=list(snakemake.output),
    )
