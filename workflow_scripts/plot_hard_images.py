"""Rule plot_hard_images: draw a contact sheet of the hardest images."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.hard_images.figures import plot_hard_images
from matcheval.analyses.hard_images.tables import SCHEMA
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure


def main(*, table: Path, folder: Path, sheet: int, outputs: Sequence[Path]) -> None:
    """Draw the contact sheet of the hardest images of one dataset."""
    figure = plot_hard_images(SCHEMA.read(table).to_pandas(), read_dataset(folder), sheet)
    save_figure(figure, *outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
