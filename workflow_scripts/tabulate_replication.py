"""Rule tabulate_replication: accuracies, intervals, gaps and ranks of the models on one pair."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import dataset_correctness
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
    models: Sequence[str],
    sets: Sequence[DatasetSpec],
    files: Sequence[Sequence[str]],
    outputs: Sequence[Path],
) -> None:
    """Write the table of replication results of one pair.

    Parameters
    ----------
    original, replication : Path
        Accuracies on each dataset, with the columns of `predictions.schemas.ACCURACIES`.
    pair : Pair
        The pair of datasets.
    top : int
        k: predictions are correct if the label is among the k top-ranked classes.
    confidence : float
        Level of the intervals, in (0, 1).
    models : sequence of str
        Names of the models, if the pair shows the same images; otherwise empty.
    sets : sequence of DatasetSpec
        Original and replication of such a pair; otherwise empty.
    files : sequence of sequence of str
        Prediction files of each of these sets, none for published results.
    outputs : sequence of Path
        Tables to write, with the columns of `replication.schemas.RESULTS`, in the formats of their
        suffixes.

    Raises
    ------
    InputError
        As for `replication.results.tabulate_replication`.
    """
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
