"""Arguments that say how the user's prediction files are laid out."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.errors import InputError
from matcheval.predictions.files import shared_classes
from matcheval.predictions.layout import Layout, check_columns_given, read_classes

LOGGER = logging.getLogger(__name__)
_MAX_SHOWN = 10  # classes in a message


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `read_layout` reads."""
    parser.add_argument(
        "--classes", metavar="N|FILE",
        help="number of classes, to check the files against; or the names of the classes, in the "
        "order of their labels: a file with a name per line, cifar10 or imagenet (default: if the "
        "files hold names, all that occur, sorted)",
    )  # fmt: skip
    parser.add_argument(
        "--columns", metavar="OURS=THEIRS,...",
        help="names of the files' columns: label=target,prediction=pred,probability=conf; scores "
        "with a column per class by what these begin with: probabilities=score_*",
    )  # fmt: skip
    parser.add_argument(
        "--first-label", type=int, choices=[0, 1], default=0,
        help="number of the first class in the files (default: %(default)s)",
    )  # fmt: skip


def read_layout(
    arguments: argparse.Namespace, paths: Sequence[Path]
) -> tuple[Layout, int | None]:  # fmt: skip
    """Read these arguments, and find the names of classes in the files where none are given."""
    columns = _columns(arguments.columns)
    given = None if arguments.classes is None else read_classes(arguments.classes)
    if isinstance(given, tuple):
        return Layout(columns, given, arguments.first_label), None
    layout = Layout(columns, None, arguments.first_label)
    found = shared_classes(paths, layout)
    if found is not None:
        more = ", ..." if len(found) > _MAX_SHOWN else ""
        LOGGER.warning(
            "classes: the %d names that occur in the files, sorted: %s%s (--classes FILE gives "
            "others, or another order)", len(found), ", ".join(found[:_MAX_SHOWN]), more,
        )  # fmt: skip
    return Layout(columns, found, arguments.first_label), given


def _columns(text: str | None) -> dict[str, str]:
    """Read `label=target,prediction=pred`."""
    columns: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        ours, is_pair, theirs = (piece.strip() for piece in part.partition("="))
        if not is_pair or ours in columns:
            raise InputError(
                f"--columns '{text}': '{part}' is not of the form ours=theirs, or occurs twice",
                remedy="Write it like --columns label=target,prediction=pred,probability=conf",
            )
        columns[ours] = theirs
    check_columns_given(columns, "command line", "--columns")
    return columns
