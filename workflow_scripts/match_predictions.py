"""Rule match_predictions: match the predictions of a batch of models on one pair."""

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
    """Run the matched evaluation protocol for a batch of models, and write the runs.

    Parameters
    ----------
    models : sequence of str
        Names of the models.
    pair : Pair
        The pair of datasets.
    original, replication : sequence of Path
        Prediction files of the models on each dataset.
    criterion : Criterion
        Criterion of the matching.
    epsilon : float
        Largest difference of matched probabilities.
    seeds : sequence of int
        Seeds, one for each run.
    runs : Path
        Table to write, with the columns of `schemas.COMPARISON_RUNS`.

    Raises
    ------
    InputError
        If models cannot be matched; the message names all of them.
    """
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
