"""Which files `compare` reads: two files, or the files of many models by a pattern."""

import argparse
import logging

from matcheval.api.models import GivenModel, by_pattern

LOGGER = logging.getLogger(__name__)
_ROLES = ("source", "target")


def find_files(arguments: argparse.Namespace) -> list[GivenModel]:
    """Find the files that `--original` and `--replication` name."""
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
    models, left_out = by_pattern(arguments.original, arguments.replication)
    for text in left_out:
        LOGGER.warning("warning: %s", text)
    return models
