"""Rule plot_matched_accuracy: accuracies and gaps before and after matching, as Fig. 3 to 7."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures
from matcheval.protocol.figures.matched_accuracy import plot_matched_accuracy
from matcheval.protocol.schemas import MODEL_TABLE


def main(*, table: Path, outputs: Sequence[Path]) -> None:
    """Draw a table of schema `schemas.MODEL_TABLE` to every output, by its suffix."""
    models = MODEL_TABLE.read(table).to_pandas()
    figure = plot_matched_accuracy(models)
    save_figures(figure, outputs)
    logging.info("%d models", len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
