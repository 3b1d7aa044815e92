"""Sample test sets from pools: simulate or count workers' annotations, sample a dataset."""

import argparse
from collections.abc import Sequence

from matcheval.analyses.sampling.commands import add_count, add_sample, add_simulate
from matcheval.execution.entry_points import run_command


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the step."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(title="steps", required=True)
    for name, add in (("simulate", add_simulate), ("count", add_count), ("dataset", add_sample)):
        add(steps.add_parser(name))
    arguments = parser.parse_args(argv)
    run_command(arguments.run, arguments)


if __name__ == "__main__":
    main()
