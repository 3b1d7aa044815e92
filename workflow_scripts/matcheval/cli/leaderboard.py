"""The command `leaderboard`: one page over the results of several studies and comparisons."""

import argparse
import logging
import shlex
import sys
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.files import atomic_file, check_place
from matcheval.io.terminal import add_json, json_rows, print_json

LOGGER = logging.getLogger(__name__)


def add_leaderboard(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `leaderboard`."""
    parser.description = (
        "Put several results on one page: their verdicts, all models with their accuracies and "
        "gaps, and what changed between the first and the last folder that have a pair."
    )
    parser.add_argument(
        "folders", type=Path, nargs="+", metavar="FOLDER",
        help="results of a study (results/<study>), or what `compare --output` wrote",
    )  # fmt: skip
    parser.add_argument(
        "--file", type=Path, metavar="FILE", default=Path("leaderboard.html"),
        help="the page to write (default: %(default)s)",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_leaderboard)


def run_leaderboard(arguments: argparse.Namespace) -> None:
    """Write the page."""
    file = arguments.file
    check_place(file)
    for folder in arguments.folders:
        if not folder.is_dir():
            remedy = "Give a folder of results, such as results/digits"
            raise InputError("is no folder", file=folder, remedy=remedy)
    from matcheval.leaderboard.report import write_leaderboard
    from matcheval.leaderboard.results import changes, judge, read_folders

    page = write_leaderboard(arguments.folders, shlex.join(["matched-eval", *sys.argv[1:]]))
    with atomic_file(file) as partial:
        partial.write_text(page, encoding="utf-8")
    LOGGER.info("wrote %s", file)
    if arguments.json:
        found = read_folders(arguments.folders)
        tables = {"models": judge(found), "changes": changes(found)}
        rows = {name: json_rows(table) for name, table in tables.items()}
        print_json("leaderboard", {**rows, "written": [str(file)]})
