"""Rule save_pairs: list the matched index pairs of one model on one pair by one criterion."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from matcheval.datasets.pairs import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.files import read_predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.runs import comparison_pairs


def main(
    *,
    model: str,
    pair: Mapping[str, Any],
    original_file: str,
    replication_file: str,
    criterion: str,
    epsilon: float,
    seeds: Sequence[int],
    output: str,
) -> None:
    """Write the pairs, a table of schema `schemas.PAIRS`."""
    comparison = Comparison(
        model, Pair(**pair), read_predictions(original_file), read_predictions(replication_file)
    )
    pairs = comparison_pairs(comparison, Criterion(criterion), epsilon, seeds)
    write_table(pairs, output)
    logging.info("%d pairs over %d seeds, epsilon %g", pairs.num_rows, len(seeds), epsilon)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        model=snakemake.wildcards.model,
        pair=snakemake.params.pair,
        original_file=snakemake.input.original[0],
        replication_file=snakemake.input.replication[0],
        criterion=snakemake.wildcards.criterion,
        epsilon=snakemake.params.epsilon,
        seeds=snakemake.params.seeds,
        output=snakemake.output[0],
    )
