"""Rules tabulate_<analysis> of the analyses with a table per suite."""

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.study.tables import SuiteFiles


def main(
    *,
    room: str,
    files: SuiteFiles,
    options: Mapping[str, Any],
    outputs: Sequence[Path],
) -> None:
    """Write the table of one suite."""
    tables = import_module(f"{room}.tables")
    table = tables.tabulate(files, **options)
    write_readable(table, tables.SCHEMA, tables.text_columns, outputs)
    n_sets, n_models = len(files.suite.members), len(files.models)
    logging.info("%s: %d sets, %d models", files.suite.name, n_sets, n_models)


if __name__ == "__main__":
    run_script(main, snakemake)
