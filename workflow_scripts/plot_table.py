"""Rules plot_<analysis> of the analyses with a table per dataset, pair or suite: plot it."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure


def main(*, room: str, table: Path, outputs: Sequence[Path]) -> None:
    """Plot one table."""
    schema = import_module(f"{room}.tables").SCHEMA
    figure = import_module(f"{room}.figures").plot(schema.read(table).to_pandas())
    save_figure(figure, *outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
