"""Rule count_correct: count each model's correct predictions on one dataset."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.kinds import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.correctness import dataset_accuracies


def main(
    *,
    dataset: DatasetSpec,
    models: Sequence[str],
    results: Sequence[str],
    top_k_files: Sequence[str],
    accuracies: Path,
) -> None:
    """Write the accuracies of all models on one dataset."""
    files = results if dataset.has_probabilities else ()
    table = dataset_accuracies(dataset, models, files, top_k_files)
    write_table(table, accuracies)
    logging.info("%s: %d models, %d accuracies", dataset.name, len(models), table.num_rows)


if __name__ == "__main__":
    run_script(main, snakemake)
