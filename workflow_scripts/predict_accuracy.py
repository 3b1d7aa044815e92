"""Rule predict_accuracy: accuracies on the sets of a suite from scores, and their errors."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.accuracy_prediction.errors import (
    CORRELATIONS,
    COUNTS,
    ERRORS,
    GROUP_GAPS,
    RANKINGS,
    tabulate_correlations,
    tabulate_counts,
    tabulate_errors,
    tabulate_group_gaps,
    tabulate_rankings,
)
from matcheval.accuracy_prediction.predicting import (
    PREDICTED,
    Calibration,
    predict_accuracies,
    with_places,
    without_placeholders,
)
from matcheval.accuracy_prediction.reading import (
    Paper,
    correlation_columns,
    count_columns,
    error_columns,
    gap_columns,
    note,
    published_errors,
    ranking_columns,
    setting_notes,
)
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scoring import SCORES
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable


def main(
    *,
    suite: str,
    scores: Sequence[Path],
    agreement: Sequence[Path],
    rotation: Sequence[Path],
    calibrations: Sequence[Calibration],
    loo: bool,
    regressors: Sequence[str],
    clip: bool,
    places: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    confidence: float,
    uncounted: Sequence[str],
    published: Paper,
    predicted: Sequence[Path],
    errors: Sequence[Path],
    correlations: Sequence[Path],
    group_gaps: Sequence[Path],
    rankings: Sequence[Path],
    counts: Sequence[Path],
) -> None:
    """Write predicted accuracies, their errors, and what the scores and errors go with."""
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    every = with_places(without_placeholders(pd.concat(tables, ignore_index=True)), places)
    found = predict_accuracies(
        every, ALL_SCORES, calibrations, loo=loo, regressors=regressors, clip=clip
    )
    for path in predicted:
        write_table(PREDICTED.from_frame(found), path)
    missing = found[found["predicted"].isna()]
    mean_errors = tabulate_errors(found[~found["model"].isin(uncounted)], confidence)
    printed = published_errors(published, suite)
    of_errors = setting_notes(settings, missing["reason"].tolist())
    if printed:
        of_errors.append(note(published))
    notes = setting_notes(settings)
    of_scores = setting_notes(settings, every.loc[every["score"].isna(), "reason"].tolist())
    write_readable(
        mean_errors, ERRORS,
        partial(error_columns, known=ALL_SCORES, published=printed, paper=published.upper()),
        errors, of_errors,
    )  # fmt: skip
    write_readable(
        tabulate_correlations(every), CORRELATIONS,
        partial(correlation_columns, known=ALL_SCORES, uncounted=uncounted),
        correlations, of_scores,
    )  # fmt: skip
    write_readable(
        tabulate_group_gaps(every), GROUP_GAPS, partial(gap_columns, uncounted=uncounted),
        group_gaps, notes,
    )  # fmt: skip
    write_readable(tabulate_rankings(mean_errors), RANKINGS, ranking_columns, rankings, notes)
    write_readable(tabulate_counts(mean_errors, found), COUNTS, count_columns, counts, notes)
    logging.info("%d predictions, %d of them n/a", len(found), len(missing))


if __name__ == "__main__":
    run_script(main, snakemake)
