"""Comparisons of methods, how alike they rank, and the jobs that write all tables."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.errors import (
    ALL,
    CORRELATIONS,
    ERRORS,
    GROUP_GAPS,
    RESAMPLES,
    ErrorArray,
    correlation_columns,
    gap_columns,
    place_name,
    tabulate_correlations,
    tabulate_errors,
    tabulate_group_gaps,
)
from matcheval.accuracy_prediction.predicting import DIRECT, PREDICTED, PROCEDURE, PROCEDURE_COLUMNS
from matcheval.accuracy_prediction.scoring import SCORES, SUITE, WHOLE
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, fraction, text
from matcheval.io.text_tables import with_interval
from matcheval.statistics.lines import rank_correlations

LOGGER = logging.getLogger(__name__)
MIN_UNITS = 8  # subgroups: of fewer, a bootstrap says too little about their spread
_PLACE = ["group", "subgroup"]

Floats = npt.NDArray[np.float64]

COEFFICIENTS = (
    Column("spearman", pa.float64(), "1", "rank correlation, ties by average ranks"),
    Column("kendall", pa.float64(), "1", "tau-b, with ties"),
)
_SHOWN_COEFFICIENTS = {"Spearman ρ": "{spearman:z.2f}", "Kendall τ-b": "{kendall:z.2f}"}
MAX_PAIRS = 200  # with more, pairs of subgroups are left to the files for programs


def _name_procedures(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `how`: each row's procedure in words."""
    return table.assign(how=predicting.procedure_labels(table))


def _select_lowest(table: pd.DataFrame) -> pd.DataFrame:
    """Select the differences from the method with the lowest error, by procedure and group."""
    lowest = table.groupby([*PROCEDURE, "group"], sort=False)["method_1"].transform("first")
    return _name_procedures(table[table["method_1"] == lowest])


def _name_places(table: pd.DataFrame) -> pd.DataFrame:
    """Add names of both groups; leave pairs of subgroups out if there are too many."""
    if len(table) > MAX_PAIRS:
        table = table[(table["subgroup_1"] == ALL) & (table["subgroup_2"] == ALL)]
    first, second = (
        list(map(place_name, table[f"group_{number}"], table[f"subgroup_{number}"]))
        for number in (1, 2)
    )
    return _name_procedures(table).assign(first=first, second=second)


def _name_groups(table: pd.DataFrame) -> pd.DataFrame:
    """Add the procedures in words, and replace groups by their names for readers."""
    names = ["All" if group == ALL else group or "no group" for group in table["group"]]
    return _name_procedures(table).assign(group=names)


DIFFERENCES = TableSchema(
    "differences of errors",
    SUITE,
    *PROCEDURE_COLUMNS,
    text("group", "group of the sets; 'all' for all that are predicted"),
    text("method_1", "method, or method:variant; '(direct)' if it needs no regression"),
    text("method_2", "the other, which has the larger mean error"),
    fraction("difference", "mean absolute error of the second minus that of the first"),
    fraction("difference_low", "simultaneous interval, over all pairs of this table's group"),
    fraction("difference_high", "upper bound; NaN for fewer than 8 subgroups of sets"),
    Column("n_methods", pa.int64(), "methods", "whose pairs are compared at once"),
    Column("n_subgroups", pa.int64(), "subgroups", "drawn, together with models"),
    Column("n_models", pa.int64(), "models", "drawn, together with subgroups"),
    CONFIDENCE_LEVEL,
    summary=_select_lowest,
    shown={
        "How": "{how}", "Sets": "{group}", "Lowest error": "{method_1}",
        "Compared": "{method_2}",
        "Difference (points) [{level}, simultaneous]": with_interval("difference", ".2%"),
        "Methods": "{n_methods:d}", "Subgroups": "{n_subgroups:d}",
    },
)  # fmt: skip
BETWEEN = TableSchema(
    "rankings of methods on two suites",
    *PROCEDURE_COLUMNS,
    text("suite_1", "suite of the first errors"),
    text("suite_2", "suite of the second errors"),
    text("model", "classifier; 'mean' for the mean of the coefficients of those that count"),
    Column("n_methods", pa.int64(), "methods", "with a prediction on every set of both"),
    Column("spearman", pa.float64(), "1", "of the mean errors of methods, ties by mean ranks"),
    Column("kendall", pa.float64(), "1", "tau-b, with ties"),
    summary=_name_procedures,
    shown={
        "How": "{how}", "First suite": "{suite_1}", "Second suite": "{suite_2}",
        "Classifier": "{model}", "Methods": "{n_methods:d}", **_SHOWN_COEFFICIENTS,
    },
)  # fmt: skip
RANKINGS = TableSchema(
    "consistency of the rankings of methods",
    SUITE,
    *PROCEDURE_COLUMNS,
    text("group_1", "group of the first sets"),
    text("subgroup_1", "their subgroup; 'all' for all of the group"),
    text("group_2", "group of the second sets"),
    text("subgroup_2", "their subgroup; 'all' for all of the group"),
    Column("n_methods", pa.int64(), "methods", "with an error on both"),
    *COEFFICIENTS,
    summary=_name_places,
    shown={
        "How": "{how}", "First sets": "{first}", "Second sets": "{second}",
        "Methods": "{n_methods:d}", **_SHOWN_COEFFICIENTS,
    },
)  # fmt: skip
COUNTS = TableSchema(
    "numbers of images and errors",
    SUITE,
    *PROCEDURE_COLUMNS,
    text("group", "group of the sets; 'all' for all sets"),
    Column("n_subgroups", pa.int64(), "subgroups", "that are compared"),
    Column("n_images", pa.int64(), "images", "in these subgroups"),
    *COEFFICIENTS,
    summary=_name_groups,
    shown={
        "How": "{how}", "Group": "{group}", "Subgroups": "{n_subgroups:d}",
        "Images": "{n_images:,d}", **_SHOWN_COEFFICIENTS,
    },
)  # fmt: skip


