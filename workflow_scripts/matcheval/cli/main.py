"""Entry point of `matched-eval`."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper

from matcheval.cli.parser import build_parser
from matcheval.execution.entry_points import run_command


def main(argv: Sequence[str] | None = None) -> None:
    """Run `matched-eval`."""
    if isinstance(sys.stdout, TextIOWrapper):  # print '?' where ε or ± cannot be encoded
        sys.stdout.reconfigure(errors="replace")
    arguments = build_parser().parse_args(argv)
    run_command(arguments.run, arguments)
