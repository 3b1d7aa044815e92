"""Rule tabulate_revisions: accuracies on the successive revisions of a dataset."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.revisions.tables import SCHEMA, tabulate_revisions, text_columns
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.schemas import ACCURACIES


def main(
    *,
    series: str,
    datasets: Sequence[str],
    accuracies: Sequence[Path],
    without: Sequence[str],
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of one series of revisions.

    Parameters
    ----------
    series : str
        Name of the series.
    datasets : sequence of str
        Names of the revisions, first to last.
    accuracies : sequence of Path
        Accuracies on each revision, with the columns of `predictions.schemas.ACCURACIES`.
    without : sequence of str
        Models to leave out.
    confidence : float
        Level of the intervals, in (0, 1).
    outputs : sequence of Path
        Files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If a revision has no accuracy of a model.
    """
    tables = {name: ACCURACIES.read(f) for name, f in zip(datasets, accuracies, strict=True)}
    table = tabulate_revisions(tables, series, confidence, without)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%d revisions", len(datasets))


if __name__ == "__main__":
    run_script(main, snakemake)
