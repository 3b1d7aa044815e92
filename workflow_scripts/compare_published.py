"""Rule compare_published: compare the results of a study with the values printed in a paper."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.published_values.tables import read_published, write_comparison
from matcheval.execution.entry_points import run_script


def main(*, study: str, published: Path, folder: Path, outputs: Sequence[Path]) -> None:
    """Write the comparison of published and computed values."""
    compared = write_comparison(read_published(published, study), folder, study, outputs)
    known = compared[compared["computed"].notna()]
    logging.info("%d of %d printed numbers agree", known["agrees"].sum(), len(known))


if __name__ == "__main__":
    run_script(main, snakemake)
