"""Rule write_summary: gaps before and after matching of all pairs of a study, on one page."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.io.files import atomic_file
from matcheval.protocol.schemas import MODEL_TABLE
from matcheval.protocol.summary import summarize_gaps, write_summary


def main(*, study: str, tables: Sequence[Path], page: Path) -> None:
    """Write the Markdown page of the tables, which are of schema `schemas.MODEL_TABLE`."""
    summaries = [summarize_gaps(MODEL_TABLE.read(path).to_pandas()) for path in tables]
    with atomic_file(page) as partial:
        partial.write_text(write_summary(f"Study `{study}`", summaries), encoding="utf-8")
    logging.info("%d tables summarized", len(tables))


if __name__ == "__main__":
    run_script(main, snakemake)
