"""Build one dataset from other datasets: a part, a union, or a set labelled by origin."""

import argparse
import logging
from collections.abc import Sequence

from matcheval.datasets.derived import Derivation, derive
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.execution.entry_points import run_command

log = logging.getLogger("derive_dataset")


def derive_dataset(derivation: str, sources: Sequence[str], output: str) -> None:
    """Build a derived dataset."""
    dataset = derive(Derivation.from_json(derivation), [read_dataset(f) for f in sources])
    write_dataset(dataset, output)
    log.info("%s: %d images, sha256 %s", dataset.name, len(dataset), dataset.sha256[:16])


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and build the dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--derivation", required=True, help="what to build, a JSON object")
    parser.add_argument("--sources", required=True, nargs="+", help="dataset folders")
    parser.add_argument("--output", required=True, help="folder to write")
    run_command(derive_dataset, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
