"""Rule match_predictions: run the protocol for a batch of models on one pair by one criterion."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.pairs import Pair
from matcheval.errors import ErrorCollector
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.files import read_predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.runs import comparison_runs
from matcheval.protocol.schemas import join_runs


def main(
    *,
    models: Sequence[str],
    pair: Pair,
    original: Sequence[Path],
    replication: Sequence[Path],
    criterion: Criterion,
    epsilon: float,
    seeds: Sequence[int],
    runs: Path,
) -> None:
    """Write the runs of all models, a table of schema `schemas.COMPARISON_RUNS`."""
    tables, problems = [], ErrorCollector()
    for model, *files in zip(models, original, replication, strict=True):
        with problems.collected():
            comparison = Comparison(model, pair, *map(read_predictions, files))
            tables.append(comparison_runs(comparison, criterion, epsilon, seeds))
    problems.raise_any()
    write_table(join_runs(tables), runs)
    logging.info("%d models, %d seeds each, epsilon %g", len(models), len(seeds), epsilon)


if __name__ == "__main__":
    run_script(main, snakemake)