def simultaneous_intervals(errors: Floats, units: npt.NDArray[np.intp], level: float) -> Floats:
    """Return differences of methods' mean errors with bounds, shape (n_methods, n_methods, 3).

    They are second minus first, with simultaneous intervals. Errors, shape (n_methods, n_models,
    n_sets), are finite; bounds are NaN for few subgroups.
    Subgroups of sets and models are drawn with replacement, the same for all methods. Intervals are
    estimate ± c standard deviations over resamples, with c the quantile of the largest standardised
    deviation of any pair, widened from normal to Student's quantiles of the number of subgroups.
    """
    from scipy.stats import norm, t

    rng, n_models = np.random.default_rng(0), errors.shape[1]
    numbers = np.unique(units, return_inverse=True)[1]
    n_units = int(numbers.max()) + 1
    sums = errors @ np.eye(n_units)[numbers]
    sizes = np.bincount(numbers).astype(float)

    def draw_counts(n: int) -> Floats:
        """Draw how often each of n is in every bootstrap resample, shape (RESAMPLES, n)."""
        return rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(float)

    model_counts, unit_counts = draw_counts(n_models), draw_counts(n_units)
    drawn = np.einsum("bi,miu,bu->bm", model_counts, sums, unit_counts, optimize=True)
    drawn /= n_models * (unit_counts @ sizes)[:, None]
    means = errors.mean(axis=(1, 2))
    differences = np.full((*means.shape, *means.shape, 3), np.nan)
    differences[..., 0] = means[None] - means[:, None]
    if n_units < MIN_UNITS or len(means) < 2:
        return differences
    pairs = np.triu_indices(len(means), 1)
    deviations = drawn[:, pairs[1]] - drawn[:, pairs[0]] - differences[*pairs, 0]
    spread = deviations.std(axis=0)
    varies = spread > 0
    largest = np.abs(deviations[:, varies] / spread[varies]).max(axis=1, initial=0)
    beyond = norm.sf(np.quantile(largest, level))
    half = t.isf(beyond, n_units - 1) * np.sqrt(n_units / (n_units - 1)) * spread
    i, j = pairs
    differences[i, j, 1:] = differences[i, j, :1] + half[:, None] * [-1, 1]
    differences[j, i, 1:] = -differences[i, j, :0:-1]
    return differences


