"""Rule plot_confidence: accuracy against mean confidence on one pair (Fig. 1)."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.protocol.figures.confidence import plot_confidence
from matcheval.protocol.schemas import MODEL_TABLE


def main(*, table: Path, outputs: Sequence[Path]) -> None:
    """Plot accuracy against mean confidence of the models of one pair."""
    models = MODEL_TABLE.read(table).to_pandas()
    figure = plot_confidence(models)
    save_figure(figure, *outputs)
    logging.info("%d models", len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
