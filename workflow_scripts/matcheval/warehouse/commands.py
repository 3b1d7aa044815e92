"""The command `matched-eval warehouse`: plan, build and review a warehouse of test sets."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.errors import InputError
from matcheval.io.tables import check_suffix, write_table
from matcheval.io.terminal import add_json, json_rows, print_json, print_text

if TYPE_CHECKING:
    from matcheval.warehouse.build import Build

_FILE = "its YAML file (docs/datasets.md)"


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `matched-eval warehouse`, one for each step."""
    parser.description = (
        "Build a warehouse: reviewed, documented sets of your own images, by source, style and "
        "colour (docs/datasets.md)."
    )
    commands = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    plan = commands.add_parser(
        "plan", help="write the query plan: what to search for, for every set and class",
        description="Write the query plan as a table with a row per set and class. Nothing is "
        "searched, downloaded or generated.",
    )  # fmt: skip
    plan.add_argument(
        "warehouse", type=Path, metavar="WAREHOUSE", nargs="?",
        help=f"{_FILE}; CIFAR-10-Warehouse by default",
    )  # fmt: skip
    plan.add_argument(
        "--file", type=Path, metavar="FILE",
        help="table to write (.csv, .parquet); printed as CSV by default",
    )  # fmt: skip
    build = commands.add_parser(
        "build", help="build the sets from your images",
        description="Decode images, find duplicates, apply decisions, and export the sets with "
        "their documents. A build that was stopped goes on, and a changed decision repeats its "
        "sets only.",
    )  # fmt: skip
    worklist = commands.add_parser(
        "worklist", help="write contact sheets for reviewers",
        description="Write contact sheets of a built warehouse by set and class, and a table to "
        "write decisions into.",
    )  # fmt: skip
    for step, output in ((build, "folder to write"), (worklist, "folder of the build")):
        step.add_argument("warehouse", type=Path, metavar="WAREHOUSE", help=_FILE)
        step.add_argument(
            "--output", type=Path, metavar="DIR",
            help=f"{output} (default: results/warehouses/<name>)",
        )  # fmt: skip
    build.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one per available core)"
    )
    build.add_argument(
        "--downloads", type=Path, default=Path("results/downloads"), metavar="DIR",
        help="folder of published files, where `against` names published sets "
        "(default: %(default)s)",
    )  # fmt: skip
    worklist.add_argument(
        "--to", type=Path, required=True, metavar="DIR", help="folder of the sheets"
    )
    worklist.add_argument(
        "--pending", action="store_true", help="only images that wait for a decision"
    )
    for step, run in ((plan, run_plan), (build, run_build), (worklist, run_worklist)):
        add_json(step)
        step.set_defaults(run=run)


def run_plan(arguments: argparse.Namespace) -> None:
    """Write the query plan, or print it."""
    from matcheval.warehouse.sets import tabulate_plan
    from matcheval.warehouse.settings import read_warehouse

    output = arguments.file
    if output is not None:
        check_suffix(output)
    settings = read_warehouse(arguments.warehouse)
    if not settings.plan:
        remedy = "Give groups of sets with style, sources and template (docs/datasets.md)"
        raise InputError("has no query plan", file=arguments.warehouse, field="plan", remedy=remedy)
    table = tabulate_plan(settings)
    if output is not None:
        write_table(table, output)
    if arguments.json:
        written = [str(output)] if output else []
        print_json("warehouse-plan", {"plan": json_rows(table), "written": written})
    elif output is None:
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        from matcheval.io.delimited_text import marked_table

        text = pa.BufferOutputStream()
        pa_csv.write_csv(marked_table(table), text)
        print_text(text.getvalue().to_pybytes().decode())


def run_build(arguments: argparse.Namespace) -> None:
    """Build a warehouse, and print what each step found."""
    from matcheval.warehouse.images import available_cores
    from matcheval.warehouse.manifest import IMAGES_SCHEMA, KEPT

    if arguments.workers is not None and arguments.workers < 1:
        raise InputError(f"--workers {arguments.workers} is not a number of processes")
    build = _build(arguments)
    build.run(arguments.workers or available_cores(), arguments.downloads)
    sets, exported, folder = list(build.sets), build.exported, str(build.folder)
    if arguments.json:
        print_json("warehouse-build", {"folder": folder, "sets": sets, "exported": exported})
        return
    images = IMAGES_SCHEMA.read(build.folder / "images.parquet").to_pandas()
    kept = (images["status"] == KEPT) & (images["reviewers"] > 0)
    unblurred = int((kept & (images["blurred"] == 0)).sum())
    print_text((build.folder / "tables" / "steps.md").read_text(encoding="utf-8"))
    print_text(f"\n{unblurred} reviewed images are kept without blurred boxes")
    print_text(f"\n{len(exported)} of {len(sets)} sets exported to {folder}\n")


def _build(arguments: argparse.Namespace) -> "Build":
    from matcheval.warehouse.build import Build
    from matcheval.warehouse.settings import read_warehouse

    settings = read_warehouse(arguments.warehouse)
    folder = arguments.output or Path("results/warehouses") / settings.warehouse
    return Build(settings, folder)


def run_worklist(arguments: argparse.Namespace) -> None:
    """Write a worklist for reviewers."""
    from matcheval.warehouse.documents import write_worklist
    from matcheval.warehouse.manifest import IMAGES_SCHEMA

    build = _build(arguments)
    images = IMAGES_SCHEMA.read(build.folder / "images.parquet").to_pandas()
    n = write_worklist(build, images, arguments.to, pending_only=arguments.pending)
    file = arguments.to / "worklist.csv"
    if arguments.json:
        print_json("warehouse-worklist", {"images": n, "written": [str(file)]})
    else:
        print_text(f"{n} images to review: fill in {file}\n")
