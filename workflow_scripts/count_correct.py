"""Rule count_correct: count what every model of the study gets right on one dataset."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from matcheval.datasets.specs import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.accuracies import dataset_accuracies


def main(
    *,
    dataset: Mapping[str, Any],
    models: Sequence[str],
    files: Sequence[str],
    first_classes: Sequence[str],
    output: str,
) -> None:
    """Write the accuracies, a table of `replication.schemas.ACCURACIES`."""
    spec = DatasetSpec(**dataset)
    table = dataset_accuracies(spec, models, files if spec.has_probabilities else (), first_classes)
    write_table(table, output)
    logging.info("%s: %d models, %d accuracies", spec.name, len(models), table.num_rows)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        dataset=snakemake.params.dataset,
        models=snakemake.params.models,
        files=snakemake.params.files,
        first_classes=snakemake.params.first_classes,
        output=snakemake.output[0],
    )
