"""Rule plot_hard_images: draw a contact sheet of the hardest images."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.hard_images.figures import plot_hard_images
from matcheval.analyses.hard_images.tables import SCHEMA
from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure


def main(
    *, table: Path, folder: Path, size: int | None, sheet: int, outputs: Sequence[Path]
) -> None:
    """Draw the contact sheet of the hardest images of one dataset.

    Parameters
    ----------
    table : Path
        Table with the columns of `tables.SCHEMA`, the hardest image first.
    folder : Path
        Folder of the dataset.
    size : int or None
        Side of the squares that image files are resized to; None for no resizing.
    sheet : int
        Largest number of images drawn.
    outputs : sequence of Path
        Figure files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If the table is empty, or the images are files and `size` is None.
    """
    images = labelled_pixels(read_dataset(folder), size)
    figure = plot_hard_images(SCHEMA.read(table).to_pandas(), images, sheet)
    save_figure(figure, *outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