def tabulate_differences(predicted: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Tabulate differences between the mean errors of methods on each group, by procedure."""
    whole = predicted[predicted["view"] == WHOLE]
    direct = whole[whole["protocol"] == DIRECT]
    rows = []
    for (suite, *procedure), part in whole.groupby(["suite", *PROCEDURE], sort=False):
        beside = direct[(direct["suite"] == suite) & direct["dataset"].isin(part["dataset"])]
        both = part if procedure[0] == DIRECT else pd.concat([part, beside], ignore_index=True)
        names = both["method"] + np.where(both["variant"] == "", "", ":" + both["variant"])
        marked = names + np.where(both["protocol"] == procedure[0], "", " (direct)")
        array = ErrorArray(both.assign(method=marked, variant=""))
        units, groups = predicting.subgroup_numbers(array.sets), array.sets["group"].to_numpy()
        for group in (*dict.fromkeys(groups), ALL):
            chosen = (groups == group) | (group == ALL)
            complete = np.flatnonzero(np.isfinite(array.error[:, :, chosen]).all(axis=(1, 2)))
            error = array.error[complete][:, :, chosen]
            methods = [array.methods[m][0] for m in complete]
            if len(methods) < 2:
                continue
            differences = simultaneous_intervals(error, units[chosen], confidence)
            sizes = (len(methods), len(np.unique(units[chosen])), error.shape[1], confidence)
            for i, j in combinations(np.argsort(error.mean(axis=(1, 2))), 2):
                pair = methods[i], methods[j]
                rows.append([suite, *procedure, group, *pair, *differences[i, j], *sizes])
    return pd.DataFrame(rows, columns=DIFFERENCES.names)


def compare_suites(predicted: pd.DataFrame, excluded_from_mean: Sequence[str]) -> pd.DataFrame:
    """Tabulate rank correlations between the methods' mean errors on every two suites, by model."""
    keys = [*PROCEDURE, "model"]
    n_errors = predicted.groupby([*keys, "method", "variant", "suite"])["error"].transform("count")
    rows_of = predicted.groupby([*keys, "method", "variant", "suite"])["error"].transform("size")
    means = predicted[n_errors == rows_of].pivot_table(
        index=[*keys, "method", "variant"], columns="suite", values="error", sort=False
    )
    rows = []
    for suites in combinations(dict.fromkeys(predicted["suite"]), 2):
        cases = []
        for case, errors in means[[*suites]].dropna().groupby(level=keys, sort=False):
            spearman, kendall = rank_correlations(*errors.to_numpy().T)
            cases.append([*case[:3], *suites, case[3], len(errors), spearman, kendall])
        table = pd.DataFrame(cases, columns=BETWEEN.names)
        in_mean = table[~table["model"].isin(excluded_from_mean)].groupby(PROCEDURE, sort=False)
        numbers = in_mean[["n_methods", "spearman", "kendall"]].mean().reset_index()
        mean = numbers.assign(suite_1=suites[0], suite_2=suites[1], model="mean")
        rows += [table, mean.astype({"n_methods": int})[BETWEEN.names]]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=BETWEEN.names)


def tabulate_rankings(errors: pd.DataFrame) -> pd.DataFrame:
    """Tabulate rank correlations between the methods' mean errors on every two groups of sets."""
    keys, rows = ["suite", *PROCEDURE], []
    for case, part in _select_complete(errors).groupby(keys, sort=False):
        table = part.pivot_table(
            index=["method", "variant"], columns=_PLACE, values="mae", sort=False
        )
        for first, second in combinations(table.columns, 2):
            if first[0] == second[0] and ALL in (first[1], second[1]):
                continue
            values = table[[first, second]].dropna().to_numpy()
            rows.append([*case, *first, *second, len(values), *rank_correlations(*values.T)])
    return pd.DataFrame(rows, columns=RANKINGS.names)


def _select_complete(errors: pd.DataFrame) -> pd.DataFrame:
    """Select errors on groups and subgroups, of methods with predictions on all of their sets.

    Methods that were scored on some of the sets, such as rotation, cannot be compared with others.
    """
    whole = errors[(errors["view"] == WHOLE) & (errors["group"] != ALL)]
    most = whole.groupby(["suite", *PROCEDURE, *_PLACE], sort=False)["n_sets"].transform("max")
    return whole[whole["n_sets"] == most]


