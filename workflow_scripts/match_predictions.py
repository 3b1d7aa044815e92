"""Rule match_predictions: run the protocol for a batch of models on one pair by one criterion."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from matcheval.datasets.pairs import Pair
from matcheval.errors import Problems
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
    pair: Mapping[str, Any],
    original_files: Sequence[str],
    replication_files: Sequence[str],
    criterion: str,
    epsilon: float,
    seeds: Sequence[int],
    output: str,
) -> None:
    """Write the runs of all models, a table of schema `schemas.COMPARISON_RUNS`."""
    tables, problems = [], Problems()
    for model, original, replication in zip(models, original_files, replication_files, strict=True):
        with problems.gathered():
            sets = read_predictions(original), read_predictions(replication)
            comparison = Comparison(model, Pair(**pair), *sets)
            tables.append(comparison_runs(comparison, Criterion(criterion), epsilon, seeds))
    problems.raise_any()
    write_table(join_runs(tables), output)
    logging.info("%d models, %d seeds each, epsilon %g", len(models), len(seeds), epsilon)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        models=snakemake.params.models,
        pair=snakemake.params.pair,
        original_files=snakemake.input.original,
        replication_files=snakemake.input.replication,
        criterion=snakemake.wildcards.criterion,
        epsilon=snakemake.params.epsilon,
        seeds=snakemake.params.seeds,
        output=snakemake.output[0],
    )
