"""Rule save_pairs: write the matched index pairs of one model on one pair of datasets."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.pairs import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.files import read_predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.runs import comparison_pairs


def main(
    *,
    models: Sequence[str],
    pair: Pair,
    original: Sequence[Path],
    replication: Sequence[Path],
    criterion: Criterion,
    epsilon: float,
    seeds: Sequence[int],
    pairs: Path,
) -> None:
    """Match the predictions of one model, and write the matched index pairs.

    Parameters
    ----------
    models : sequence of str
        Name of the model.
    pair : Pair
        The pair of datasets.
    original, replication : sequence of Path
        Its prediction file on each dataset.
    criterion : Criterion
        Criterion of the matching.
    epsilon : float
        Largest difference of matched probabilities.
    seeds : sequence of int
        Seeds, one for each run.
    pairs : Path
        Table to write, with the columns of `schemas.PAIRS`.

    Raises
    ------
    InputError
        If the model cannot be matched.
    """
    sets = [read_predictions(files[0]) for files in (original, replication)]
    table = comparison_pairs(Comparison(models[0], pair, *sets), criterion, epsilon, seeds)
    write_table(table, pairs)
    logging.info("%d pairs over %d seeds, epsilon %g", table.num_rows, len(seeds), epsilon)


if __name__ == "__main__":
    run_script(main, snakemake)
