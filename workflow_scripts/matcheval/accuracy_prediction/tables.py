"""The jobs that write the tables of accuracy prediction."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.accuracy_prediction import differences as compared
from matcheval.accuracy_prediction import errors as tabulated
from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.predicting import PREDICTED
from matcheval.accuracy_prediction.scoring import SCORES, WHOLE

LOGGER = logging.getLogger(__name__)


def write_predictions(
    *, scores: Sequence[Path], agreement: Sequence[Path], rotation: Sequence[Path],
    calibrations: Sequence[predicting.Calibration], leave_one_out: bool, regressors: Sequence[str],
    clip: bool, places: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any],
    pool: Mapping[str, Any], confidence: float, excluded_from_mean: Sequence[str],
    predicted: Sequence[Path], errors: Sequence[Path], correlations: Sequence[Path],
    group_gaps: Sequence[Path], rankings: Sequence[Path], counts: Sequence[Path],
    differences: Sequence[Path], errors_of_models: Sequence[Path],
    counts_of_models: Sequence[Path],
) -> None:  # fmt: skip
    """Write predicted accuracies, their errors, and what the scores and errors correlate with.

    `settings` are named under all tables, `pool` under those of several models.
    """
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    scored = predicting.without_placeholders(pd.concat(tables, ignore_index=True))
    scored = predicting.with_places(scored, places)
    predictions = predicting.predict_accuracies(
        scored, calibrations, loo=leave_one_out, regressors=regressors, clip=clip
    )
    PREDICTED.write(predictions, predicted)
    notes = setting_notes({**settings, **pool})
    without_prediction = predictions.loc[predictions["predicted"].isna(), "reason"]
    without_score = scored.loc[scored["score"].isna(), "reason"]
    in_means = predictions[~predictions["model"].isin(excluded_from_mean)]
    mean_errors = tabulated.tabulate_errors(in_means, confidence)
    tabulated.ERRORS.write(mean_errors, errors, [*notes, *reason_notes(without_prediction)])
    tabulated.CORRELATIONS.write(
        tabulated.tabulate_correlations(scored), correlations,
        [*notes, *reason_notes(without_score)],
        shown=partial(tabulated.correlation_columns, excluded_from_mean=excluded_from_mean),
    )  # fmt: skip
    tabulated.GROUP_GAPS.write(
        tabulated.tabulate_group_gaps(scored), group_gaps, notes,
        shown=partial(tabulated.gap_columns, excluded_from_mean=excluded_from_mean),
    )  # fmt: skip
    compared.RANKINGS.write(compared.tabulate_rankings(mean_errors), rankings, notes)
    compared.COUNTS.write(compared.tabulate_counts(mean_errors, predictions), counts, notes)
    pairs = compared.tabulate_differences(in_means, confidence)
    compared.DIFFERENCES.write(pairs, differences, notes)
    for model in dict.fromkeys(path.stem for path in errors_of_models):
        files, files_of_counts = (
            [path for path in paths if path.stem == model]
            for paths in (errors_of_models, counts_of_models)
        )
        _write_of_model(
            predictions[predictions["model"] == model], settings, confidence, files, files_of_counts
        )
    LOGGER.info("%d predictions, %d of them n/a", len(predictions), len(without_prediction))


def _write_of_model(
    predictions: pd.DataFrame, settings: Mapping[str, Any], confidence: float,
    errors: Sequence[Path], counts: Sequence[Path],
) -> None:  # fmt: skip
    """Write the errors of the accuracies predicted for one model (P2, Tables 2 and 6, A.2.2)."""
    notes = setting_notes(settings)
    without_prediction = predictions.loc[predictions["predicted"].isna(), "reason"]
    mean_errors = tabulated.tabulate_errors(predictions, confidence)
    tabulated.ERRORS.write(mean_errors, errors, [*notes, *reason_notes(without_prediction)])
    compared.COUNTS.write(compared.tabulate_counts(mean_errors, predictions), counts, notes)


def setting_notes(settings: Mapping[str, Any]) -> list[str]:
    """Return a sentence for below a table with the settings."""
    return ["Settings: " + "; ".join(f"{key} {value}" for key, value in settings.items()) + "."]


def reason_notes(reasons: Iterable[str]) -> list[str]:
    """Return a sentence for each reason why values are n/a, the most frequent one first."""
    counts = pd.Series(list(reasons), dtype=object).value_counts()
    return [f"n/a {count} times: {reason}." for reason, count in counts.items()]


def write_between_suites(
    *, predicted: Sequence[Path], excluded_from_mean: Sequence[str], outputs: Sequence[Path]
) -> None:
    """Write how methods rank by their errors on two suites, by classifier (P2, A.2.3, A.2.4)."""
    every = pd.concat([PREDICTED.read(path).to_pandas() for path in predicted])
    table = compared.tabulate_between(every[every["view"] == WHOLE], excluded_from_mean)
    compared.BETWEEN.write(table, outputs)
