"""Rule tabulate_retraining: accuracies of the models of one experiment, and its findings."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.retraining.conclusions import write_page
from matcheval.analyses.retraining.tables import TRIALS, tabulate_trials
from matcheval.analyses.retraining.trials import Trial
from matcheval.datasets.suites import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.files import atomic_file
from matcheval.io.tables import write_table


def main(
    *,
    experiment: str,
    kind: str,
    trials: Sequence[Trial],
    files: Sequence[str],
    pair: Pair,
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of one experiment, and its page in Markdown."""
    table = tabulate_trials(experiment, kind, trials, files, confidence)
    for path in outputs:
        if path.suffix == ".md":
            with atomic_file(path) as partial:
                text = write_page(table, pair.original, pair.replication)
                partial.write_text(text, encoding="utf-8")
        else:
            write_table(TRIALS.from_frame(table), path)
    logging.info("%s: %d accuracies", experiment, len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
