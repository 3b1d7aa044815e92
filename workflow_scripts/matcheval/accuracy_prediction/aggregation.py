"""Mean absolute errors over sets and models, with intervals; correlations of scores and accuracies.

P1 averages over the sets of a group, then over models. What the spread in brackets in its Table 2
is cannot be settled, so that four are given, each by its name.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.views import WHOLE
from matcheval.io.columns import CONFIDENCE_LEVEL, MODEL, fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.statistics.ranks import rank_correlations

RESAMPLES = 2000
ALL = "all"

_METHOD = (
    Column("suite", pa.string(), "", "name of the suite"),
    Column("view", pa.string(), "", "all datapoints of the sets, or which of them"),
    Column("protocol", pa.string(), "", "direct, calibrated, or leave_one_out"),
    Column("regressor", pa.string(), "", "linear or mlp; empty if none"),
    Column("calibrated_on", pa.string(), "", "groups fitted on, joined by +; empty if none"),
    Column("method", pa.string(), "", "name of the method"),
    Column("variant", pa.string(), "", "variant of the method; empty for the default"),
)
_COLUMN = (
    Column("group", pa.string(), "", "group of the sets; 'all' for all sets"),
    Column("subgroup", pa.string(), "", "subgroup of the sets; 'all' for all of the group"),
)

ERRORS = TableSchema(
    "errors of predicted accuracies",
    (
        *_METHOD,
        *_COLUMN,
        Column("n_sets", pa.int64(), "sets", "that have predictions"),
        Column("n_models", pa.int64(), "models", "that have predictions"),
        Column("n_missing", pa.int64(), "rows", "model and set without a prediction: not counted"),
        fraction("mae", "mean absolute error: over sets, then over models"),
        fraction("bias", "mean of predicted minus true accuracy, likewise"),
        fraction("sd_models", "standard deviation over models of their means over sets"),
        fraction("sd_all", "standard deviation over all models and sets"),
        fraction("mae_sets_low", "bootstrap over sets"),
        fraction("mae_sets_high", "bootstrap over sets"),
        fraction("mae_models_low", "bootstrap over models; NaN for fewer than three"),
        fraction("mae_models_high", "bootstrap over models; NaN for fewer than three"),
        fraction("mae_rows_low", "bootstrap over pairs of model and set"),
        fraction("mae_rows_high", "bootstrap over pairs of model and set"),
        CONFIDENCE_LEVEL,
    ),
)

CORRELATIONS = TableSchema(
    "correlations of scores with accuracies",
    (
        MODEL,
        Column("suite", pa.string(), "", "name of the suite"),
        Column("view", pa.string(), "", "all datapoints of the sets, or which of them"),
        Column("method", pa.string(), "", "name of the method"),
        Column("variant", pa.string(), "", "variant of the method; empty for the default"),
        *_COLUMN,
        Column("n_sets", pa.int64(), "sets", "with a score and a known accuracy"),
        Column("spearman", pa.float64(), "1", "rank correlation, ties by average ranks; signed"),
        Column("pearson", pa.float64(), "1", "correlation"),
        Column("kendall", pa.float64(), "1", "tau-b, with ties"),
    ),
)

GROUP_GAPS = TableSchema(
    "gaps by group",
    (
        MODEL,
        Column("suite", pa.string(), "", "name of the suite"),
        Column("group", pa.string(), "", "group of the sets; 'all' for all sets"),
        Column("n_sets", pa.int64(), "sets", "of which the accuracy is known"),
        fraction("accuracy_base", "accuracy on the base, mean over these sets"),
        fraction("accuracy", "accuracy, mean over these sets"),
        fraction("gap", "accuracy on the base minus accuracy on the set, mean over these sets"),
    ),
)


def tabulate_errors(
    predicted: pd.DataFrame, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Tabulate mean absolute errors by method and group of sets.

    Parameters
    ----------
    predicted : pandas.DataFrame
        Columns of `schemas.PREDICTED`, of one suite. Repeats with other seeds are averaged per
        model and set.
    confidence : float
        Level of the percentile intervals, in (0, 1).
    resamples : int
    seed : int
        Of the resamples: the same for all methods.

    Returns
    -------
    pandas.DataFrame
        Columns of `ERRORS`: a row per method, protocol and column of sets, in order of occurrence.
    """
    keys = [column.name for column in _METHOD]
    rows = []
    for case, of_method in predicted.groupby(keys, sort=False):
        for group, subgroup, part in _columns(of_method):
            rows.append(
                dict(zip(keys, case, strict=True))
                | {"group": group, "subgroup": subgroup, "confidence": confidence}
                | _errors(part, confidence, resamples, seed)
            )
    return pd.DataFrame(rows, columns=ERRORS.names)


