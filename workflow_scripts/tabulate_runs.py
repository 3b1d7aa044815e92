"""Rule tabulate_runs: average the runs of one pair and criterion over seeds, a row per model."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.protocol.schemas import COMPARISON_RUNS, MODEL_TABLE
from matcheval.protocol.tables import tabulate_runs


def main(*, runs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Write the averages of the runs over seeds.

    Parameters
    ----------
    runs : sequence of Path
        Runs of the batches of models, with the columns of `schemas.COMPARISON_RUNS`.
    outputs : sequence of Path
        Tables to write, with the columns of `schemas.MODEL_TABLE`, in the formats of their
        suffixes.
    """
    frame = tabulate_runs([COMPARISON_RUNS.read(path) for path in runs])
    table = MODEL_TABLE.from_frame(frame)
    for path in outputs:
        write_table(table, path)
    logging.info("%d models from %d batches", table.num_rows, len(runs))


if __name__ == "__main__":
    run_script(main, snakemake)
