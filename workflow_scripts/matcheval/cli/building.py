"""The commands that build test sets: `replicate`, `duplicates` and `warehouse`."""

import argparse

from matcheval.cli.options import add_function

_SAMPLING = "matcheval.analyses.sampling"


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
        ("allocate", "selection.allocate", "divide images among keywords, as for CIFAR-10.1"),
    ):
        description = f"{summary[0].upper()}{summary[1:]}."
        added = steps.add_parser(step, help=summary, description=description)
        add_function(added, f"{_SAMPLING}.{function}")


def add_duplicates(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a search for near duplicates."""
    parser.description = (
        "Find the images of TRAIN that are most similar to each image of TEST "
        "(docs/analyses.md#near_duplicates)."
    )
    add_function(
        parser, f"{_SAMPLING}.image_search.search", queries={"metavar": "TEST"},
        references={"metavar": "TRAIN"},
    )  # fmt: skip


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `matched-eval warehouse`, one for each step."""
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
