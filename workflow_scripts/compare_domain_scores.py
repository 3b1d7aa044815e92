"""Rule compare_domain_scores: how well scores predict the accuracies of generalised models."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from matcheval.accuracy_prediction.scoring import SCORES
from matcheval.domain_generalization.plan import Block
from matcheval.domain_generalization.predictability import (
    draw_scores,
    predictability_columns,
    scores_of_runs,
    tabulate_near_far,
    tabulate_predictability,
)
from matcheval.domain_generalization.results import chosen_runs
from matcheval.domain_generalization.tables import ACCURACIES, NEAR_FAR, PREDICTABILITY, RUNS
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable

_NOTE = (
    "Base: validation parts of the sources. Reference: their training parts. Each set is predicted "
    "by the line through all others; means over runs."
)


def main(
    *,
    blocks: Sequence[Block],
    rules: Sequence[str],
    confidence: float,
    runs: Path,
    accuracies: Path,
    scores: Sequence[Path],
    predictability: Sequence[Path],
    near_far: Sequence[Path],
    figure: Sequence[Path],
) -> None:
    """Write the tables of predictability and of gains by distance, and the figure of scores."""
    chosen = chosen_runs(
        blocks, RUNS.read(runs).to_pandas(), ACCURACIES.read(accuracies).to_pandas(), rules
    )
    known = pd.concat([SCORES.read(path).to_pandas() for path in scores], ignore_index=True)
    scored = scores_of_runs(chosen, known)
    table = tabulate_predictability(scored, confidence)
    write_readable(table, PREDICTABILITY, predictability_columns, predictability, [_NOTE])
    distances = tabulate_near_far(chosen, scored)
    for path in near_far:
        write_table(NEAR_FAR.from_frame(distances), path)
    save_figure(draw_scores(scored, rules[0]), *figure)
    logging.info("%d tables of scores, %d rows", len(scores), len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
