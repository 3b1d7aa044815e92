"""Rule plot_matched_accuracy: accuracies and gaps before and after matching (Fig. 3 to 7)."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.protocol.figures.gaps import plot_matched_accuracy
from matcheval.protocol.schemas import GAPS, MODEL_TABLE


def main(*, table: Path, gaps: Path, title: str, outputs: Sequence[Path]) -> None:
    """Plot accuracies and gaps of the models of one pair before and after matching."""
    models = MODEL_TABLE.read(table).to_pandas()
    figure = plot_matched_accuracy(models, title, GAPS.read(gaps).to_pandas())
    save_figure(figure, *outputs)
    logging.info("%d models", len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
