"""Replication tables: accuracies, gaps and ranks of the models on a pair, and average changes.

Recht et al. (2019), arXiv 1902.10811, Tables 1 and 2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.predictions.correctness import Correctness
from matcheval.replication.schemas import CHANGES, RESULTS
from matcheval.statistics.intervals import FloatArray, clopper_pearson, normal_quantile
from matcheval.statistics.ranks import ordinal_ranks, rank_correlations
from matcheval.statistics.significance import count_significant, difference_error, paired_error

_ORIGINS = ("original", "replication")
_CONSTANT = ("pair", "top", "original", "replication")


def tabulate_replication(
    original: pa.Table,
    replication: pa.Table,
    pair: Pair,
    top: int = 1,
    confidence: float = 0.95,
    images: Sequence[Correctness] = (),
) -> pd.DataFrame:
    """Tabulate the accuracies of all models on both sets of a pair."""
    sets = {
        origin: _of_top(table, top, getattr(pair, origin))
        for origin, table in (("original", original), ("replication", replication))
    }
    alone = set(sets["original"].index) ^ set(sets["replication"].index)
    if alone:
        raise InputError(
            f"models with results on only one of the two sets: {', '.join(sorted(alone))}",
            field=f"pairs.{pair.name}",
            remedy="Leave them out of the catalogue, or give their results on both sets",
        )
    models = list(sets["original"].index)
    columns: dict[str, Any] = {
        "model": models,
        "pair": pair.name,
        "top": top,
        "original": pair.original,
        "replication": pair.replication,
        "confidence": confidence,
    }
    for origin, frame in sets.items():
        columns |= _accuracies(frame.loc[models], origin, confidence)
        columns[f"{origin}_rank"] = ordinal_ranks(columns[f"accuracy_{origin}"], models)
    columns["gap"] = columns["accuracy_original"] - columns["accuracy_replication"]
    columns |= _decomposition(columns) | _errors(columns, pair, images)
    columns["delta_rank"] = columns["original_rank"] - columns["replication_rank"]
    table = pd.DataFrame(columns)[RESULTS.names]
    return table.sort_values("original_rank", ignore_index=True)


def _errors(columns: dict[str, Any], pair: Pair, images: Sequence[Correctness]) -> dict[str, Any]:
    """Compute z of the gaps and their intervals, paired where the images are the same."""
    gap: FloatArray = columns["gap"]
    if images:
        error = _paired_errors(columns, pair, images)
    else:
        counts = (columns[f"{name}_{o}"] for o in _ORIGINS for name in ("n_correct", "n"))
        error = difference_error(*counts)
    reach = normal_quantile(columns["confidence"]) * error
    z = np.divide(gap, error, out=np.full(len(gap), np.nan), where=error > 0)
    low, high = gap - reach, gap + reach
    return {"z": z, "gap_low": low, "gap_high": high, "is_paired": bool(images)}


def _paired_errors(
    columns: dict[str, Any], pair: Pair, images: Sequence[Correctness]
) -> FloatArray:
    """Compute the standard errors of gaps on the same images; NaN but for top-1."""
    first, second = images
    same = np.array_equal(first.index, second.index) and np.array_equal(first.labels, second.labels)
    if not same:
        raise InputError(
            f"sets of {len(first)} and {len(second)} datapoints differ in size, indices or labels",
            field=f"pairs.{pair.name}.paired",
            remedy="Two sets are paired only if row by row they show the same image",
        )
    if columns["top"] != 1:
        return np.full(len(columns["model"]), np.nan)
    rows = [[one.models.index(model) for model in columns["model"]] for one in images]
    return paired_error(first.right[rows[0]], second.right[rows[1]])


def _decomposition(columns: dict[str, Any]) -> dict[str, FloatArray]:
    """Compute bounds on the random part of each gap, and on the remainder."""
    accuracy = columns["accuracy_replication"]
    low = columns["accuracy_replication_low"] - accuracy
    high = columns["accuracy_replication_high"] - accuracy
    return {
        "random_gap_low": low,
        "random_gap_high": high,
        "rest_gap_low": columns["gap"] - high,
        "rest_gap_high": columns["gap"] - low,
    }


def summarize_changes(
    tables: Sequence[pd.DataFrame],
    *,
    range_without: Sequence[str] = (),
    selection_frequencies: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Summarise replication tables by their average changes, one row per table."""
    frequencies = selection_frequencies or {}
    rows = []
    for table in tables:
        row = average_change(table, range_without)
        row["selection_frequency"] = frequencies.get(row["replication"], np.nan)
        rows.append(row)
    changes = pd.DataFrame(rows)
    of_original = changes.groupby(["original", "top"])["change"]
    changes["spread"] = of_original.transform("max") - of_original.transform("min")
    return changes[CHANGES.names]


def average_change(results: pd.DataFrame, range_without: Sequence[str] = ()) -> dict[str, Any]:
    """Average the changes in accuracy of one replication table over its models."""
    original, new = (
        results[f"accuracy_{origin}"].to_numpy(np.float64) for origin in ("original", "replication")
    )
    spearman, kendall = rank_correlations(original, new)
    left_out = results["model"].isin(range_without)
    ranged, z = original[~left_out], results["z"].to_numpy(np.float64)
    row: dict[str, Any] = {name: results[name].iloc[0] for name in _CONSTANT}
    return row | {
        "n_models": len(results),
        "accuracy_original": original.mean(),
        "accuracy_replication": new.mean(),
        "change": (new - original).mean(),
        "range_original": float(np.ptp(ranged)) if len(ranged) else np.nan,
        "range_without": " ".join(results.loc[left_out, "model"]),
        "least_z": np.nan if np.isnan(z).all() else float(z[np.nanargmin(np.abs(z))]),
        "n_significant": count_significant(z, float(results["confidence"].iloc[0])),
        "spearman": spearman,
        "kendall": kendall,
    }


def _of_top(table: pa.Table, top: int, dataset: str) -> pd.DataFrame:
    """Select the rows for a value of `top`, by model; every model must have one."""
    frame: pd.DataFrame = table.to_pandas()
    chosen: pd.DataFrame = frame[frame["top"] == top].set_index("model")
    without = [model for model in dict.fromkeys(frame["model"]) if model not in chosen.index]
    if without:
        named = ", ".join(without[:3]) + (", ..." if len(without) > 3 else "")
        raise InputError(
            f"no top-{top} accuracy of {counted(len(without), 'model')} ({named}): "
            "their files do not contain enough classes",
            file=dataset,
            field="replication.top",
            remedy=f"Leave {top} out, or give the {top} most probable classes of every datapoint",
        )
    return chosen


def _accuracies(frame: pd.DataFrame, origin: str, confidence: float) -> dict[str, Any]:
    """Compute the columns of one set: counts, accuracy and interval."""
    n, correct = frame["n"].to_numpy(np.int64), frame["n_correct"].to_numpy(np.int64)
    known = n > 0
    low, high = np.full(len(n), np.nan), np.full(len(n), np.nan)
    if known.any():
        interval = clopper_pearson(correct[known], n[known], confidence)
        low[known], high[known] = interval.low, interval.high
    accuracy: FloatArray = frame["accuracy"].to_numpy(np.float64)
    return {
        f"n_{origin}": n,
        f"n_correct_{origin}": correct,
        f"accuracy_{origin}": accuracy,
        f"accuracy_{origin}_low": low,
        f"accuracy_{origin}_high": high,
    }
