"""Sample a test set from a pool of annotated candidates."""

import argparse
from collections.abc import Sequence

from matcheval.analyses.sampling.commands import add_sample
from matcheval.execution.entry_points import run_command


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and sample the dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_sample(parser)
    arguments = parser.parse_args(argv)
    run_command(arguments.run, arguments)


if __name__ == "__main__":
    main()
