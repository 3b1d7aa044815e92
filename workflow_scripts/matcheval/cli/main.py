"""The command line of `matched-eval`: its commands, and where they begin."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from matcheval.execution.entry_points import run_command

# Names with their summaries, and what adds description and arguments. The module is imported for
# the command that is given, as some take a second.
_COMMANDS = (
    (
        "init", "write a first study file, from images, prediction files or set names",
        "matcheval.cli.init.add_init",
    ),
    (
        "compare", "compare two sets: print a table; with --output, write tables and figures",
        "matcheval.cli.predictions.add_compare",
    ),
    (
        "compare-models", "compare two models on the same images",
        "matcheval.cli.one_set.add_compare_models",
    ),
    (
        "match", "write the measured quantities of every seed, and optionally matched pairs",
        "matcheval.cli.predictions.add_match",
    ),
    (
        "replicate", "build a new test set from annotated candidates",
        "matcheval.analyses.sampling.commands.add_replicate",
    ),
    (
        "predict-accuracy", "predict a model's accuracy on sets without labels",
        "matcheval.cli.predictions.add_predict_accuracy",
    ),
    (
        "label-plan", "say how many labels an accuracy needs, and draw which",
        "matcheval.cli.few_labels.add_label_plan",
    ),
    (
        "estimate-accuracy", "estimate an accuracy from few labels, with a guarantee",
        "matcheval.cli.few_labels.add_estimate_accuracy",
    ),
    (
        "duplicates", "search for near duplicates: the nearest images of another set",
        "matcheval.analyses.near_duplicates.search.add_search",
    ),
    (
        "warehouse", "build a suite of sets from images of one's own",
        "matcheval.warehouse.commands.add_warehouse",
    ),
    (
        "check-study", "check a study file without running it",
        "matcheval.cli.checks.add_check_study",
    ),
    ("doctor", "look at this machine: what works", "matcheval.cli.checks.add_doctor"),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Run `matched-eval`."""
    if isinstance(sys.stdout, TextIOWrapper):  # print '?' where ε or ± cannot be encoded
        sys.stdout.reconfigure(errors="replace")
    given = sys.argv[1:] if argv is None else argv
    command = next((one for one in given if not one.startswith("-")), "")
    arguments = build_parser(command).parse_args(given)
    run_command(arguments.run, arguments)


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of `matched-eval`; with a command, only that one gets its arguments."""
    parser = argparse.ArgumentParser(
        prog="matched-eval",
        description="Evaluate a classifier on similar-but-non-identical test sets.",
    )
    parser.add_argument(
        "--version", action=_ShowVersions, nargs=0, default=argparse.SUPPRESS,
        help="print the versions of what matters",
    )  # fmt: skip
    commands = parser.add_subparsers(title="commands", required=True)
    for name, summary, place in _COMMANDS:
        of_command = commands.add_parser(name, help=summary)
        if command in (None, name):
            module, _, add = place.rpartition(".")
            getattr(import_module(module), add)(of_command)
            if of_command.epilog:
                of_command.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


class _ShowVersions(argparse.Action):
    """Print the versions of what matters, and end."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print a line per package."""
        from matcheval.health import versions

        found = versions()
        width = max(map(len, found))
        for name, version in found.items():
            sys.stdout.write(f"{name.ljust(width)}  {version or 'not installed'}\n")
        parser.exit()
