"""The command `compare-models`: two models on the same images."""

import argparse
import logging
from pathlib import Path

from matcheval.cli.conditions import add_fail_if, end_if_met, with_bounds
from matcheval.cli.predictions import FILES, MAX_WARNINGS, add_layout, check_outputs, read_layout
from matcheval.io.files import check_is_file
from matcheval.io.terminal import add_json, json_rows, print_json, print_text

LOGGER = logging.getLogger(__name__)
_QUANTITIES = [*with_bounds("difference"), "accuracy-first", "accuracy-second"]


def add_compare_models(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare-models`."""
    parser.description = (
        "Compare two models on the same images: accuracies, their difference with a paired "
        "interval, McNemar's exact test, and the datapoints on which the models disagree."
    )
    parser.epilog = (
        "FIRST and SECOND hold two models' predictions, a row per datapoint, as other tools write "
        f"them. Rows\nare aligned by index or file name, where both files have them.\n\n{FILES}"
    )
    parser.add_argument("first", type=Path, metavar="FIRST", help="predictions of a model")
    parser.add_argument(
        "second", type=Path, metavar="SECOND",
        help="those of another model; differences are FIRST minus SECOND",
    )  # fmt: skip
    add_layout(parser)
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="write the datapoints on which the models disagree to DIR: disagreements.csv and "
        "disagreements.parquet",
    )  # fmt: skip
    add_fail_if(parser, _QUANTITIES)
    add_json(parser)
    parser.set_defaults(run=run_compare_models)


def run_compare_models(arguments: argparse.Namespace) -> None:
    """Print a comparison of two models, and optionally write where they disagree."""
    sources, output = [arguments.first, arguments.second], arguments.output
    for path in sources:
        check_is_file(path)
    from matcheval.api.one_set import FILES as OUTPUTS
    from matcheval.api.one_set import compare_on_one_set, describe

    if output is not None:
        check_outputs(output, OUTPUTS, sources)
    layout, n_classes = read_layout(arguments, sources)
    found = compare_on_one_set(sources, layout, n_classes)
    for text in found.notes:
        LOGGER.info("%s", text)
    for text in found.warnings[:MAX_WARNINGS]:
        LOGGER.warning("warning: %s", text)
    written = [] if output is None else found.save(output)
    if not arguments.json:
        where = f"all are in {written[0]}" if written else "--output DIR writes all"
        print_text(describe(found, where))
    (row,) = found.to_pandas(all=True).to_dict("records")
    numbers = {str(name): value for name, value in row.items()}
    if arguments.json:
        rows = json_rows(found.to_pandas("datapoints", all=True))
        told = numbers | {"datapoints": rows, "written": list(map(str, written))}
        print_json("compare-models", told)
    values = {name: 100 * numbers[name.replace("-", "_")] for name in _QUANTITIES}
    end_if_met(arguments.fail_if, {f"{found.first} and {found.second}": values})
