"""Count the annotations of workers: selection frequencies of candidates and controls."""

import argparse
from collections.abc import Sequence

from matcheval.analyses.sampling.commands import add_count
from matcheval.execution.entry_points import run_command


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and count the selections."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_count(parser)
    arguments = parser.parse_args(argv)
    run_command(arguments.run, arguments)


if __name__ == "__main__":
    main()
