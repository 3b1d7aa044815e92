"""The command line of `matched-eval`: its commands, and where they begin."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from matcheval.changes import RENAMED_FLAGS
from matcheval.cli.options import CommandParser, add_function, find_subparser
from matcheval.downloads.hub import local_file
from matcheval.errors import CALLER, InputWarning
from matcheval.execution.entry_points import INTERRUPTED, run_command
from matcheval.io.terminal import add_json, print_text


class _Command(NamedTuple):
    """A command; the function that adds its arguments, `adder`, is imported only if it is used."""

    name: str
    adder: str
    summary: str
    example: str


_MAIN_COMMANDS = (
    _Command("init", "matcheval.cli.studies.add_init",
             "write a first study file, from images, prediction files or set names",
             "init photos/old photos/new"),
    _Command("compare", "matcheval.cli.predictions.add_compare",
             "compare a model, or many, on two labelled sets",
             "compare old.csv new.csv --output compared"),
    _Command("predict-accuracy", "matcheval.cli.predictions.add_predict_accuracy",
             "predict a model's accuracy on sets without labels",
             "predict-accuracy labelled.npz photos.npz sketches.npz"),
    _Command("estimate-accuracy", "matcheval.cli.predictions.add_estimate_accuracy",
             "estimate an accuracy from a few labels, with a guarantee",
             "estimate-accuracy predictions.npz --labels few.csv --plan plan/plan.json"),
    _Command("check-study", "matcheval.cli.studies.add_check_study",
             "check a study file, and what it names, without running it", "check-study mine.yaml"),
    _Command("doctor", "matcheval.cli.studies.add_doctor",
             "look at this machine: what works, and what to do about the rest", "doctor"),
)  # fmt: skip
_MORE_COMMANDS = (
    _Command("label-plan", "matcheval.cli.predictions.add_label_plan",
             "say how many labels an accuracy needs, and draw which",
             "label-plan predictions.npz --half-width 3 --output plan"),
    _Command("compare-models", "matcheval.cli.predictions.add_compare_models",
             "compare two models on the same images",
             "compare-models released.csv candidate.csv"),
    _Command("match", "matcheval.cli.predictions.add_match",
             "write the measured quantities of every seed, and optionally matched pairs",
             "match old.csv new.csv --output matched --pairs"),
    _Command("replicate", "matcheval.cli.main.add_replicate",
             "build a new test set from annotated candidates",
             "replicate allocate counts.json --per-class 200 --file targets.json"),
    _Command("duplicates", "matcheval.cli.main.add_duplicates",
             "search for near duplicates: the nearest images of another set",
             "duplicates results/datasets/test results/datasets/train --file near.csv"),
    _Command("warehouse", "matcheval.cli.main.add_warehouse",
             "build a suite of sets from your own images",
             "warehouse plan mine.yaml --file plan.csv"),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line of `matched-eval`, by default the one of this process."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 - it stays open
    if isinstance(sys.stdout, TextIOWrapper):  # print '?' where ε or ± cannot be encoded
        sys.stdout.reconfigure(errors="replace")
    try:
        _parse_and_run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    finally:
        print_text()


def _parse_and_run(words: Sequence[str]) -> None:
    if words[:1] == ["--version"]:
        from matcheval.health import versions

        installed = versions()
        width = max(map(len, installed))
        for name, version in installed.items():
            print_text(f"{name.ljust(width)}  {version or 'not installed'}\n")
        raise SystemExit(0)
    command = next((word for word in words if not word.startswith("-")), "")
    words = [_replace_old_name(command, word) for word in words]
    parser = build_parser(command)
    subparser = find_subparser(parser, words)
    subparser.options = [word.partition("=")[0] for word in words if word.startswith("-")]
    arguments, unknown = parser.parse_known_args(words or ["--help"])
    if unknown:
        subparser.refuse_unknown(unknown)
    run_command(_run, arguments)


def _replace_old_name(command: str, word: str) -> str:
    """Return an option by its present name, with a warning on standard error if it is renamed."""
    option, *value = word.split("=", 1)
    name = RENAMED_FLAGS.get((command, option))
    if name is None:
        return word
    sys.stderr.write(f"warning: {option} is called {name}; the old name goes after 0.3\n")
    return "=".join([name, *value])


def _run(arguments: argparse.Namespace) -> None:
    """Run a command, on local copies of the files on Hugging Face that it names."""
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


# --- the commands that build test sets: `replicate`, `duplicates` and `warehouse`

_SAMPLING = "matcheval.analyses.sampling"


def add_replicate(parser: argparse.ArgumentParser) -> None:
    """Add the steps of `replicate`, which build a new test set."""
    parser.description = (
        "Build a replication test set (docs/analyses.md#sampling). Datasets are given as folders "
        "written by the workflow."
    )
    steps = parser.add_subparsers(title="steps", metavar="STEP", dest="step", required=True)
    for step, function, summary in (
        ("simulate", "annotations.simulate", "simulate workers' annotations, for trial runs"),
        ("count", "annotations.count", "count workers' annotations: selection frequencies"),
        ("sample", "build.sample", "sample the new test set"),
        ("allocate", "selection.allocate", "divide images among keywords, as for CIFAR-10.1"),
    ):
        description = f"{summary[0].upper()}{summary[1:]}."
        added = steps.add_parser(step, help=summary, description=description)
        add_function(added, f"{_SAMPLING}.{function}")


def add_duplicates(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `duplicates`, a search for near duplicates."""
    parser.description = (
        "Find the images of TRAIN that are most similar to each image of TEST "
        "(docs/analyses.md#near_duplicates)."
    )
    add_function(
        parser, f"{_SAMPLING}.image_search.search", queries={"metavar": "TEST"},
        references={"metavar": "TRAIN"},
    )  # fmt: skip


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Add the steps of `warehouse`, which build sets from the user's images."""
    parser.description = (
        "Build a warehouse: reviewed, documented sets of your own images, by source, style and "
        "colour (docs/datasets.md)."
    )
    commands = parser.add_subparsers(title="steps", metavar="STEP", dest="step", required=True)
    for step, summary, description in (
        ("plan", "write the query plan: what to search for, for every set and class",
         "Write the query plan as a table with a row per set and class. Nothing is searched, "
         "downloaded or generated."),
        ("build", "build the sets from your images",
         "Decode images, find duplicates, apply decisions, and export the sets with their "
         "documents. A build that was stopped goes on, and a changed decision repeats its sets "
         "only."),
        ("worklist", "write contact sheets for reviewers",
         "Write contact sheets of a built warehouse by set and class, and a table to write "
         "decisions into."),
    ):  # fmt: skip
        added = commands.add_parser(step, help=summary, description=description)
        add_function(added, f"matcheval.warehouse.commands.{step}")


