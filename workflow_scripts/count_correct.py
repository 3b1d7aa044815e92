"""Rule count_correct: count each model's correct predictions on one dataset."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.specs import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.accuracies import dataset_accuracies


def main(
    *,
    dataset: DatasetSpec,
    models: Sequence[str],
    results: Sequence[str],
    top_k_files: Sequence[str],
    accuracies: Path,
) -> None:
    """Write the accuracies of all models on one dataset.

    Parameters
    ----------
    dataset : DatasetSpec
        The dataset.
    models : sequence of str
        Names of the models.
    results : sequence of str
        Their prediction files, or the files of published results.
    top_k_files : sequence of str
        Their files of top-k classes; empty if only top-1 accuracies are computed.
    accuracies : Path
        Table to write, with the columns of `predictions.schemas.ACCURACIES`.

    Raises
    ------
    InputError
        If files are missing or invalid; the message names all of them.
    """
    files = results if dataset.has_probabilities else ()
    table = dataset_accuracies(dataset, models, files, top_k_files)
    write_table(table, accuracies)
    logging.info("%s: %d models, %d accuracies", dataset.name, len(models), table.num_rows)


if __name__ == "__main__":
    run_script(main, snakemake)
