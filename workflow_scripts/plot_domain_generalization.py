"""Rule plot_domain_generalization: a figure of domain generalisation."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.domain_generalization.figures import Tables, draw
from matcheval.domain_generalization.tables import CURVES, GAINS, RESULTS, RUNS
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure


def main(
    *,
    kind: str,
    selection: str,
    algorithm: str,
    runs: Path,
    curves: Path,
    results: Path,
    gains: Path,
    outputs: Sequence[Path],
) -> None:
    """Write a figure."""
    tables = Tables(
        *(
            schema.read(path).to_pandas()
            for schema, path in (
                (RUNS, runs), (CURVES, curves), (RESULTS, results), (GAINS, gains),
            )
        ),
        selection,
    )  # fmt: skip
    save_figure(draw(kind, tables, algorithm), *outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
