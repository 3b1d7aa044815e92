"""Rule summarize_replication: average change and agreement of ranks for every pair of a study."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import read_parquet
from matcheval.io.text_tables import write_readable
from matcheval.replication.tables import CHANGES, RESULTS, changes_columns, summarize_changes


def main(
    *,
    results: Sequence[Path],
    selection_frequencies: Mapping[str, Path],
    range_without: Sequence[str],
    outputs: Sequence[Path],
) -> None:
    """Write the table of average changes."""
    tables = [RESULTS.read(path).to_pandas() for path in results]
    frequencies = {
        name: float(read_parquet(path)["frequency"].to_numpy().mean())
        for name, path in selection_frequencies.items()
    }
    changes = summarize_changes(
        tables, range_without=range_without, selection_frequencies=frequencies
    )
    write_readable(changes, CHANGES, changes_columns, outputs)
    logging.info("%d tables", len(changes))


if __name__ == "__main__":
    run_script(main, snakemake)
