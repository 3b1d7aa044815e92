"""Rule tabulate_runs: average the runs of a pair over seeds, a table per matching."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.protocol.comparisons import suspicions_in, with_suspicions
from matcheval.protocol.schemas import COMPARISON_RUNS, MODEL_TABLE
from matcheval.protocol.tables import tabulate_runs


def main(*, matchings: Sequence[str], runs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Write the averages of the runs over seeds."""
    n_runs, n_outputs = len(runs) // len(matchings), len(outputs) // len(matchings)
    for number, matching in enumerate(matchings):
        mine = runs[number * n_runs : (number + 1) * n_runs]
        read = [COMPARISON_RUNS.read(path) for path in mine]
        table = with_suspicions(MODEL_TABLE.from_frame(tabulate_runs(read)), suspicions_in(read))
        for path in outputs[number * n_outputs : (number + 1) * n_outputs]:
            write_table(table, path)
        logging.info("%s: %d models from %d batches", matching, table.num_rows, n_runs)


if __name__ == "__main__":
    run_script(main, snakemake)
