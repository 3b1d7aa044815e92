"""The command `matched-eval warehouse`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from matcheval.io.tables import check_suffix, write_table
from matcheval.io.terminal import add_json, json_rows, print_json


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Add the steps of a warehouse."""
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
    add_json(plan)
    plan.set_defaults(run=run_plan)
    build = steps.add_parser(
        "build", help="build the sets from your images",
        description="Decode images, find duplicates, apply decisions, and export the sets with "
        "their documents. A build that was stopped goes on, and a changed decision repeats its "
        "sets only.",
    )  # fmt: skip
    _add_file(build)
    build.add_argument(
        "--output", type=Path, metavar="DIR",
        help="folder to write (default: results/warehouses/<name>)",
    )  # fmt: skip
    build.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one per available core)"
    )
    build.add_argument(
        "--downloads", type=Path, default=Path("results/downloads"), metavar="DIR",
        help="folder of published files, where `against` names published sets "
        "(default: %(default)s)",
    )  # fmt: skip
    add_json(build)
    build.set_defaults(run=run_build)
    worklist = steps.add_parser(
        "worklist", help="write contact sheets for reviewers",
        description="Write contact sheets of a built warehouse by set and class, and a table to "
        "write decisions into.",
    )  # fmt: skip
    _add_file(worklist)
    worklist.add_argument(
        "--output", type=Path, metavar="DIR",
        help="folder of the build (default: results/warehouses/<name>)",
    )  # fmt: skip
    worklist.add_argument(
        "--to", type=Path, required=True, metavar="DIR", help="folder of the sheets"
    )
    worklist.add_argument(
        "--pending", action="store_true", help="only images that wait for a decision"
    )
    worklist.add_argument(
        "--predictions", metavar="FILES",
        help="a model's predictions on the exported sets, with {set} for a set's name: images that "
        "it takes for another class come first",
    )  # fmt: skip
    add_json(worklist)
    worklist.set_defaults(run=run_worklist)


def _add_file(parser: argparse.ArgumentParser, extra: str = "", **options: Any) -> None:
    parser.add_argument(
        "warehouse", type=Path, metavar="WAREHOUSE",
        help=f"its YAML file (docs/warehouse.md){extra}", **options,
    )  # fmt: skip


def run_plan(arguments: argparse.Namespace) -> None:
    """Write the query plan, or print it."""
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
    if arguments.json:
        written = [] if arguments.output is None else [str(arguments.output)]
        print_json({"plan": json_rows(table), "written": written})
    if arguments.json or arguments.output is not None:
        return
    sink = _pa_buffer()
    pa_csv.write_csv(table, sink)
    sys.stdout.write(printable(sink.getvalue().to_pybytes().decode()))


def _pa_buffer() -> Any:
    import pyarrow as pa

    return pa.BufferOutputStream()


def output_folder(arguments: argparse.Namespace, name: str) -> Path:
    """Return the folder of a warehouse."""
    given: Path | None = arguments.output
    return Path("results/warehouses") / name if given is None else given


def run_build(arguments: argparse.Namespace) -> None:
    """Build a warehouse, and print what each step found."""
    from matcheval.errors import InputError, printable
    from matcheval.warehouse.build import Build
    from matcheval.warehouse.parallel import available_cores
    from matcheval.warehouse.settings import read_warehouse

    if arguments.workers is not None and arguments.workers < 1:
        raise InputError(f"--workers {arguments.workers} is no number of processes")
    settings = read_warehouse(arguments.warehouse)
    folder = output_folder(arguments, settings.warehouse)
    build = Build(settings, folder, arguments.downloads)
    build.run(arguments.workers or available_cores())
    n = len(build.exported)
    if arguments.json:
        print_json({
            "folder": str(folder), "sets": list(build.sets),
            "exported": build.exported,
        })  # fmt: skip
        return
    sys.stdout.write(printable((folder / "tables" / "steps.md").read_text(encoding="utf-8")))
    sys.stdout.write(f"\n{n} of {len(build.sets)} sets exported to {folder}\n")


def run_worklist(arguments: argparse.Namespace) -> None:
    """Write a worklist for reviewers."""
    from matcheval.warehouse.inputs import find_sets
    from matcheval.warehouse.manifest import IMAGES_SCHEMA
    from matcheval.warehouse.settings import read_warehouse
    from matcheval.warehouse.worklist import write_worklist

    settings = read_warehouse(arguments.warehouse)
    folder = output_folder(arguments, settings.warehouse)
    images = IMAGES_SCHEMA.read(folder / "images.parquet").to_pandas()
    n = write_worklist(
        settings, find_sets(settings), images, arguments.to,
        pending_only=arguments.pending, predictions=arguments.predictions,
    )  # fmt: skip
    if arguments.json:
        print_json({"images": n, "worklist": str(arguments.to / "worklist.csv")})
        return
    sys.stdout.write(f"{n} images to review: fill in {arguments.to / 'worklist.csv'}\n")
