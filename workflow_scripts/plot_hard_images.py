"""Rule plot_hard_images: a contact sheet of the hardest images."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.hard_images.figures import plot_hard_images
from matcheval.analyses.hard_images.tables import SCHEMA
from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures


def main(
    *, table: Path, folder: Path, size: int | None, sheet: int, outputs: Sequence[Path]
) -> None:
    """Draw the first `sheet` rows of `table` to every output, by its suffix."""
    images = labelled_pixels(read_dataset(folder), size)
    figure = plot_hard_images(SCHEMA.read(table).to_pandas(), images, sheet)
    save_figures(figure, outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
