"""The commands `init`, `check-study` and `doctor`: before a study is run."""

import argparse
import logging
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matcheval.cli.options import add_layout, arguments_for, print_result
from matcheval.errors import InputError
from matcheval.health import NOTE, PROBLEM, Finding, check_gpus, check_machine, versions
from matcheval.io.text_tables import counted
from matcheval.io.user_files import read_yaml
from matcheval.names import MODEL, is_name
from matcheval.slurm_checks import PROFILE, check_profile, check_slurm

LOGGER = logging.getLogger(__name__)
_INIT = "Write a study file and a catalogue of models. Look at them, and run the command."
_SETS = """\
ORIGINAL and OTHER are both
  a folder with a folder of images per class             photos/old
  prediction files, {model} for the names of models      'predictions/old/{model}.csv'
or ORIGINAL alone is a part of the paper on the protocol (Anzaku et al. 2022), with few models:
cifar10 (four to train) or imagenet (five pretrained ones).
"""
_PAPERS = ("cifar10", "imagenet")
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


def add_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `init`."""
    parser.description, parser.epilog = _INIT, _SETS
    parser.add_argument("original", nargs="?", metavar="ORIGINAL", help="the original set")
    parser.add_argument("other", nargs="?", metavar="OTHER", help="the set to compare")
    parser.add_argument(
        "--example", choices=("digits", "predictions", "images", "shifts"),
        help="write an example with its data; shifts are corrupted sets",
    )  # fmt: skip
    parser.add_argument("--name", help="name of the study (default: from the names of the sets)")
    parser.add_argument("--file", type=Path, help="the study file (default: [studies/]<name>.yaml)")
    parser.add_argument("--models", type=Path, help="a catalogue of your models, not to be trained")
    parser.add_argument("--force", action="store_true", help="replace these files, but no others")
    add_layout(parser, "labels_are_true")


def run_init(arguments: argparse.Namespace) -> None:
    """Write a study file and its catalogue of models, and print the command that runs it."""
    from matcheval import init  # takes a second

    example, original, other = arguments.example, arguments.original, arguments.other
    if (original or arguments.models) if example else not other and original not in _PAPERS:
        arguments.parser.error(
            "name two sets, ORIGINAL and OTHER; or cifar10 or imagenet; or an --example alone"
        )
    default = f"example-{example}" if example else f"{original}-small"
    if other:
        default = "-".join(init.derive_set_names(original, other))
    name = arguments.name or (init.as_name(arguments.file.stem) if arguments.file else default)
    is_checkout = Path("Snakefile").is_file() and Path("studies").is_dir()
    file = arguments.file or Path("studies" if is_checkout else "", f"{name}.yaml")
    data = Path("data" if is_checkout else "", name)  # git ignores data/
    _check_new_files(arguments, name, file, data)
    if example in ("predictions", "images"):
        original, other = init.write_example(example, data)
    if not other:
        draft = init.draft_template(example or original)
    elif MODEL in original + other:
        files = [init.find_prediction_files(pattern) for pattern in (original, other)]
        layout = _recognise_layout(arguments, [*files[0].values(), *files[1].values()])
        draft = init.draft_predictions(name, (original, other), layout)
    else:
        draft = init.draft_images(name, original, other, trains=arguments.models is None)
    written = init.write_study(draft, name, file, arguments.models, may_lack_files=not other)
    print_result(arguments, lambda: written, _describe_study(written))


def _check_new_files(arguments: argparse.Namespace, name: str, file: Path, data: Path) -> None:
    """Check the name, and that files and results of the study are not there yet (`--force`)."""
    if not is_name(name):
        raise InputError(f"--name '{name}' is not a valid name")
    if file == arguments.models:
        raise InputError("is the catalogue of models, too", file=file)
    paths = [file, Path("results", name), *([data] if arguments.example else [])]
    paths += [] if arguments.models else [file.with_name(f"{file.stem}-models.csv")]
    present = [str(path) for path in paths if path.exists()]
    if present and not arguments.force:
        remedy = "Give another --name or --file, or replace them with --force"
        raise InputError(f"there already: {', '.join(present)}", remedy=remedy)


def _recognise_layout(arguments: argparse.Namespace, files: list[Path]) -> dict[str, Any]:
    """Recognise the layout of prediction files; return it as options of a study's sets."""
    from matcheval.predictions.inputs import layout_of

    layout = layout_of(files, **arguments_for(layout_of, arguments))
    for note in layout.notes:
        LOGGER.info("%s", note)
    options = {
        "columns": dict(layout.columns), "classes": list(layout.classes or ()),
        "first_label": layout.first_label, "labels_are_true": layout.labels_are_true,
    }  # fmt: skip
    return {name: value for name, value in options.items() if value}


