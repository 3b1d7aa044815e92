"""Rule tabulate_experiment: accuracies of an experiment's models, and what they show."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.analyses.retraining.conclusions import write_page
from matcheval.analyses.retraining.tables import TRIALS, tabulate_trials
from matcheval.execution.entry_points import run_script
from matcheval.io.files import whole_file
from matcheval.io.tables import write_table


def main(
    *,
    experiment: str,
    kind: str,
    trials: Sequence[Mapping[str, Any]],
    files: Sequence[str],
    pair: Mapping[str, Any],
    confidence: float,
    tables: Sequence[str],
    page: str,
) -> None:
    """Write a table of `experiments.results.TRIALS` to `tables`, and the page in Markdown."""
    table = tabulate_trials(experiment, kind, trials, files, confidence)
    for path in tables:
        write_table(TRIALS.from_frame(table), path)
    with whole_file(Path(page)) as partial:
        text = write_page(table, pair["original"], pair["replication"])
        partial.write_text(text, encoding="utf-8")
    logging.info("%s: %d accuracies", experiment, len(table))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        experiment=snakemake.wildcards.experiment,
        kind=snakemake.params.kind,
        trials=snakemake.params.trials,
        files=list(snakemake.input),
        pair=snakemake.params.pair,
        confidence=snakemake.params.confidence,
        tables=[snakemake.output.parquet, snakemake.output.csv],
        page=snakemake.output.page,
    )
