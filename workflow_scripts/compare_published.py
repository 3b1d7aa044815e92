"""Rule compare_published: a study's results beside the values that a paper prints."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.published_values.tables import write_comparison
from matcheval.analyses.published_values.values import read_published
from matcheval.execution.entry_points import run_script


def main(*, study: str, published: Path, folder: Path, outputs: Sequence[Path]) -> None:
    """Write the comparison to every output, by its suffix."""
    compared = write_comparison(read_published(published, study), folder, study, outputs)
    known = compared[compared["computed"].notna()]
    logging.info("%d of %d printed numbers agree", known["agrees"].sum(), len(known))


if __name__ == "__main__":
    run_script(main, snakemake)