def _describe_study(written: dict[str, Any]) -> str:
    sizes = counted(written["models"], "model"), counted(len(written["datasets"]), "set")
    lines = [*(f"wrote {path}" for path in written["files"]), ", ".join(sizes)]
    if written["missing"]:
        lines += ["", f"Before it can run: {written['missing']}"]
    else:
        lines[-1] += "; checked, nothing wrong was found"
    if written["compare"]:
        lines += ["", "Without Snakemake, in seconds:", f"    {written['compare']}"]
    if written["command"]:
        lines += ["", "Next, in this folder (with -n: what would run):",
                  f"    {written['command']}", f"Then open {written['report']}"]  # fmt: skip
    else:
        lines += ["", "Studies are run by Snakemake in a checkout of the repository: README.md."]
    return "\n".join(lines) + "\n"


def add_check_study(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `check-study`."""
    parser.description = _STUDY
    parser.add_argument("study", type=Path, metavar="FILE", help="the study, such as mine.yaml")


def run_check_study(arguments: argparse.Namespace) -> None:
    """Check a study file and the files that it names, and print what it has."""
    settings = read_yaml(arguments.study)
    if "study" not in settings:
        remedy = "Name the study: 'study: mine'"
        raise InputError("is missing", file=arguments.study, field="study", remedy=remedy)
    # Importing all analyses takes a second, which a file that is no YAML need not wait for.
    from matcheval.protocol.analysis import Matching
    from matcheval.study.checks import check_custom_files, open_samples
    from matcheval.study.configuration import load_study

    study = load_study(settings)
    check_custom_files(study)
    opened, warnings = open_samples(study)
    warnings += study.analysis(Matching).warnings
    for text in warnings:
        LOGGER.warning("warning: %s", text)
    parts = {part: list(getattr(study, part)) for part in ("models", "datasets", "pairs", "suites")}
    counts = ", ".join(f"{len(names)} {part}" for part, names in parts.items())
    files = f" (opened: {opened})" if opened else ""
    state = "see the warnings" if warnings else "nothing wrong was found"
    text = f"study '{study.name}': {counts}; {state}{files}\n"
    print_result(arguments, lambda: {"study": study.name, **parts, "opened": opened}, text)


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


def run_doctor(arguments: argparse.Namespace) -> None:
    """Print what works on this machine and what does not; exit code 1 if there are problems."""
    results = [*check_machine(arguments.results), *check_slurm()]
    if arguments.gpu:
        results += check_gpus()
    if arguments.slurm:
        results += check_profile(arguments.results, arguments.profile)
    states = [finding.state for finding in results]
    problems, notes = states.count(PROBLEM), states.count(NOTE)
    text = "".join(map(_format_finding, results))
    values = {"works": not problems, "findings": [asdict(finding) for finding in results]}
    end = f"\n{counted(problems, 'problem')}, {counted(notes, 'note')}\n"
    print_result(arguments, lambda: values | {"versions": versions()}, text + end)
    if problems:
        raise SystemExit(1)


def _format_finding(finding: Finding) -> str:
    indent = " " * 10
    lines = [f"{finding.state:10}{finding.subject}: {finding.found}"]
    if finding.remedy:
        lines.append(f"{indent}-> {finding.remedy}")
    return "".join(
        textwrap.fill(
            line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        ) + "\n" for line in lines
    )  # fmt: skip
