"""The replication tables: their columns, and the accuracies, gaps and ranks in them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.errors import InputError, listed
from matcheval.io import tables
from matcheval.io.tables import CONFIDENCE_LEVEL, PAIR, Column, TableSchema, fraction, text
from matcheval.io.text_tables import counted, outward, signed, with_interval
from matcheval.names import ORIGINS
from matcheval.predictions.correctness import Correctness
from matcheval.statistics import intervals
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.lines import FEW_FAMILIES, ordinal_ranks, rank_correlations


def _format_bounds(table: pd.DataFrame, name: str, factor: int = 1, digits: int = 2) -> list[str]:
    """Format the columns `<name>_low` and `_high` as intervals, rounded outward; NaN as a dash."""
    bounds = factor * table[[f"{name}_low", f"{name}_high"]].to_numpy(dtype=float)
    return [
        "–" if math.isnan(low) else f"[{', '.join(outward(low, high, digits))}]"
        for low, high in bounds
    ]


def _format_gap_parts(results: pd.DataFrame) -> pd.DataFrame:
    """Add the text columns `random_gap` and `rest_gap`: the intervals of both parts of the gap."""
    ranges = {part: _format_bounds(results, part, 100, 1) for part in ("random_gap", "rest_gap")}
    return results.assign(**ranges)


RESULTS = TableSchema(
    "replication results",
    Column("original_rank", pa.int32(), "1", "rank on the original, ties by name"),
    tables.MODEL,
    *PAIR,
    *tables.accuracy("original", "size of the original; 0 if unknown"),
    *tables.accuracy("replication", "size of the replication; 0 if unknown"),
    fraction("gap", "accuracy, original minus replication"),
    fraction("gap_low", "lower bound of its normal interval; NaN if n is unknown"),
    fraction("gap_high", "upper bound"),
    fraction("random_gap_low", "lower bound of the part due to the choice of new images"),
    fraction("random_gap_high", "upper bound: interval of accuracy_replication minus itself"),
    fraction("rest_gap_low", "lower bound of the rest: adaptivity gap plus distribution gap"),
    fraction("rest_gap_high", "upper bound of the rest"),
    Column("z", pa.float64(), "1", "gap over its standard error; NaN if n is unknown"),
    Column("is_paired", pa.bool_(), "", "whether error and z are those of the same images"),
    Column("replication_rank", pa.int32(), "1", "rank on the replication, ties by name"),
    Column("delta_rank", pa.int32(), "1", "original minus replication rank; < 0: worse"),
    CONFIDENCE_LEVEL,
    summary=_format_gap_parts,
    shown={
        "Original rank": "{original_rank:d}", "Model": "{model}",
        "Original accuracy (%) [{level} CI]": with_interval("accuracy_original"),
        "New accuracy (%) [{level} CI]": with_interval("accuracy_replication"),
        "Gap [{level} CI]": with_interval("gap", "z.1%"), "Of it random": "{random_gap:s}",
        "Rest of it": "{rest_gap:s}", "New rank": "{replication_rank:d}",
        "Δ rank": "{delta_rank:d}",
    },
)  # fmt: skip

_OFFSET_UNIT = "percentage points (linear), standard deviations (probit)"


def _bound_columns(name: str, unit: str) -> tuple[Column, ...]:
    of = "families; NaN below two" if name.startswith("family") else "models"
    return (
        Column(f"{name}_low", pa.float64(), unit, f"lower bound, bootstrap over {of}"),
        Column(f"{name}_high", pa.float64(), unit, f"upper bound, bootstrap over {of}"),
    )


_TREATMENTS = {"leave_out": "left out", "clip": "clipped"}


def _format_fits(fits: pd.DataFrame) -> pd.DataFrame:
    """Add text columns: intervals, families, models left out and models at 0 or 1."""
    extremes = fits["extreme"] + " (" + fits["extremes"].map(_TREATMENTS) + ")"
    families = [
        f"{slopes} ({n} families{', few' * (n < FEW_FAMILIES)})" if n > 1 else "–"
        for slopes, n in zip(_format_bounds(fits, "family_slope"), fits["n_families"], strict=True)
    ]
    return fits.assign(
        slope_in=_format_bounds(fits, "slope"), offset_in=_format_bounds(fits, "offset"),
        families=families, slopes=100 * fits["slopes_at_most_1"],
        left_out=fits["left_out"].replace("", "–"),
        extremes=extremes.where(fits["extreme"] != "", "–"),
    )  # fmt: skip


FITS = TableSchema(
    "fits of replication on original accuracy",
    *PAIR,
    text("scale", "linear: percent; probit: inverse normal of the accuracy"),
    Column("slope", pa.float64(), "1", "least squares slope"),
    *_bound_columns("slope", "1"),
    Column("offset", pa.float64(), _OFFSET_UNIT, "least squares offset"),
    *_bound_columns("offset", _OFFSET_UNIT),
    Column("r_squared", pa.float64(), "1", "coefficient of determination, on the scale"),
    Column("residual_sd", pa.float64(), _OFFSET_UNIT, "of the models about the line"),
    Column("n_families", pa.int32(), "families", "of the models fitted; 0 if not all have one"),
    *_bound_columns("family_slope", "1"),
    *_bound_columns("family_offset", _OFFSET_UNIT),
    fraction("slopes_at_most_1", "share of the bootstrap slopes that are 1 or less"),
    Column("n_models", pa.int32(), "models", "models fitted"),
    text("left_out", "models left out by name, separated by spaces"),
    text("extreme", "models with an accuracy of 0 or 1, by name"),
    text("extremes", "their treatment: leave_out or clip"),
    CONFIDENCE_LEVEL,
    Column("resamples", pa.int32(), "1", "bootstrap resamples of the models"),
    Column("n_degenerate", pa.int32(), "1", "of these, left out: no line determined"),
    Column("seed", pa.int64(), "1", "seed of the bootstrap"),
    summary=_format_fits,
    shown={
        "Fit": "{scale}", "Slope [{level} CI]": "{slope:z.2f} {slope_in}",
        "Offset [{level} CI]": "{offset:z.2f} {offset_in}", "R²": "{r_squared:.3f}",
        "Residual SD": "{residual_sd:.3g}", "Slope over families [{level} CI]": "{families:s}",
        "Slopes ≤ 1": "{slopes:.3g} %", "Models": "{n_models:d}", "Left out": "{left_out}",
        "At 0 or 1": "{extremes}", "Resamples": "{resamples:,}", "Seed": "{seed:d}",
    },
)  # fmt: skip

REGION = TableSchema(
    "confidence region of a fit",
    text("scale", "linear or probit"),
    fraction("accuracy_original", "accuracy on the original: the grid"),
    fraction("fit", "accuracy on the replication predicted by the line"),
    fraction("low", "bootstrap lower bound of the line at this point"),
    fraction("high", "bootstrap upper bound of the line at this point"),
)


def _format_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """Replace changes, z and rank correlations by signed texts."""
    texts = {name: [signed(x, 3) for x in changes[name]] for name in ("spearman", "kendall")}
    texts["least_z"] = [signed(z, 2) for z in changes["least_z"]]
    texts["change"] = [signed(100 * change, 1, plus=True) for change in changes["change"]]
    return changes.assign(**texts)


CHANGES = TableSchema(
    "average changes",
    *PAIR,
    Column("n_models", pa.int32(), "models", "models averaged: all models of the study"),
    fraction("accuracy_original", "mean accuracy on the original"),
    fraction("accuracy_replication", "mean accuracy on the replication"),
    fraction("change", "mean over models of replication minus original accuracy"),
    fraction("spread", "largest minus smallest change among pairs with this original"),
    fraction("range_original", "accuracy on the original, best minus worst of the models"),
    text("range_without", "models left out of that range, by name"),
    fraction("selection_frequency", "mean over the new images; NaN if not sampled here"),
    Column("least_z", pa.float64(), "1", "z with the smallest |z|; NaN if n is unknown"),
    Column("n_significant", pa.int32(), "models", "with a significant gap (Bonferroni)"),
    Column("spearman", pa.float64(), "1", "rank correlation; NaN if undefined"),
    Column("kendall", pa.float64(), "1", "Kendall's tau-b; NaN if undefined"),
    summary=_format_changes,
    shown={
        "Pair": "{pair}", "Top": "{top:d}", "Models": "{n_models:d}",
        "Mean original accuracy (%)": "{accuracy_original:.1%}",
        "Mean new accuracy (%)": "{accuracy_replication:.1%}", "Average change": "{change:s}",
        "Spread of changes": "{spread:.1%}", "Range of models": "{range_original:.1%}",
        "Selection frequency": "{selection_frequency:.2f}", "Smallest |z|": "{least_z:s}",
        "Differ": "{n_significant:d}", "Spearman's ρ": "{spearman:s}", "Kendall's τ": "{kendall:s}",
    },
)  # fmt: skip


_CONSTANT = ("pair", "top", "original", "replication")


def top_accuracies(
    table: pa.Table, top: int, models: Iterable[str], dataset: str, *, field: str, remedy: str
) -> pd.DataFrame:
    """Return the rows of the models' top-k accuracies, in order; an error if any has none."""
    frame: pd.DataFrame = table.to_pandas()
    top_rows, models = frame[frame["top"] == top].set_index("model"), list(models)
    if absent := [model for model in models if model not in top_rows.index]:
        problem = f"no top-{top} accuracy of {counted(len(absent), 'model')} ({listed(absent, 3)})"
        raise InputError(problem, file=dataset, field=field, remedy=remedy)
    return top_rows.loc[models]