def tabulate_counts(errors: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Tabulate rank correlations between errors on subgroups and their numbers of images."""
    sets = predicted[predicted["view"] == WHOLE].drop_duplicates(["model", "dataset"])
    sizes = sets.groupby(["dataset", *_PLACE], sort=False)["n"].max()
    images = sizes.groupby(level=_PLACE, sort=False).sum()
    keys, rows = ["suite", *PROCEDURE], []
    for case, part in _select_complete(errors).groupby(keys, sort=False):
        means = part.groupby(_PLACE, sort=False)["mae"].mean().dropna()
        for group, units in _compared_means(means):
            counts = [
                images[place] if place in images.index else images[place[0]].sum()
                for place in units.index
            ]
            coefficients = rank_correlations(counts, units.to_numpy())
            rows.append([*case, group, len(units), int(np.sum(counts)), *coefficients])
    return pd.DataFrame(rows, columns=COUNTS.names)


def _compared_means(means: "pd.Series[float]") -> Iterator[tuple[str, "pd.Series[float]"]]:
    """Yield mean errors on the subgroups of each group with any, then those of all groups."""
    parts = []
    for group, part in means.groupby(level="group", sort=False):
        divided = part[part.index.get_level_values("subgroup") != ALL]
        parts.append(divided if len(divided) else part)
        if len(divided):
            yield str(group), divided
    if parts:
        yield ALL, pd.concat(parts)


# --- Jobs


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
    """Write predicted accuracies, and all tables of their errors and of correlations for a suite.

    `settings` are named under all tables, `pool` under those of several models.
    """
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    scored = predicting.without_placeholders(pd.concat(tables, ignore_index=True))
    scored = predicting.with_places(scored, places)
    predictions = predicting.predict_accuracies(
        scored, calibrations, loo=leave_one_out, regressors=regressors, clip=clip
    )
    PREDICTED.write(predictions, predicted)
    in_means = predictions[~predictions["model"].isin(excluded_from_mean)]
    notes = _setting_notes({**settings, **pool})
    mean_errors = _write_errors(predictions, in_means, confidence, notes, errors, counts)
    for model in dict.fromkeys(path.stem for path in errors_of_models):  # P2, Tables 2, 6, A.2.2
        of_model = predictions[predictions["model"] == model]
        files = (
            [path for path in paths if path.stem == model]
            for paths in (errors_of_models, counts_of_models)
        )
        _write_errors(of_model, of_model, confidence, _setting_notes(settings), *files)
    CORRELATIONS.write(
        tabulate_correlations(scored), correlations,
        [*notes, *_reason_notes(scored, "score")],
        shown=partial(correlation_columns, excluded_from_mean=excluded_from_mean),
    )  # fmt: skip
    GROUP_GAPS.write(
        tabulate_group_gaps(scored), group_gaps, notes,
        shown=partial(gap_columns, excluded_from_mean=excluded_from_mean),
    )  # fmt: skip
    RANKINGS.write(tabulate_rankings(mean_errors), rankings, notes)
    DIFFERENCES.write(tabulate_differences(in_means, confidence), differences, notes)
    n_missing = predictions["predicted"].isna().sum()
    LOGGER.info("%d predictions, %d of them n/a", len(predictions), n_missing)


def _write_errors(
    predictions: pd.DataFrame, in_means: pd.DataFrame, confidence: float, notes: Sequence[str],
    errors: Sequence[Path], counts: Sequence[Path],
) -> pd.DataFrame:  # fmt: skip
    """Write tables of mean errors, which are returned, and of their relation to image numbers."""
    mean_errors = tabulate_errors(in_means, confidence)
    ERRORS.write(mean_errors, errors, [*notes, *_reason_notes(predictions, "predicted")])
    COUNTS.write(tabulate_counts(mean_errors, predictions), counts, notes)
    return mean_errors


def _setting_notes(settings: Mapping[str, Any]) -> list[str]:
    """Return the settings as a note: a list of one sentence."""
    return ["Settings: " + "; ".join(f"{key} {value}" for key, value in settings.items()) + "."]


def _reason_notes(table: pd.DataFrame, column: str) -> list[str]:
    """Return a note for each reason of NaN in a column, the most frequent reason first."""
    counts = table.loc[table[column].isna(), "reason"].astype(object).value_counts()
    return [f"n/a {count} times: {reason}." for reason, count in counts.items()]


def write_between_suites(
    *, predicted: Sequence[Path], excluded_from_mean: Sequence[str], outputs: Sequence[Path]
) -> None:
    """Write rank correlations of methods' errors on any two suites by model (P2, A.2.3, A.2.4)."""
    predictions = pd.concat([PREDICTED.read(path).to_pandas() for path in predicted])
    table = compare_suites(predictions[predictions["view"] == WHOLE], excluded_from_mean)
    BETWEEN.write(table, outputs)
