"""Rule tabulate_replication: accuracies, intervals, gaps and ranks of the models on one pair."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.suites import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import ACCURACIES, dataset_correctness
from matcheval.replication.tables import RESULTS, results_columns, tabulate_replication


def main(
    *,
    original: Path,
    replication: Path,
    pair: Pair,
    top: int,
    confidence: float,
    models: Sequence[str],
    sets: Sequence[DatasetSpec],
    files: Sequence[Sequence[str]],
    outputs: Sequence[Path],
) -> None:
    """Write the table of replication results of one pair."""
    images = [
        dataset_correctness(spec, models, of_set) for spec, of_set in zip(sets, files, strict=True)
    ]
    results = tabulate_replication(
        ACCURACIES.read(original), ACCURACIES.read(replication), pair, top, confidence, images
    )
    write_readable(results, RESULTS, results_columns, outputs)
    logging.info("%d models", len(results))


if __name__ == "__main__":
    run_script(main, snakemake)