def accuracy_intervals(frame: pd.DataFrame, part: str, confidence: float) -> dict[str, Any]:
    """Return the columns of a part: counts, accuracies and their Clopper-Pearson bounds.

    They are those that `tables.accuracy` declares.
    """
    bounds = intervals.clopper_pearson(frame["n_correct"], frame["n"], confidence)
    end = f"_{part}" if part else ""
    return {
        f"n{end}": frame["n"].to_numpy(np.int64),
        f"n_correct{end}": frame["n_correct"].to_numpy(np.int64),
        f"accuracy{end}": frame["accuracy"].to_numpy(np.float64),
        f"accuracy{end}_low": bounds.low, f"accuracy{end}_high": bounds.high,
    }  # fmt: skip


def tabulate_replication(
    original: pa.Table, replication: pa.Table, pair: Pair, top: int = 1, confidence: float = 0.95,
    images: Sequence[Correctness] = (),
) -> pd.DataFrame:  # fmt: skip
    """Tabulate accuracies, gaps and ranks of all models on both sets of a pair."""
    models, others = (list(dict.fromkeys(t["model"].to_pylist())) for t in (original, replication))
    if alone := set(models) ^ set(others):
        raise InputError(
            f"models with results on only one of the two sets: {', '.join(sorted(alone))}",
            field=f"pairs.{pair.name}",
            remedy="Leave them out of the catalogue, or give their results on both sets",
        )
    columns: dict[str, Any] = {
        "model": models, "pair": pair.name, "top": top, "original": pair.original,
        "replication": pair.replication, "confidence": confidence,
    }  # fmt: skip
    remedy = f"Leave {top} out, or give the {top} most probable classes of every datapoint"
    for origin, table in zip(ORIGINS, (original, replication), strict=True):
        dataset = pair.datasets[origin]
        frame = top_accuracies(table, top, models, dataset, field="replication.top", remedy=remedy)
        columns |= accuracy_intervals(frame, origin, confidence)
        columns[f"{origin}_rank"] = ordinal_ranks(columns[f"accuracy_{origin}"], models)
    columns["gap"] = columns["accuracy_original"] - columns["accuracy_replication"]
    for end, other in (("low", "high"), ("high", "low")):
        # Bounds on the random part of each gap, and on the rest of it.
        random = columns[f"accuracy_replication_{end}"] - columns["accuracy_replication"]
        columns |= {f"random_gap_{end}": random, f"rest_gap_{other}": columns["gap"] - random}
    columns |= _gap_errors(columns, pair, images)
    columns["delta_rank"] = columns["original_rank"] - columns["replication_rank"]
    table = pd.DataFrame(columns)[RESULTS.names]
    return table.sort_values("original_rank", ignore_index=True)


