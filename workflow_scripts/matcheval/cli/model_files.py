"""Which files `compare` reads: two files, or the files of many models by a pattern."""

import argparse
import logging
<<<<<<< HEAD
from dataclasses import dataclass
from pathlib import Path

from matcheval.errors import InputError
from matcheval.predictions.patterns import MODEL, files_by_model
=======

from matcheval.api.models import GivenModel, by_pattern
>>>>>>> main

LOGGER = logging.getLogger(__name__)
_ROLES = ("source", "target")


def find_files(arguments: argparse.Namespace) -> list[GivenModel]:
    """Find the files that `--original` and `--replication` name.

    Parameters
    ----------
    arguments : argparse.Namespace
        With `source`, `target`, `original`, `replication` and `parser`.

    Returns
    -------
    list of GivenModel
        Sorted by model; none if the command line has SOURCE and TARGET.

    Raises
    ------
    InputError
        If there are no such files.
    SystemExit
        With code 2, if the command line mixes or lacks these arguments.
    """
    has_roles = arguments.original in _ROLES
    if arguments.replication is None:
        if arguments.target is None or not has_roles:
            arguments.parser.error(
                "name two files, SOURCE and TARGET (--original is 'source' or 'target'), or give "
                "both --original and --replication, each a file or a pattern like old/{model}.csv"
            )
        return []
    if arguments.source is not None or has_roles:
        arguments.parser.error("--replication needs --original FILE, and no other files")
<<<<<<< HEAD
    return _by_pattern(arguments.original, arguments.replication)


def _by_pattern(original: str, replication: str) -> list[ModelFiles]:
    counts = {pattern.count(MODEL) for pattern in (original, replication)}
    if counts == {0}:
        return [ModelFiles("", Path(original), Path(replication))]
    if counts != {1}:
        raise InputError(
            f"--original {original} and --replication {replication}: each must hold {MODEL} once",
            remedy="Write it where the names of the files differ: 'old/{model}.parquet'",
        )
    old, new = files_by_model(original), files_by_model(replication)
    both = sorted(old.keys() & new.keys())
    if not both:
        pattern, files = (original, old) if not old else (replication, new)
        why = "there are no files of this name" if not files else "no model has files on both sets"
        raise InputError(why, file=pattern, remedy="Look at the folder, and at the pattern")
    for model in sorted(old.keys() ^ new.keys()):
        LOGGER.warning(
            "warning: model %s is left out: it has no file %s", model,
            (replication if model in old else original).replace(MODEL, model),
        )  # fmt: skip
    return [ModelFiles(model, old[model], new[model]) for model in both]


def set_name(path: Path, model: str) -> str:
    """Return what a set is called if its files do not tell.

    Parameters
    ----------
    path : Path
        A prediction file.
    model : str
        Name of the model, if the file is named after it; else empty.

    Returns
    -------
    str
        The file's name without suffix; the folder's if the file is named after the model.
    """
    rest = path.stem.replace(model, "").strip("-_. ") if model else path.stem
    return rest or path.resolve().parent.name
=======
    models, left_out = by_pattern(arguments.original, arguments.replication)
    for text in left_out:
        LOGGER.warning("warning: %s", text)
    return models
>>>>>>> main
