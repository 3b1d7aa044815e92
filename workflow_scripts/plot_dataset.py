"""Rules plot_<analysis> of analyses with a table per dataset: the figure of the table."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures


def main(*, room: str, table: Path, outputs: Sequence[Path]) -> None:
    """Draw the table to every output, by its suffix; `room` is the package of the analysis."""
    schema = import_module(f"{room}.tables").SCHEMA
    figure = import_module(f"{room}.figures").plot(schema.read(table).to_pandas())
    save_figures(figure, outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
