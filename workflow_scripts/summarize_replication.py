"""Rule summarize_replication: average change and rank agreement of every pair of a study."""

import logging
from collections.abc import Sequence

import pandas as pd

from matcheval.doors import run_script
from matcheval.replication.rendering import changes_columns, write_readable
from matcheval.replication.results import average_change
from matcheval.replication.schemas import CHANGES, RESULTS


def main(*, results: Sequence[str], outputs: Sequence[str]) -> None:
    """Write the table of `replication.schemas.CHANGES` to every output, by its suffix."""
    changes = [average_change(RESULTS.read(path).to_pandas()) for path in results]
    write_readable(pd.DataFrame(changes), CHANGES, changes_columns, outputs)
    logging.info("%d tables", len(changes))


if __name__ == "__main__":
    run_script(
        main, snakemake.log[0], results=list(snakemake.input), outputs=list(snakemake.output)
    )
