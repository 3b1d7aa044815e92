"""Rule match_predictions: run the protocol for a batch of models on one pair by one criterion."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from matcheval.comparisons import Comparison
from matcheval.doors import run_script
from matcheval.prediction_files import read_predictions
from matcheval.settings import Criterion, Pair
from matcheval.tables import write_table


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
    tables = []
    for model, original, replication in zip(models, original_files, replication_files, strict=True):
        comparison = Comparison(
            model, Pair(**pair), read_predictions(original), read_predictions(replication)
        )
        tables.append(comparison.run(Criterion(criterion), epsilon, seeds))
    write_table(pa.concat_tables(tables), output)
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
