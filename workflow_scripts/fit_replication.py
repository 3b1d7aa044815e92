"""Rule fit_replication: lines through one pair's models, with intervals and regions."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable
from matcheval.replication.columns import fits_columns
from matcheval.replication.fits import fit_replication
from matcheval.replication.schemas import FITS, REGION, RESULTS
from matcheval.replication.settings import ReplicationSettings


def main(*, results: str, settings: Mapping[str, Any], outputs: Sequence[str], region: str) -> None:
    """Write fits to every output, by its suffix (`schemas.FITS`), and the `schemas.REGION`."""
    table = RESULTS.read(results).to_pandas()
    given = ReplicationSettings.from_mapping({**settings, "top": [int(table["top"].iloc[0])]})
    fits = [fit_replication(table, scale, given) for scale in given.scales]
    write_readable(pd.DataFrame([fit.row for fit in fits]), FITS, fits_columns, outputs)
    write_table(REGION.from_frame(pd.concat([fit.region for fit in fits])), region)
    for fit in fits:
        logging.info("%s fit of %d models", fit.row["scale"], fit.row["n_models"])


if __name__ == "__main__":
    region, *tables = snakemake.output
    run_script(
        main,
        snakemake.log[0],
        results=snakemake.input.results,
        settings=snakemake.params.settings,
        outputs=tables,
        region=region,
    )
