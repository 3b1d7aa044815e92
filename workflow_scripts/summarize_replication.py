"""Rule summarize_replication: average change and agreement of ranks for every pair of a study."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import read_parquet
from matcheval.io.text_tables import write_readable
from matcheval.replication.columns import changes_columns
from matcheval.replication.results import summarize_changes
from matcheval.replication.schemas import CHANGES, RESULTS


def main(
    *,
    results: Sequence[Path],
    selection_frequencies: Mapping[str, Path],
    range_without: Sequence[str],
    outputs: Sequence[Path],
) -> None:
    """Write the table of average changes.

    Parameters
    ----------
    results : sequence of Path
        Tables with the columns of `replication.schemas.RESULTS`, one for each pair and value of
        `top`.
    selection_frequencies : mapping of str to Path
        Files of the selection frequencies of sampled datasets, by dataset.
    range_without : sequence of str
        Models left out of the range that average changes are compared with.
    outputs : sequence of Path
        Tables to write, with the columns of `replication.schemas.CHANGES`, in the formats of their
        suffixes.
    """
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
