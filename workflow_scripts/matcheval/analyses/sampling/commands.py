"""Command lines of sampling, shared by the workflow's rules and `matched-eval replicate`."""

import argparse
import json
from functools import partial
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.terminal import add_json, print_json


def add_replicate(parser: argparse.ArgumentParser) -> None:
    """Add the steps of building a new test set."""
    parser.description = (
        "Build a replication test set (docs/analyses.md#sampling). Datasets are given as folders "
        "written by the workflow."
    )
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    for step, add, summary in (
        ("simulate", add_simulate, "simulate workers' annotations, for trial runs"),
        ("count", add_count, "count workers' annotations: selection frequencies"),
        ("sample", add_sample, "sample the new test set"),
        ("allocate", add_allocate, "divide images among keywords, as for CIFAR-10.1"),
    ):
        description = f"{summary[0].upper()}{summary[1:]}."
        add(steps.add_parser(step, help=summary, description=description))


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for simulating annotations."""
    _add_sets(parser)
    default = "(default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, help=f"random seed {default}")
    parser.add_argument("--assignments", type=int, default=10, help=f"workers per task {default}")
    parser.add_argument(
        "--compare-size", type=int, metavar="PIXELS",
        help="resize images to squares of this side first: needed for image files",
    )  # fmt: skip
    _add_output(parser, "simulate", "FILE", "annotations (.parquet, .csv)")


def add_count(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for counting annotations."""
    _add_sets(parser)
    parser.add_argument(
        "--annotations", required=True, metavar="FILE", help="workers' annotations (.parquet, .csv)"
    )
    parser.add_argument(
        "--repeated", choices=["refuse", "first"], default="refuse",
        help="refuse repeated annotations by a worker, or count the first (default: %(default)s)",
    )  # fmt: skip
    what = "selection frequencies (.parquet, as `sample` reads them, or .csv)"
    _add_output(parser, "count", "FILE", what)


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for sampling a test set."""
    _add_sets(parser)
    parser.add_argument("--name", required=True, help="name of the new test set")
    parser.add_argument(
        "--settings", required=True, metavar="FILE.yaml",
        help="how it is sampled: strategy, per_class and further settings of datasets of kind "
        "sampled (docs/analyses.md#sampling); or the same as a JSON object",
    )  # fmt: skip
    parser.add_argument(
        "--against", nargs="*", default=[], metavar="DIR",
        help="further datasets: no sampled image may be a near duplicate of theirs",
    )  # fmt: skip
    for option, what in (
        ("frequencies", "selection frequencies, written by `count`"),
        ("keywords", "CSV with columns origin, image, keyword"),
        ("blacklist", "CSV with a column image"),
        ("near-duplicates", "CSV with columns image, set, other"),
        ("previous", "provenance table of an earlier version to start from"),
    ):
        parser.add_argument(f"--{option}", metavar="FILE", help=what)
    for table in ("provenance", "excluded", "strata"):
        parser.add_argument(
            f"--{table}", metavar="FILE", help=f"default: DIR.{table}.parquet, beside the folder"
        )
    _add_output(parser, "sample", "DIR", "the new dataset's folder")


def add_allocate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for dividing images among keywords."""
    parser.add_argument(
        "counts", metavar="COUNTS.json", help="number of images by class and keyword"
    )
    total = parser.add_mutually_exclusive_group(required=True)
    total.add_argument("--per-class", type=int, help="images to allocate per class")
    total.add_argument(
        "--one-per", type=int, metavar="N",
        help="one image per N images of a keyword, rounded up, instead of a fixed total",
    )  # fmt: skip
    parser.add_argument(
        "--top-keywords", type=int, default=50,
        help="only the most frequent keywords of a class (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--file", required=True, metavar="FILE.json", help="the allocation")
    add_json(parser)
    parser.set_defaults(run=run_allocate)


def run_allocate(arguments: argparse.Namespace) -> None:
    """Divide the images of every class among its keywords and write the allocation."""
    from matcheval.analyses.sampling.selection import keyword_targets, proportional_targets
    from matcheval.io.files import atomic_file, readable

    if arguments.top_keywords < 1:
        raise InputError(f"--top-keywords is {arguments.top_keywords}. Give at least 1")
    number = arguments.per_class if arguments.one_per is None else arguments.one_per
    allocate = keyword_targets if arguments.one_per is None else proportional_targets
    what = "readable as JSON with image counts by class and keyword"
    with readable(arguments.counts, what, AttributeError, TypeError):
        targets = {
            name: allocate({k: int(n) for k, n in of.items()}, number, arguments.top_keywords)
            for name, of in json.loads(Path(arguments.counts).read_text(encoding="utf-8")).items()
        }
    with atomic_file(arguments.file) as partial_file:
        text = json.dumps(targets, indent=2, ensure_ascii=False)
        partial_file.write_text(text + "\n", encoding="utf-8")
    _tell("allocate", arguments, [arguments.file])


def _add_sets(parser: argparse.ArgumentParser) -> None:
    for option, what in (
        ("--candidates", "the pool: folder of a dataset"),
        ("--original", "folder of the set that is replicated"),
    ):
        parser.add_argument(option, required=True, metavar="DIR", help=what)


def _add_output(parser: argparse.ArgumentParser, step: str, metavar: str, what: str) -> None:
    """Add what a step writes, and the function that runs it."""
    name = "--output" if metavar == "DIR" else "--file"
    parser.add_argument(name, dest="output", required=True, metavar=metavar, help=what)
    add_json(parser)
    parser.set_defaults(run=partial(_run, step))


def _run(step: str, arguments: argparse.Namespace) -> None:
    from matcheval.analyses.sampling import annotations, build

    steps = {"simulate": annotations.simulate, "count": annotations.count, "sample": build.sample}
    _tell(step, arguments, steps[step](arguments))


def _tell(step: str, arguments: argparse.Namespace, written: list[str]) -> None:
    """Print which files were written, if JSON is asked for."""
    if arguments.json:
        print_json(f"replicate-{step}", {"written": written})
