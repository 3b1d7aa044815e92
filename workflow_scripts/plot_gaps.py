"""Rule plot_gaps: what the gaps of a pair consist of, and narrowings beside their reference."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.protocol.figures.gaps import plot_gaps
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE


def main(
    *,
    table: Path,
    gaps: Path,
    means: Path,
    matching: str,
    title: str,
    outputs: Sequence[Path],
) -> None:
    """Plot the gaps of the models of one pair and matching."""
    models = MODEL_TABLE.read(table).to_pandas()
    of_matching = MEAN_GAPS.read(means).to_pandas().set_index("matching", drop=False)
    figure = plot_gaps(models, GAPS.read(gaps).to_pandas(), of_matching.loc[matching], title)
    save_figure(figure, *outputs)
    logging.info("%d models", len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
