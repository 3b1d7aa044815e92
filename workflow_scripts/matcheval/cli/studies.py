"""The command `check-study`: check a study file without starting Snakemake."""

import argparse
import sys
from pathlib import Path

from matcheval.errors import InputError, printable
from matcheval.io.printed_json import add_json, print_json
from matcheval.io.yaml_files import read_yaml

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
    from matcheval.study.configuration import load_study

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
