"""Rule tabulate_replication: accuracies, intervals, gaps and ranks of one pair's models."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.pairs import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.schemas import ACCURACIES
from matcheval.replication.columns import results_columns
from matcheval.replication.results import tabulate_replication
from matcheval.replication.schemas import RESULTS


def main(
    *,
    original: Path,
    replication: Path,
    pair: Pair,
    top: int,
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of `replication.schemas.RESULTS` to every output, by its suffix."""
    sets = ACCURACIES.read(original), ACCURACIES.read(replication)
    results = tabulate_replication(*sets, pair, top, confidence)
    write_readable(results, RESULTS, results_columns, outputs)
    logging.info("%d models", len(results))


if __name__ == "__main__":
    run_script(main, snakemake)
