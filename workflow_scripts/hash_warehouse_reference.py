"""Hash the images of a set that a warehouse is compared with."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_command
from matcheval.warehouse.build import hash_job


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouse", type=Path, required=True, help="the warehouse's file")
    parser.add_argument("--folder", type=Path, required=True, help="folder of its results")
    parser.add_argument("--name", required=True, help="name of the set")
    parser.add_argument(
        "--downloads", type=Path, required=True, help="folder of the published files"
    )
    parser.add_argument("--threads", type=int, default=1, help="processes that decode images")
    run_command(hash_job, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
