"""The commands `doctor` and `check-study`."""

import argparse
import logging
import textwrap
from dataclasses import asdict
from pathlib import Path

from matcheval.errors import InputError
from matcheval.health import NOTE, PROBLEM, Finding, check_gpus, findings, versions
from matcheval.io.terminal import add_json, print_json, print_text
from matcheval.io.text_tables import counted
from matcheval.io.user_files import read_yaml
from matcheval.slurm_checks import PROFILE, check_presence, check_profile

_DOCTOR = (
    "Look at this machine: Python, packages, torch, GPUs, disk, Snakemake, SLURM. Says what works, "
    "what does not, and what to do. Ends with code 1 if something does not work. With --gpu: "
    "compares what each GPU computes with the CPU. With --slurm: says whether the cluster takes "
    "jobs as the profile submits them."
)
_STUDY = (
    "Read a study file and the files that it names as the workflow does before its first job, and "
    "say what is wrong: the key and the value, or, if it is no YAML, the line. Paths are relative "
    "to the working directory."
)
_WIDTH = 100
LOGGER = logging.getLogger(__name__)


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.description = _DOCTOR
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR",
        help="the folder of results that is looked at (default: results)",
    )  # fmt: skip
    parser.add_argument(
        "--gpu", action="store_true",
        help="compare a matrix product and a network's gradients on each GPU with the CPU",
    )  # fmt: skip
    parser.add_argument(
        "--slurm", action="store_true",
        help="submit a job to each partition of the profile, and say what would not work",
    )  # fmt: skip
    parser.add_argument(
        "--profile", type=Path, default=PROFILE, metavar="FILE",
        help=f"what --slurm reads (default: {PROFILE})",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> None:
    """Look at this machine, and say what works."""
    results = [*findings(arguments.results), *check_presence()]
    if arguments.gpu:
        results += check_gpus()
    if arguments.slurm:
        results += check_profile(arguments.results, arguments.profile)
    problems = sum(finding.state == PROBLEM for finding in results)
    if arguments.json:
        values = {"works": not problems, "versions": versions()}
        print_json("doctor", values | {"findings": [asdict(finding) for finding in results]})
    else:
        for finding in results:
            print_text(_described(finding))
        notes = sum(finding.state == NOTE for finding in results)
        print_text(f"\n{counted(problems, 'problem')}, {counted(notes, 'note')}\n")
    if problems:
        raise SystemExit(1)


def _described(finding: Finding) -> str:
    indent = " " * 10
    lines = [f"{finding.state:10}{finding.subject}: {finding.found}"]
    if finding.remedy:
        lines.append(f"{indent}-> {finding.remedy}")
    return "".join(
        textwrap.fill(
            line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        ) + "\n" for line in lines
    )  # fmt: skip


def add_check_study(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `check-study`."""
    parser.description = _STUDY
    parser.add_argument("study", type=Path, metavar="FILE", help="the study, such as mine.yaml")
    add_json(parser)
    parser.set_defaults(run=run_check_study)


def run_check_study(arguments: argparse.Namespace) -> None:
    """Check a study file, and print what it holds."""
    settings = read_yaml(arguments.study)
    if "study" not in settings:
        remedy = "Name the study: 'study: mine'"
        raise InputError("is missing", file=arguments.study, field="study", remedy=remedy)
    # Importing all analyses takes a second, which a file that is no YAML need not wait for.
    from matcheval.registry import ANALYSES
    from matcheval.study.checks import check_custom_images, open_some
    from matcheval.study.configuration import load_study

    study = load_study(settings, default_study="config.yaml", analyses=ANALYSES)
    check_custom_images(study)
    opened, warnings = open_some(study)
    for text in warnings:
        LOGGER.warning("warning: %s", text)
    parts = {part: list(getattr(study, part)) for part in ("models", "datasets", "pairs", "suites")}
    if arguments.json:
        print_json("check-study", {"study": study.name, **parts, "opened": opened})
    else:
        counts = ", ".join(f"{len(names)} {part}" for part, names in parts.items())
        of_files = f" (opened: {opened})" if opened else ""
        state = "see the warnings" if warnings else "nothing wrong was found"
        print_text(f"study '{study.name}': {counts}; {state}{of_files}\n")
