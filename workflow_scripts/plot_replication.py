"""Rule plot_replication: replication against original accuracy (Recht et al., Fig. 1 and 2)."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.replication.figures import plot_replication
from matcheval.replication.tables import FITS, REGION, RESULTS
from matcheval.statistics.lines import Scale


def main(*, results: Path, fits: Path, region: Path, scale: Scale, outputs: Sequence[Path]) -> None:
    """Plot models, fitted line and confidence region on one scale."""
    models = RESULTS.read(results).to_pandas()
    table = FITS.read(fits).to_pandas()
    fit = table[table["scale"] == scale.value].iloc[0]
    figure = plot_replication(models, fit, REGION.read(region).to_pandas(), scale)
    save_figure(figure, *outputs)
    logging.info("%d models", len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
