"""Simulate the annotations of workers for a pool of candidates."""

import argparse
from collections.abc import Sequence

from matcheval.analyses.sampling.commands import add_simulate
from matcheval.execution.entry_points import run_command


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and simulate the annotations."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_simulate(parser)
    arguments = parser.parse_args(argv)
    run_command(arguments.run, arguments)


if __name__ == "__main__":
    main()