def _gap_errors(
    columns: dict[str, Any], pair: Pair, images: Sequence[Correctness]
) -> dict[str, Any]:
    """Return z values and intervals of the gaps by column name; paired if `images` are given."""
    gap: FloatArray = columns["gap"]
    if images:
        error = _paired_gap_errors(columns, pair, *images)
    else:
        counts = (columns[f"{name}_{o}"] for o in ORIGINS for name in ("n_correct", "n"))
        error = intervals.difference_error(*counts)
    reach = intervals.normal_quantile(columns["confidence"]) * error
    z = np.divide(gap, error, out=np.full(len(gap), np.nan), where=error > 0)
    return {"z": z, "gap_low": gap - reach, "gap_high": gap + reach, "is_paired": bool(images)}


def _paired_gap_errors(
    columns: dict[str, Any], pair: Pair, first: Correctness, second: Correctness
) -> FloatArray:
    """Compute the standard errors of gaps on the same images; NaN except for top-1."""
    same = np.array_equal(first.index, second.index) and np.array_equal(first.labels, second.labels)
    if not same:
        raise InputError(
            f"sets of {len(first)} and {len(second)} datapoints differ in size, indices or labels",
            field=f"pairs.{pair.name}.paired",
            remedy="Two sets are paired only if row by row they show the same image",
        )
    if columns["top"] != 1:
        return np.full(len(columns["model"]), np.nan)
    right = (s.right[[s.models.index(m) for m in columns["model"]]] for s in (first, second))
    return intervals.paired_error(*right)


