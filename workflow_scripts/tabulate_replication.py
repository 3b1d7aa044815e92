"""Rule tabulate_replication: accuracies, intervals, gaps and ranks of one pair's models."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from matcheval.datasets.pairs import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.schemas import ACCURACIES
from matcheval.replication.columns import results_columns
from matcheval.replication.results import tabulate_replication
from matcheval.replication.schemas import RESULTS


def main(
    *,
    original: str,
    replication: str,
    pair: Mapping[str, Any],
    top: int,
    confidence: float,
    outputs: Sequence[str],
) -> None:
    """Write the table of `replication.schemas.RESULTS` to every output, by its suffix."""
    sets = ACCURACIES.read(original), ACCURACIES.read(replication)
    results = tabulate_replication(*sets, Pair(**pair), top, confidence)
    write_readable(results, RESULTS, results_columns, outputs)
    logging.info("%d models", len(results))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        original=snakemake.input.original[0],
        replication=snakemake.input.replication[0],
        pair=snakemake.params.pair,
        top=int(snakemake.wildcards.top),
        confidence=snakemake.params.confidence,
        outputs=list(snakemake.output),
    )
