"""Rules tabulate_<analysis> of the analyses with a table per dataset."""

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from matcheval.datasets.specs import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import dataset_correctness


def main(
    *,
    room: str,
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str],
    file: str,
    options: Mapping[str, Any],
    outputs: Sequence[Path],
) -> None:
    """Write the table of one dataset.

    Parameters
    ----------
    room : str
        Full name of the package of the analysis.
    spec : DatasetSpec
        The dataset.
    models : sequence of str
        Names of the models.
    predictions : sequence of str
        Their prediction files; empty if the dataset consists of published results.
    file : str
        The user's file that the analysis reads; empty if there is none.
    options : mapping of str to object
        Further arguments of its `tables.tabulate`.
    outputs : sequence of Path
        Files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If predictions or the user's file are missing or invalid.
    """
    tables = import_module(f"{room}.tables")
    known = dataset_correctness(spec, models, predictions)
    table = tables.tabulate(known, spec.name, file, **options)
    write_readable(table, tables.SCHEMA, tables.text_columns, outputs)
    logging.info("%d rows, of %d images and %d models", len(table), len(known), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
