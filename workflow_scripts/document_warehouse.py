"""Write the tables, figures and pages of a warehouse."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_command
from matcheval.warehouse.build import document_job


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouse", type=Path, required=True, help="the warehouse's file")
    parser.add_argument("--folder", type=Path, required=True, help="folder of its results")
    run_command(document_job, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
