"""Rule tabulate_revisions: accuracies over the revisions of a set."""

import logging
from collections.abc import Sequence

from matcheval.analyses.revisions.tables import REVISIONS, revisions_columns, tabulate_revisions
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.schemas import ACCURACIES


def main(
    *,
    name: str,
    datasets: Sequence[str],
    files: Sequence[str],
    without: Sequence[str],
    confidence: float,
    outputs: Sequence[str],
) -> None:
    """Write the table to every output, by its suffix; `files` are the accuracies on `datasets`."""
    tables = {dataset: ACCURACIES.read(f) for dataset, f in zip(datasets, files, strict=True)}
    table = tabulate_revisions(tables, name, confidence, without)
    write_readable(table, REVISIONS, revisions_columns, outputs)
    logging.info("%d revisions", len(datasets))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        name=snakemake.wildcards.revisions,
        datasets=snakemake.params.datasets,
        files=list(snakemake.input),
        without=snakemake.params.without,
        confidence=snakemake.params.confidence,
        outputs=list(snakemake.output),
    )
