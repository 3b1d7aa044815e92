"""The commands `matched-eval replicate`, the steps of building a test set, and `duplicates`."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matcheval.cli.options import add_function
from matcheval.errors import InputError

_ROOM = "matcheval.analyses.sampling"


def add_replicate(parser: argparse.ArgumentParser) -> None:
    """Add the steps of building a new test set."""
    parser.description = (
        "Build a replication test set (docs/analyses.md#sampling). Datasets are given as folders "
        "written by the workflow."
    )
    steps = parser.add_subparsers(title="steps", metavar="STEP", dest="step", required=True)
    for step, function, summary in (
        ("simulate", "annotations.simulate", "simulate workers' annotations, for trial runs"),
        ("count", "annotations.count", "count workers' annotations: selection frequencies"),
        ("sample", "build.sample", "sample the new test set"),
        ("allocate", "commands.allocate", "divide images among keywords, as for CIFAR-10.1"),
    ):
        description = f"{summary[0].upper()}{summary[1:]}."
        added = steps.add_parser(step, help=summary, description=description)
        add_function(added, f"{_ROOM}.{function}")


def add_duplicates(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a search for near duplicates."""
    parser.description = (
        "Find the images of TRAIN that are most similar to each image of TEST "
        "(docs/analyses.md#near_duplicates)."
    )
    add_function(
        parser, f"{_ROOM}.image_search.search", queries={"metavar": "TEST"},
        references={"metavar": "TRAIN"},
    )  # fmt: skip


def allocate(
    counts: Path, *, file: Path, per_class: int | None = None, one_per: int | None = None,
    top_keywords: int = 50,
) -> Mapping[str, Any]:  # fmt: skip
    """Divide the images of every class among its keywords, and write the allocation.

    Parameters
    ----------
    counts : path-like
        JSON file with the number of images by class and keyword.
    file : path-like
        The allocation to write (.json).
    per_class : int
        Images to allocate per class.
    one_per : int
        Instead of a fixed total: one image per so many images of a keyword, rounded up.
    top_keywords : int
        Only so many keywords of a class, the most frequent ones.
    """
    from matcheval.analyses.sampling.selection import keyword_targets, proportional_targets
    from matcheval.io.files import atomic_file, readable

    if (per_class is None) == (one_per is None):
        raise InputError("give one of --per-class and --one-per")
    if top_keywords < 1:
        raise InputError(f"--top-keywords is {top_keywords}. Give at least 1")
    allocated = keyword_targets if one_per is None else proportional_targets
    number = int((per_class if one_per is None else one_per) or 0)
    what = "readable as JSON with image counts by class and keyword"
    with readable(counts, what, AttributeError, TypeError):
        targets = {
            name: allocated({k: int(n) for k, n in of.items()}, number, top_keywords)
            for name, of in json.loads(counts.read_text(encoding="utf-8")).items()
        }
    with atomic_file(file) as partial_file:
        text = json.dumps(targets, indent=2, ensure_ascii=False)
        partial_file.write_text(text + "\n", encoding="utf-8")
    return {"written": [str(file)]}
