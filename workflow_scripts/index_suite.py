"""Rule index_suite: check the datasets of a suite, and write which they are."""

import logging
from collections.abc import Mapping
from pathlib import Path

from matcheval.datasets.suites import Suite, write_suite
from matcheval.execution.entry_points import run_script


def main(*, suite: Suite, folders: Mapping[str, Path], index: Path) -> None:
    """Check the prepared datasets of a suite against each other, and write what they contain."""
    write_suite(suite, folders, index)
    logging.info("%s: %d datasets", suite.name, len(folders))


if __name__ == "__main__":
    run_script(main, snakemake)
