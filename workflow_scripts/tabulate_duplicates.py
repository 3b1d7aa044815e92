"""Rule tabulate_duplicates: accuracies with and without reviewed near duplicates."""

import logging
from collections.abc import Sequence

from matcheval.dataset_specs import DatasetSpec
from matcheval.doors import run_script
from matcheval.followups.tables import duplicates_columns
from matcheval.neighbours.accounting import duplicate_accuracies
from matcheval.neighbours.reviewed import read_reviewed
from matcheval.neighbours.schemas import DUPLICATE_ACCURACIES
from matcheval.replication.correctness import dataset_correctness
from matcheval.replication.rendering import write_readable


def main(
    *,
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str],
    reviewed: str,
    confidence: float,
    outputs: Sequence[str],
) -> None:
    """Write the table to every output, by its suffix."""
    known = dataset_correctness(spec, models, predictions)
    rows = known.rows_of(read_reviewed(reviewed), file=reviewed)
    right = dict(zip(known.models, known.right, strict=True))
    table = duplicate_accuracies(right, rows.tolist(), spec.name, confidence)
    write_readable(table, DUPLICATE_ACCURACIES, duplicates_columns, outputs)
    logging.info("%d near duplicates among %d images", len(rows), len(known))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        spec=DatasetSpec(**snakemake.params.dataset),
        models=snakemake.params.models,
        predictions=snakemake.params.predictions,
        reviewed=snakemake.input.reviewed,
        confidence=snakemake.params.confidence,
        outputs=list(snakemake.output),
    )
