"""Rule tabulate_revisions: accuracies on the successive revisions of a dataset."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.revisions import SCHEMA, tabulate_revisions, text_columns
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import ACCURACIES


def main(
    *,
    series: str,
    datasets: Sequence[str],
    accuracies: Sequence[Path],
    without: Sequence[str],
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of one series of revisions."""
    tables = {name: ACCURACIES.read(f) for name, f in zip(datasets, accuracies, strict=True)}
    table = tabulate_revisions(tables, series, confidence, without)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%d revisions", len(datasets))


if __name__ == "__main__":
    run_script(main, snakemake)
