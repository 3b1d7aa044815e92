"""Rule plot_near_duplicates: draw a contact sheet of possible near duplicates, for review."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.near_duplicates.search import NEAREST_IMAGES, plot_near_duplicates
from matcheval.datasets.folders import read_dataset
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure


def main(
    *,
    nearest: Path,
    queries: Path,
    references: Path,
    rows: int,
    outputs: Sequence[Path],
) -> None:
    """Draw the images that are most similar to a reference, beside their nearest references."""
    sets = [read_dataset(folder) for folder in (queries, references)]
    figure = plot_near_duplicates(NEAREST_IMAGES.read(nearest).to_pandas(), *sets, rows)
    save_figure(figure, *outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
