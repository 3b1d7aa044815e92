"""The command line of `matched-eval`: its commands, and where they begin."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from textwrap import fill
from typing import Any

from matcheval.cli.parser import CommandParser, chosen
from matcheval.downloads.hub import local_file
from matcheval.errors import CALLER, InputWarning
from matcheval.execution.entry_points import INTERRUPTED, run_command
from matcheval.io.terminal import print_text


@dataclass(frozen=True)
class _Command:
    """A command: what adds its arguments is imported if it is given, as some take a second."""

    name: str
    summary: str
    add: str
    example: str
    is_first: bool = False


_COMMANDS = (
    _Command(
        "init", "write a first study file, from images, prediction files or set names",
        "matcheval.cli.init.add_init", "init photos/old photos/new", is_first=True,
    ),
    _Command(
        "compare", "compare a model, or many, on two labelled sets",
        "matcheval.cli.predictions.add_compare", "compare old.csv new.csv --output compared",
        is_first=True,
    ),
    _Command(
        "predict-accuracy", "predict a model's accuracy on sets without labels",
        "matcheval.cli.predictions.add_predict_accuracy",
        "predict-accuracy labelled.npz photos.npz sketches.npz", is_first=True,
    ),
    _Command(
        "estimate-accuracy", "estimate an accuracy from a few labels, with a guarantee",
        "matcheval.cli.few_labels.add_estimate_accuracy",
        "estimate-accuracy predictions.npz --labels few.csv --plan plan/plan.json", is_first=True,
    ),
    _Command(
        "check-study", "check a study file, and what it names, without running it",
        "matcheval.cli.checks.add_check_study", "check-study mine.yaml", is_first=True,
    ),
    _Command(
        "doctor", "look at this machine: what works, and what to do about the rest",
        "matcheval.cli.checks.add_doctor", "doctor", is_first=True,
    ),
    _Command(
        "label-plan", "say how many labels an accuracy needs, and draw which",
        "matcheval.cli.few_labels.add_label_plan",
        "label-plan predictions.npz --half-width 0.03 --output plan",
    ),
    _Command(
        "compare-models", "compare two models on the same images",
        "matcheval.cli.predictions.add_compare_models", "compare-models released.csv candidate.csv",
    ),
    _Command(
        "leaderboard", "put the results of several studies and comparisons on one page",
        "matcheval.cli.leaderboard.add_leaderboard", "leaderboard results/march results/april",
    ),
    _Command(
        "match", "write the measured quantities of every seed, and optionally matched pairs",
        "matcheval.cli.predictions.add_match", "match old.csv new.csv --output matched --pairs",
    ),
    _Command(
        "replicate", "build a new test set from annotated candidates",
        "matcheval.analyses.sampling.commands.add_replicate",
        "replicate allocate counts.json --per-class 200 --file targets.json",
    ),
    _Command(
        "duplicates", "search for near duplicates: the nearest images of another set",
        "matcheval.analyses.near_duplicates.search.add_search",
        "duplicates results/datasets/test results/datasets/train --file near.csv",
    ),
    _Command(
        "warehouse", "build a suite of sets from images of one's own",
        "matcheval.warehouse.commands.add_warehouse", "warehouse plan mine.yaml --file plan.csv",
    ),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Run `matched-eval`."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 - it stays open
    if isinstance(sys.stdout, TextIOWrapper):  # print '?' where ε or ± cannot be encoded
        sys.stdout.reconfigure(errors="replace")
    try:
        _run_line(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    finally:
        print_text()


def _run_line(given: Sequence[str]) -> None:
    command = next((one for one in given if not one.startswith("-")), "")
    parser = build_parser(command)
    of_command = chosen(parser, given)
    of_command.given = [one.partition("=")[0] for one in given if one.startswith("-")]
    arguments, unknown = parser.parse_known_args(given or ["--help"])
    if unknown:
        of_command.refuse(unknown)
    run_command(_run, arguments)


def _run(arguments: argparse.Namespace) -> None:
    """Run a command, on local copies of the files of the hub that it names."""
    for name, value in vars(arguments).items():
        if isinstance(value, Path):
            setattr(arguments, name, local_file(value))
        elif isinstance(value, list):
            setattr(arguments, name, [local_file(x) if isinstance(x, Path) else x for x in value])
    caller = CALLER.set("command")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # commands tell those of their results
            arguments.run(arguments)
    finally:
        CALLER.reset(caller)


def build_parser(command: str | None = None) -> CommandParser:
    """Build the parser of `matched-eval`; with a command, only that one gets its arguments."""
    listed = "".join(
        f"{title}:\n"
        + "".join(f"  {one.name:19}{one.summary}\n" for one in _COMMANDS if one.is_first is first)
        for title, first in (("commands", True), ("\nmore", False))
    )
    parser = CommandParser(
        prog="matched-eval", usage="matched-eval COMMAND ...",
        description="Evaluate a classifier on similar-but-non-identical test sets.",
        epilog=f"{listed}\nmatched-eval COMMAND --help describes a command, with an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--version", action=_ShowVersions, nargs=0, default=argparse.SUPPRESS,
        help="print the versions of what matters",
    )  # fmt: skip
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="command", required=True, prog="matched-eval",
        help=argparse.SUPPRESS,
    )  # fmt: skip
    for one in _COMMANDS:
        of_command = commands.add_parser(one.name)
        if command in (None, one.name):
            module, _, add = one.add.rpartition(".")
            getattr(import_module(module), add)(of_command)
            of_command.formatter_class = argparse.RawDescriptionHelpFormatter
            of_command.description = fill(of_command.description or one.summary, 99)
            more = f"\n\n{of_command.epilog}" if of_command.epilog else "\n"
            of_command.epilog = f"example:\n  matched-eval {one.example}{more}"
    return parser


class _ShowVersions(argparse.Action):
    """Print the versions of what matters, and end."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print a line per package."""
        from matcheval.health import versions

        found = versions()
        width = max(map(len, found))
        for name, version in found.items():
            print_text(f"{name.ljust(width)}  {version or 'not installed'}\n")
        parser.exit()
