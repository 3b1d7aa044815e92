"""Rule predict_accuracy: accuracies on the sets of a suite from scores, and their errors."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.accuracy_prediction.aggregation import (
    CORRELATIONS,
    ERRORS,
    tabulate_correlations,
    tabulate_errors,
)
from matcheval.accuracy_prediction.predicting import (
    Calibration,
    predict_accuracies,
    without_placeholders,
)
from matcheval.accuracy_prediction.reading import correlation_columns, error_columns, setting_notes
from matcheval.accuracy_prediction.schemas import PREDICTED, SCORES
from matcheval.accuracy_prediction.scores.registry import ALL_SCORES
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable


def main(
    *,
    scores: Sequence[Path],
    agreement: Sequence[Path],
    rotation: Sequence[Path],
    calibrations: Sequence[Calibration],
    loo: bool,
    regressors: Sequence[str],
    settings: Mapping[str, Any],
    confidence: float,
    predicted: Sequence[Path],
    errors: Sequence[Path],
    correlations: Sequence[Path],
) -> None:
    """Write predicted accuracies, their errors, and the correlations of the scores.

    Parameters
    ----------
    scores, agreement, rotation : sequence of Path
        Tables of scores.
    calibrations : sequence of Calibration
        Regressions fitted on some groups of sets and used on others.
    loo : bool
        Whether every set is predicted from all others.
    regressors : sequence of str
        Of the calibrations.
    settings : mapping of str to value
        Settings that are named under the tables.
    confidence : float
        Level of the intervals, in (0, 1).
    predicted, errors, correlations : sequence of Path
        Files to write, in the formats of their suffixes.
    """
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    every = without_placeholders(pd.concat(tables, ignore_index=True))
    found = predict_accuracies(every, ALL_SCORES, calibrations, loo=loo, regressors=regressors)
    for path in predicted:
        write_table(PREDICTED.from_frame(found), path)
    missing = found[found["predicted"].isna()]
    for table, schema, readable, paths, reasons in (
        (tabulate_errors(found, confidence), ERRORS, error_columns, errors, missing["reason"]),
        (
            tabulate_correlations(every), CORRELATIONS, correlation_columns, correlations,
            every.loc[every["score"].isna(), "reason"],
        ),
    ):  # fmt: skip
        notes = setting_notes(settings, reasons.tolist())
        write_readable(table, schema, partial(readable, known=ALL_SCORES), paths, notes)
    logging.info("%d predictions, %d of them n/a", len(found), len(missing))


if __name__ == "__main__":
    run_script(main, snakemake)
