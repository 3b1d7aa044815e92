"""The command line of `matched-eval`: its commands, and where they begin."""

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from matcheval.analyses.near_duplicates.search import add_search
from matcheval.analyses.sampling.commands import add_allocate, add_count, add_sample, add_simulate
from matcheval.cli import checks, init, predictions
from matcheval.execution.entry_points import run_command
from matcheval.warehouse.commands import add_warehouse

# Names with their summaries, descriptions, texts below the options, and what adds the arguments.
_COMMANDS = (
    (
        "init", "write a first study file, from images, prediction files or set names",
        init.DESCRIPTION, init.EXAMPLES_TEXT, init.add_init,
    ),
    (
        "compare", "compare two sets: print a table; with --output, write tables and figures",
        "Compare a model's accuracy on two sets before and after matching.",
        predictions.PAIR_FILES, predictions.add_compare,
    ),
    (
        "match", "write the measured quantities of every seed, and optionally matched pairs",
        "Match a model's predictions on two sets.", predictions.PAIR_FILES, predictions.add_match,
    ),
    (
        "replicate", "build a new test set from annotated candidates",
        "Build a replication test set (docs/analyses/sampling.md). Datasets are given as folders "
        "written by the workflow.", None, lambda parser: _add_replicate(parser),
    ),
    (
        "predict-accuracy", "predict a model's accuracy on sets without labels",
        "Predict a model's accuracy on each TARGET from its predictions there and on a labelled "
        "BASE.", predictions.ACCURACY_FILES, predictions.add_predict_accuracy,
    ),
    (
        "duplicates", "search for near duplicates: the nearest images of another set",
        "Find the images of TRAIN that are most similar to each image of TEST "
        "(docs/analyses/near_duplicates.md).", None, add_search,
    ),
    (
        "warehouse", "build a suite of sets from images of one's own",
        "Build a warehouse: reviewed, documented sets of images of one's own, by source, style and "
        "colour (docs/warehouse.md).", None, add_warehouse,
    ),
    (
        "check-study", "check a study file without running it", checks.STUDY, None,
        checks.add_check_study,
    ),
    ("doctor", "look at this machine: what works", checks.DOCTOR, None, checks.add_doctor),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Run `matched-eval`."""
    if isinstance(sys.stdout, TextIOWrapper):  # print '?' where ε or ± cannot be encoded
        sys.stdout.reconfigure(errors="replace")
    arguments = build_parser().parse_args(argv)
    run_command(arguments.run, arguments)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of `matched-eval`."""
    parser = argparse.ArgumentParser(
        prog="matched-eval",
        description="Evaluate a classifier on similar-but-non-identical test sets.",
    )
    parser.add_argument(
        "--version", action=checks.ShowVersions, nargs=0, default=argparse.SUPPRESS,
        help="print the versions of what matters",
    )  # fmt: skip
    commands = parser.add_subparsers(title="commands", required=True)
    raw, wrapped = argparse.RawDescriptionHelpFormatter, argparse.HelpFormatter
    for name, summary, description, epilog, add in _COMMANDS:
        add(commands.add_parser(
            name, help=summary, description=description, epilog=epilog,
            formatter_class=raw if epilog else wrapped,
        ))  # fmt: skip
    return parser


def _add_replicate(parser: argparse.ArgumentParser) -> None:
    """Add the steps of building a new test set."""
    steps = parser.add_subparsers(title="steps", required=True)
    for step, add, summary in (
        ("simulate", add_simulate, "simulate workers' annotations, for trial runs"),
        ("count", add_count, "count workers' annotations: selection frequencies"),
        ("sample", add_sample, "sample the new test set"),
        ("allocate", add_allocate, "divide images among keywords, as for CIFAR-10.1"),
    ):
        description = f"{summary[0].upper()}{summary[1:]}."
        add(steps.add_parser(step, help=summary, description=description))
