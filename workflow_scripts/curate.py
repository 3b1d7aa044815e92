"""Build a warehouse step by step: from the user's images to reviewed, documented sets."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command


def curate(step: str, warehouse: Path, folder: Path, threads: int = 1, **options: Any) -> None:
    """Run a step of a warehouse's build."""
    from matcheval.warehouse.build import Build
    from matcheval.warehouse.settings import read_warehouse

    build = Build(read_warehouse(warehouse), folder)
    match step:
        case "read":
            build.read(options["name"], threads)
        case "hash":
            build.hash(options["name"], options["downloads"], threads)
        case "search":
            build.search()
        case "decide":
            build.decide([options["name"]])
        case "export":
            build.export(options["name"], options["side"], options["output"], threads)
        case "document":
            build.document()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the step."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(title="steps", required=True, dest="step")
    for step, summary in (
        ("read", "read the images of a set"),
        ("hash", "hash the images of a set that it is compared with"),
        ("search", "search all images for duplicates"),
        ("decide", "decide what becomes of the images of a set"),
        ("export", "export the kept images of a set as a dataset"),
        ("document", "write tables, figures and pages"),
    ):
        sub = steps.add_parser(step, help=summary)
        sub.add_argument("--warehouse", type=Path, required=True, help="the warehouse's file")
        sub.add_argument("--folder", type=Path, required=True, help="folder of its results")
        if step not in ("search", "document"):
            sub.add_argument("--name", required=True, help="name of the set")
        if step == "hash":
            sub.add_argument("--downloads", type=Path, required=True, help="published files")
        if step == "export":
            sub.add_argument("--side", type=int, required=True, help="height and width in pixels")
            sub.add_argument("--output", type=Path, required=True, help="folder of the dataset")
        if step in ("read", "hash", "export"):
            sub.add_argument("--threads", type=int, default=1, help="processes that decode images")
    run_command(curate, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
