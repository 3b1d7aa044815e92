"""Rule plot_near_duplicates: a contact sheet of near duplicates, for a person to review."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.near_duplicates.figures import plot_near_duplicates
from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.analyses.near_duplicates.schemas import NEAREST_IMAGES
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures


def main(
    *,
    nearest: Path,
    queries: Path,
    references: Path,
    size: int | None,
    rows: int,
    outputs: Sequence[Path],
) -> None:
    """Draw the most similar images to every output, by its suffix."""
    sets = [labelled_pixels(read_dataset(folder), size) for folder in (queries, references)]
    figure = plot_near_duplicates(NEAREST_IMAGES.read(nearest).to_pandas(), *sets, rows)
    save_figures(figure, outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
