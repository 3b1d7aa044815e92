"""Rule plot_confidence: accuracy against mean confidence of one pair's models, as Fig. 1."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures
from matcheval.protocol.figures.confidence import plot_confidence
from matcheval.protocol.schemas import MODEL_TABLE


def main(*, table: Path, outputs: Sequence[Path]) -> None:
    """Draw a table of schema `schemas.MODEL_TABLE` to every output, by its suffix."""
    models = MODEL_TABLE.read(table).to_pandas()
    figure = plot_confidence(models)
    save_figures(figure, outputs)
    logging.info("%d models", len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
