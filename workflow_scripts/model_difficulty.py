"""Rule model_difficulty: fit the Gaussian model of difficulty (Recht et al., section 5.3)."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from matcheval.analyses.difficulty import (
    DIFFICULTY,
    SKILLS,
    difficulty_columns,
    model_difficulty,
    plot_difficulty,
)
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable
from matcheval.replication.tables import FITS, RESULTS


def main(
    *,
    results: Path,
    fits: Path,
    models: Sequence[str],
    sigma: float,
    seed: int,
    tables: Sequence[Path],
    skills: Path,
    plots: Sequence[Path],
) -> None:
    """Fit the model of difficulty to one pair, and write tables and figures."""
    table = RESULTS.read(results).to_pandas()
    table = table[table["model"].isin(models)].reset_index(drop=True)
    fit = FITS.read(fits).to_pandas()
    fit = fit[fit["scale"] == "probit"].iloc[0]
    row, of_models = model_difficulty(table, fit, sigma, seed)
    write_readable(pd.DataFrame([row]), DIFFICULTY, difficulty_columns, tables)
    write_table(SKILLS.from_frame(of_models), skills)
    save_figure(plot_difficulty(table, of_models, pd.Series(row)), *plots)
    logging.info(
        "replication: mu %.4f, sigma %.4f", row["mu_replication"], row["sigma_replication"]
    )


if __name__ == "__main__":
    run_script(main, snakemake)
