"""Rule tabulate_revisions: accuracies over the revisions of a set."""

import logging
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from matcheval.doors import run_script
from matcheval.followups.revisions import tabulate_revisions
from matcheval.followups.schemas import REVISIONS
from matcheval.followups.tables import revisions_columns
from matcheval.replication.rendering import write_readable
from matcheval.replication.schemas import ACCURACIES


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
    kept = {
        dataset: table.filter(pc.invert(pc.is_in(table["model"], pa.array(without, pa.string()))))
        for dataset, table in tables.items()
    }
    table = tabulate_revisions(kept, name, confidence)
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
