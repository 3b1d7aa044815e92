"""The commands `doctor` and `completion`, and the option `--version`."""

import argparse
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matcheval.errors import InputError, printable
from matcheval.health import NOTE, OK, PROBLEM, Finding, versions
from matcheval.io.printed_json import add_json, print_json
from matcheval.io.text_tables import counted
from matcheval.io.yaml_files import read_yaml

DOCTOR = (
    "Look at this machine: Python, packages, torch, GPUs, disk, fonts, Snakemake, SLURM. Says what "
    "works, what does not, and what to do. Ends with code 1 if something does not work."
)
COMPLETION = (
    "Print a script that makes a shell complete the commands and options of matched-eval. It needs "
    "the package shtab: pip install 'matched-eval[completion]'. docs/cli.md says where to put it."
)
SHELLS = ("bash", "zsh", "tcsh")
_SIGNS = {OK: "ok      ", NOTE: "note    ", PROBLEM: "problem "}
_WIDTH = 100


class ShowVersions(argparse.Action):
    """Print the versions of what matters, and end."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print a line per package."""
        found = versions()
        width = max(map(len, found))
        for name, version in found.items():
            sys.stdout.write(f"{name.ljust(width)}  {version or 'not installed'}\n")
        parser.exit()


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR",
        help="the folder of results that is looked at (default: results)",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> None:
    """Look at this machine, and say what works."""
    findings = list(_findings(arguments.results))
    problems = sum(one.state == PROBLEM for one in findings)
    if arguments.json:
        told = {
            "works": not problems, "versions": versions(),
            "findings": [asdict(one) for one in findings],
        }  # fmt: skip
        print_json(told)
    else:
        for one in findings:
            sys.stdout.write(printable(_described(one)))
        notes = sum(one.state == NOTE for one in findings)
        sys.stdout.write(f"\n{counted(problems, 'problem')}, {counted(notes, 'note')}\n")
    if problems:
        raise SystemExit(1)


def _findings(results: Path) -> Iterator[Finding]:
    from matcheval.health import (
        check_folders,
        check_fonts,
        check_packages,
        check_processors,
        check_python,
        check_slurm,
        check_torch,
        check_workflow,
    )

    yield from check_python()
    yield from check_packages()
    yield from check_processors()
    yield from check_torch()
    yield from check_folders(results)
    yield from check_fonts()
    yield from check_workflow()
    yield from check_slurm()


def _described(one: Finding) -> str:
    indent = " " * 10
    text = textwrap.fill(
        f"{one.subject}: {one.found}", _WIDTH, initial_indent=f"{_SIGNS[one.state]}  ",
        subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    remedy = textwrap.fill(
        f"-> {one.remedy}", _WIDTH, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return f"{text}\n{remedy}\n" if one.remedy else f"{text}\n"


def add_completion(parser: argparse.ArgumentParser, whole: argparse.ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run_completion, whole=whole)


def run_completion(arguments: argparse.Namespace) -> None:
    """Print the script of a shell."""
    try:
        import shtab
    except ModuleNotFoundError as error:
        raise InputError(
            "completion needs the package shtab, which is not installed",
            remedy="pip install shtab, or pip install '.[completion]' in the repository",
        ) from error
    complete_files(arguments.whole, shtab.FILE)
    sys.stdout.write(shtab.complete(arguments.whole, shell=arguments.shell) + "\n")


def complete_files(parser: argparse.ArgumentParser, how: Any) -> None:
    """Have all arguments that are no choices and no flags completed by names of files."""
    for action in parser._actions:  # argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):
            for one in dict.fromkeys(action.choices.values()):
                complete_files(one, how)
        elif action.choices is None and action.nargs != 0:
            action.complete = how  # type: ignore[attr-defined]


DESCRIPTION = (
    "Read a study file and the files that it names as the workflow does before its first job, and "
    "say what is wrong: the key and the value, or, if it is no YAML, the line. Paths are relative "
    "to the working directory."
)


def add_check_study(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `check-study`."""
    parser.add_argument("study", type=Path, metavar="FILE", help="the study, such as mine.yaml")
    add_json(parser)
    parser.set_defaults(run=run_check_study)


def run_check_study(arguments: argparse.Namespace) -> None:
    """Check a study file, and print what it holds."""
    given = read_yaml(arguments.study)
    if "study" not in given:
        raise InputError(
            "is missing",
            file=arguments.study,
            field="study",
            remedy="Name the study: 'study: mine'",
        )
    # Importing all analyses takes a second, which a file that is no YAML need not wait for.
    from matcheval.registry import ANALYSES
    from matcheval.study.checks import check_custom_images
    from matcheval.study.loading import load_study

    study = load_study(given, default_study="config.yaml", analyses=ANALYSES)
    check_custom_images(study)
    if arguments.json:
        print_json({
            "study": study.name, "models": list(study.models), "datasets": list(study.datasets),
            "pairs": list(study.pairs), "suites": list(study.suites),
        })  # fmt: skip
        return
    sys.stdout.write(
        printable(
            f"study '{study.name}': {len(study.models)} models, {len(study.datasets)} datasets, "
            f"{len(study.pairs)} pairs, {len(study.suites)} suites; nothing wrong was found\n"
        )
    )
