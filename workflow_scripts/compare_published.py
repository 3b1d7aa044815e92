"""Rule compare_published: a study's results beside the values that a paper prints."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.published_values.tables import (
    COMPARED,
    compare_published,
    compared_columns,
    page,
)
from matcheval.analyses.published_values.values import read_published
from matcheval.execution.entry_points import run_script
from matcheval.io.files import whole_file
from matcheval.io.text_tables import write_readable


def main(*, study: str, published: str, folder: str, tables: Sequence[str], text: str) -> None:
    """Write the table of `replication.schemas.COMPARED` by suffixes, and the page to `text`."""
    compared = compare_published(read_published(published, study), Path(folder))
    write_readable(compared, COMPARED, compared_columns, tables)
    with whole_file(text) as partial:
        partial.write_text(page(compared, study), encoding="utf-8")
    known = compared[compared["computed"].notna()]
    logging.info("%d of %d printed numbers agree", known["agrees"].sum(), len(known))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        study=snakemake.params.study,
        published=snakemake.input.published,
        folder=snakemake.params.folder,
        tables=[snakemake.output.csv, snakemake.output.parquet, snakemake.output.tex],
        text=snakemake.output.page,
    )