def tabulate_correlations(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how the scores of a model go with its accuracies over sets.

    Parameters
    ----------
    scores : pandas.DataFrame
        Columns of `schemas.SCORES`, of one suite.

    Returns
    -------
    pandas.DataFrame
        Columns of `CORRELATIONS`; NaN for fewer than two sets, or where either is constant.
    """
    keys = ["model", "suite", "view", "method", "variant"]
    rows = []
    for case, of_method in scores.groupby(keys, sort=False):
        for group, subgroup, part in _columns(of_method):
            means = part.groupby("dataset", sort=False)[["score", "accuracy"]].mean().dropna()
            x, y = means["score"].to_numpy(), means["accuracy"].to_numpy()
            spearman, kendall = rank_correlations(x, y)
            pearson = np.corrcoef(x, y)[0, 1] if np.isfinite(spearman) else np.nan
            rows.append(
                dict(zip(keys, case, strict=True))
                | {"group": group, "subgroup": subgroup, "n_sets": len(x)}
                | {"spearman": spearman, "pearson": pearson, "kendall": kendall}
            )
    return pd.DataFrame(rows, columns=CORRELATIONS.names)


def tabulate_group_gaps(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the gaps between the accuracies on the base and on the sets: P1, Table 1.

    Parameters
    ----------
    scores : pandas.DataFrame
        Columns of `schemas.SCORES`, of one suite.

    Returns
    -------
    pandas.DataFrame
        Columns of `GROUP_GAPS`: for every model a row per group and one for all sets. On a set of
        some of the classes, the accuracy on the base is that on the same classes.
    """
    sets = scores[scores["view"] == WHOLE].drop_duplicates(["model", "dataset"])
    sets = sets.assign(gap=sets["accuracy_base"] - sets["accuracy"]).dropna(subset="gap")
    rows = []
    for (model, suite), of_model in sets.groupby(["model", "suite"], sort=False):
        groups = [*of_model.groupby("group", sort=False), (ALL, of_model)]
        for group, part in groups:
            means = part[["accuracy_base", "accuracy", "gap"]].mean()
            rows.append([model, suite, group, len(part), *means])
    return pd.DataFrame(rows, columns=GROUP_GAPS.names)


def _columns(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the columns of a table: every subgroup, every group, and all sets."""
    for group in rows["group"].unique():
        of_group = rows[rows["group"] == group]
        subgroups = of_group["subgroup"].unique()
        if len(subgroups) > 1:
            for subgroup in subgroups:
                yield group, subgroup, of_group[of_group["subgroup"] == subgroup]
        yield group, ALL, of_group
    yield ALL, ALL, rows


def _errors(
    rows: pd.DataFrame, confidence: float, resamples: int, seed: int
) -> dict[str, float | int]:
    """Return mean errors, their spreads and intervals."""
    cells = rows.assign(signed=rows["predicted"] - rows["accuracy"]).pivot_table(
        index="model", columns="dataset", values=["error", "signed"], aggfunc="mean", sort=False,
        dropna=False,
    )  # fmt: skip
    names = ("mae", "bias", "sd_models", "sd_all", "mae_sets_low", "mae_sets_high",
             "mae_models_low", "mae_models_high", "mae_rows_low", "mae_rows_high")  # fmt: skip
    values: dict[str, float | int] = dict.fromkeys(names, np.nan)
    known = np.isfinite(cells["error"].to_numpy()) if "error" in cells else np.zeros((0, 0), bool)
    n_cells = rows[["model", "dataset"]].drop_duplicates().shape[0]
    counts = {"n_sets": int(known.any(axis=0).sum()), "n_models": int(known.any(axis=1).sum())}
    counts["n_missing"] = n_cells - int(known.sum())
    if not known.any():
        return counts | values
    keep = np.ix_(known.any(axis=1), known.any(axis=0))
    error, signed = cells["error"].to_numpy()[keep], cells["signed"].to_numpy()[keep]
    by_model = np.nanmean(error, axis=1)
    values |= {"mae": by_model.mean(), "bias": np.nanmean(signed, axis=1).mean()}
    if len(by_model) > 1:
        values["sd_models"] = by_model.std(ddof=1)
    flat = error[np.isfinite(error)]
    if len(flat) > 1:
        values["sd_all"] = flat.std(ddof=1)
    for name, resampled in _resampled(error, resamples, seed):
        low, high = np.nanquantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
        values |= {f"mae_{name}_low": low, f"mae_{name}_high": high}
    return counts | values


def _resampled(
    error: npt.NDArray[np.float64], resamples: int, seed: int
) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Yield the mean errors of resampled sets, models, and pairs of model and set.

    Resamples are drawn as counts, so that all means are products of matrices.
    """
    n_models, n_sets = error.shape
    known, filled = np.isfinite(error), np.nan_to_num(error)
    if n_sets > 1:
        counts = _counts(n_sets, resamples, seed)
        with np.errstate(invalid="ignore", divide="ignore"):
            yield "sets", np.nanmean((counts @ filled.T) / (counts @ known.T), axis=1)
    if n_models > 2:
        by_model = filled.sum(axis=1) / known.sum(axis=1)
        yield "models", _counts(n_models, resamples, seed) @ by_model / n_models
    flat = error[known]
    if len(flat) > 1:
        yield "rows", _counts(len(flat), resamples, seed) @ flat / len(flat)


@lru_cache(maxsize=4)
def _counts(n: int, resamples: int, seed: int) -> npt.NDArray[np.float64]:
    """Return how often each of n items is drawn in n draws with replacement, by resample."""
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    return drawn.astype(np.float64)