# --- the parser


def build_parser(command: str | None = None) -> CommandParser:
    """Build the parser of `matched-eval`; with a command, only that one gets its arguments."""
    first, more = (
        "".join(f"  {command.name:19}{command.summary}\n" for command in commands)
        for commands in (_MAIN_COMMANDS, _MORE_COMMANDS)
    )
    parser = CommandParser(
        prog="matched-eval", usage="matched-eval COMMAND ...",
        description="Evaluate a classifier on similar-but-non-identical test sets.",
        epilog=f"commands:\n{first}\nmore:\n{more}\n"
        "matched-eval COMMAND --help describes a command, with an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(  # see `_parse_and_run`
        "--version", action="store_true", help="print the versions of what matters"
    )
    subparsers = parser.add_subparsers(
        metavar="COMMAND", dest="command", required=True, prog="matched-eval",
        help=argparse.SUPPRESS,
    )  # fmt: skip
    for name, adder, summary, example in (*_MAIN_COMMANDS, *_MORE_COMMANDS):
        subparser = subparsers.add_parser(name)
        if command in (None, name):
            module_name, _, function = adder.rpartition(".")
            module = import_module(module_name)
            getattr(module, function)(subparser)
            run = getattr(module, function.replace("add_", "run_"), None)
            if run and not subparser.get_default("run"):  # other packages' commands set theirs
                add_json(subparser)
                subparser.set_defaults(run=run, parser=subparser)
            subparser.formatter_class = argparse.RawDescriptionHelpFormatter
            subparser.description = fill(subparser.description or summary, 99)
            epilog = f"\n\n{subparser.epilog}" if subparser.epilog else "\n"
            subparser.epilog = f"example:\n  matched-eval {example}{epilog}"
    return parser
