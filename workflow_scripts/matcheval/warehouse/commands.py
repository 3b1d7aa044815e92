"""The command `matched-eval warehouse`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from matcheval.io.tables import check_suffix, write_table


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Add the steps of a warehouse.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Gets a subcommand per step, each with its function as default for `run`.
    """
    steps = parser.add_subparsers(title="steps", required=True)
    plan = steps.add_parser(
        "plan", help="write the query plan: what to search for, for every set and class",
        description="Write the query plan as a table with a row per set and class. Nothing is "
        "searched, downloaded or generated.",
    )  # fmt: skip
    _add_file(plan, nargs="?", extra="; CIFAR-10-Warehouse by default")
    plan.add_argument(
        "--output", type=Path, metavar="FILE",
        help="table to write (.csv, .parquet); printed as CSV by default",
    )  # fmt: skip
    plan.set_defaults(run=run_plan)


def _add_file(parser: argparse.ArgumentParser, extra: str = "", **options: Any) -> None:
    parser.add_argument(
        "warehouse", type=Path, metavar="WAREHOUSE",
        help=f"its YAML file (docs/warehouse.md){extra}", **options,
    )  # fmt: skip


def run_plan(arguments: argparse.Namespace) -> None:
    """Write the query plan, or print it.

    Parameters
    ----------
    arguments : argparse.Namespace
        Arguments of `matched-eval warehouse plan`.

    Raises
    ------
    InputError
        If the file is invalid or has no plan, or the table cannot be written.
    """
    import pyarrow.csv as pa_csv

    from matcheval.errors import InputError, printable
    from matcheval.warehouse.plan import tabulate_plan
    from matcheval.warehouse.settings import read_warehouse

    if arguments.output is not None:
        check_suffix(arguments.output)
    settings = read_warehouse(arguments.warehouse)
    if not settings.plan:
        raise InputError(
            "has no query plan", file=arguments.warehouse, field="plan",
            remedy="Give groups of sets with style, sources and template (docs/warehouse.md)",
        )  # fmt: skip
    table = tabulate_plan(settings.plan, settings.class_names)
    if arguments.output is not None:
        write_table(table, arguments.output)
        return
    sink = _pa_buffer()
    pa_csv.write_csv(table, sink)
    sys.stdout.write(printable(sink.getvalue().to_pybytes().decode()))


def _pa_buffer() -> Any:
    import pyarrow as pa

    return pa.BufferOutputStream()
