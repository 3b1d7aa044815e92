"""Rule fit_replication: fit lines to the accuracies on one pair, with confidence regions."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable
from matcheval.replication.fits import ReplicationSettings, fit_replication
from matcheval.replication.tables import FITS, REGION, RESULTS, fits_columns


def main(
    *,
    results: Path,
    settings: ReplicationSettings,
    families: Mapping[str, str],
    outputs: Sequence[Path],
    region: Path,
) -> None:
    """Fit a line on every scale, and write the fits and their confidence regions."""
    table = RESULTS.read(results).to_pandas()
    fits = [fit_replication(table, scale, settings, families) for scale in settings.scales]
    write_readable(pd.DataFrame([fit.row for fit in fits]), FITS, fits_columns, outputs)
    write_table(REGION.from_frame(pd.concat([fit.region for fit in fits])), region)
    for fit in fits:
        logging.info("%s fit of %d models", fit.row["scale"], fit.row["n_models"])


if __name__ == "__main__":
    run_script(main, snakemake)
