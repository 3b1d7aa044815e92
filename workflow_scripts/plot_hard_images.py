"""Rule plot_hard_images: a contact sheet of the hardest images."""

from collections.abc import Sequence

from matcheval.analyses.hard_images.figures import plot_hard_images
from matcheval.analyses.hard_images.tables import HARD_IMAGES
from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures


def main(
    *, table: str, folder: str, size: int | None, sheet: int, outputs: Sequence[str]
) -> None:  # fmt: skip
    """Draw the first `sheet` rows of `table` to every output, by its suffix."""
    images = labelled_pixels(read_dataset(folder), size)
    figure = plot_hard_images(HARD_IMAGES.read(table).to_pandas(), images, sheet)
    save_figures(figure, outputs)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        table=snakemake.input.table,
        folder=snakemake.params.folder,
        size=snakemake.params.size,
        sheet=snakemake.params.sheet,
        outputs=list(snakemake.output),
    )