def summarize_changes(
    tables: Sequence[pd.DataFrame],
    *,
    range_without: Sequence[str] = (),
    selection_frequencies: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Summarise replication tables by their average changes in accuracy, a row per table."""
    changes = pd.DataFrame([average_change(table, range_without) for table in tables])
    frequencies = changes["replication"].map(selection_frequencies or {})
    changes["selection_frequency"] = frequencies.astype(np.float64)
    of_original = changes.groupby(["original", "top"])["change"]
    changes["spread"] = of_original.transform("max") - of_original.transform("min")
    return changes[CHANGES.names]


def average_change(results: pd.DataFrame, range_without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the row of one replication table: mean accuracies, mean change, correlations."""
    original, new = (results[f"accuracy_{o}"].to_numpy(np.float64) for o in ORIGINS)
    spearman, kendall = rank_correlations(original, new)
    left_out = results["model"].isin(range_without)
    ranged, z = original[~left_out], results["z"].to_numpy(np.float64)
    row: dict[str, Any] = {name: results[name].iloc[0] for name in _CONSTANT}
    return row | {
        "n_models": len(results), "accuracy_original": original.mean(),
        "accuracy_replication": new.mean(), "change": (new - original).mean(),
        "range_original": float(np.ptp(ranged)) if len(ranged) else np.nan,
        "range_without": " ".join(results.loc[left_out, "model"]),
        "least_z": np.nan if np.isnan(z).all() else float(z[np.nanargmin(np.abs(z))]),
        "n_significant": intervals.count_significant(z, float(results["confidence"].iloc[0])),
        "spearman": spearman, "kendall": kendall,
    }  # fmt: skip
