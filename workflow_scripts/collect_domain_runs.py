"""Rule collect_domain_runs: what all trainings and their tests have given."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.domain_generalization.results import (
    tabulate_accuracies,
    tabulate_curves,
    tabulate_runs,
)
from matcheval.domain_generalization.tables import ACCURACIES, CURVES, PLAN, RUNS
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.study.trained_models import TestedModels


def main(
    *,
    models: Sequence[str],
    epoch_steps: int,
    tested: Sequence[TestedModels],
    predictions: str,
    plan: Sequence[Path],
    histories: Sequence[str],
    runs: Sequence[Path],
    curves: Sequence[Path],
    accuracies: Sequence[Path],
) -> None:
    """Write the tables of runs, learning curves and accuracies."""
    learning = tabulate_curves(models, histories, epoch_steps)
    found = tabulate_runs(PLAN.read(plan[0]).to_pandas(), learning)
    counted = tabulate_accuracies(tested, predictions)
    for schema, table, paths in (
        (RUNS, found, runs), (CURVES, learning, curves), (ACCURACIES, counted, accuracies),
    ):  # fmt: skip
        for path in paths:
            write_table(schema.from_frame(table), path)
    logging.info("%d trainings, %d accuracies", len(models), len(counted))


if __name__ == "__main__":
    run_script(main, snakemake)
