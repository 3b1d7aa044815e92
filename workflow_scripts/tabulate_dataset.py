"""Rules tabulate_<analysis> of the analyses with a table per dataset."""

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from matcheval.datasets.kinds import DatasetSpec
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
    """Write the table of one dataset."""
    tables = import_module(f"{room}.tables")
    known = dataset_correctness(spec, models, predictions)
    table = tables.tabulate(known, spec.name, file, **options)
    write_readable(table, tables.SCHEMA, tables.text_columns, outputs)
    logging.info("%d rows, of %d images and %d models", len(table), len(known), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
