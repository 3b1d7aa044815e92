"""Errors of predicted accuracies by method and group of sets, and what scores and errors depend on.

P1 averages over the sets of a group, then over models. What the spread in brackets in its Table 2
is cannot be settled, so that four are given, each by its name.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.predicting import PROCEDURE, titles
from matcheval.accuracy_prediction.scoring import METHOD, SUITE, WHOLE
from matcheval.io.tables import CONFIDENCE_LEVEL, MODEL, Column, TableSchema, fraction, text
from matcheval.io.text_tables import TextColumn, lay_out, level_text, signed, with_interval
from matcheval.statistics.lines import linear_correlation, rank_correlations

_BLOCK = 1 << 20  # draws at a time, 8 MiB

# What is drawn with replacement for intervals; the sets of a subgroup, such as the severities of a
# corruption, are not independent.
DRAWN = {
    "sets": "sets",
    "subgroups": "subgroups, the sets of one drawn together",
    "models": "models; NaN for fewer than three",
    "rows": "pairs of model and set",
}

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def error_intervals(
    error: Floats, is_known: Flags, units: npt.NDArray[np.intp], confidence: float, resamples: int
) -> list[dict[str, float]]:
    """Return bootstrap bounds of each method's mean error over sets, subgroups, models and rows."""
    n_methods, n_models, n_sets = error.shape
    intervals: list[dict[str, float]] = [{} for _ in range(n_methods)]
    weight, has_any = is_known.astype(np.float64), np.asarray(is_known.any(axis=2))
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]

    def add_bounds(name: str, means: Floats, has_bounds: Flags) -> None:
        for m in np.flatnonzero(has_bounds):
            low, high = np.nanquantile(means[:, m], levels)
            intervals[m] |= {f"mae_{name}_low": float(low), f"mae_{name}_high": float(high)}

    subgroups = np.unique(units, return_inverse=True)[1]
    for name, unit in (("sets", np.arange(n_sets)), ("subgroups", subgroups)):
        if (n_units := int(unit.max()) + 1) < 2:
            continue
        together = np.eye(n_units)[unit]  # sets of a unit are drawn together
        weights: Floats = weight @ together
        means = _resampled_means(error @ together, weights, resamples)
        means = np.where(has_any, means.reshape(resamples, n_methods, n_models), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # methods without any known error
            add_bounds(name, np.nanmean(means, axis=2), (weights.sum(axis=1) > 0).sum(axis=1) > 1)
    by_model: Floats = error.sum(axis=2) / weight.sum(axis=2).clip(1)
    add_bounds("models", _resampled_means(by_model, has_any, resamples), has_any.sum(axis=1) > 2)
    rows, weights = (array.reshape(n_methods, -1) for array in (error, weight))
    add_bounds("rows", _resampled_means(rows, weights, resamples), is_known.sum(axis=(1, 2)) > 1)
    return intervals


def _resampled_means(values: Floats, weight: Floats | Flags, resamples: int) -> Floats:
    """Return sum of values / sum of weights over resampled columns, shape (resamples, rows)."""
    n, rng = values.shape[-1], np.random.default_rng(0)
    values, weight = (array.reshape(-1, n).astype(np.float64) for array in (values, weight))
    means = np.empty((resamples, len(values)))
    size = max(1, _BLOCK // n)
    for start in range(0, resamples, size):
        part = means[start : start + size]
        drawn = rng.integers(n, size=(len(part), n)) + n * np.arange(len(part))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=len(part) * n).reshape(-1, n).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            part[:] = (counts @ values.T) / (counts @ weight.T)
    return means


RESAMPLES = 2000
ALL = "all"
_PLACE = ["group", "subgroup"]
MAX_COLUMNS = 26  # with more, subgroups are left to the files for programs
DASH = "–"


def place_name(group: str, subgroup: str) -> str:
    """Return the heading of a column for a group, or subgroup, of sets."""
    if group == ALL:
        return "All (points)"
    name = group or "no group"
    return name if subgroup == ALL else f"{name}: {subgroup or 'no subgroup'}"


def _format_numbers(values: Iterable[float], scale: float = 1, **options: Any) -> list[str]:
    """Format scaled numbers with two decimals; a dash stands for NaN."""
    return [DASH if np.isnan(v) else signed(scale * v, 2, **options) for v in values]


def error_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out a text table of mean absolute errors: a row per method, a column per group."""
    whole = table[table["view"] == WHOLE]
    level = level_text(table["confidence"].iloc[0]) if len(table) else ""
    places = whole[_PLACE].drop_duplicates()
    if len(places) > MAX_COLUMNS:
        places = places[places["subgroup"] == ALL]
    cells: dict[str, list[str]] = defaultdict(list)
    for procedure, block in whole.groupby(PROCEDURE, sort=False):
        rows = block[["method", "variant"]].drop_duplicates()
        cells["How"] += [predicting.procedure_label(*map(str, procedure))] * (len(rows) + 1)
        cells["Method"] += [*titles(rows), "mean of methods"]
        for group, subgroup in places.itertuples(index=False, name=None):
            column = block[(block["group"] == group) & (block["subgroup"] == subgroup)]
            column = rows.merge(column, on=["method", "variant"], how="left")
            cells[place_name(group, subgroup)] += _format_errors(column)
        over_all_sets = block[(block["group"] == ALL) & (block["subgroup"] == ALL)]
        total = rows.merge(over_all_sets, on=["method", "variant"])
        for of in ("sets", "subgroups"):
            ends = 100 * total[[f"mae_{of}_low", f"mae_{of}_high"]].to_numpy()
            bounds = [DASH if np.isnan(a) else f"[{a:.2f}, {b:.2f}]" for a, b in ends]
            cells[f"{level} over {of}"] += [*bounds, ""]
        means = _format_numbers(total["mae_unflagged"], 100)
        counts = zip(means, total["n_unflagged"], strict=True)
        cells["Flagged by none (n)"] += [*(f"{mean} ({n})" for mean, n in counts), ""]
        cells["Flagged"] += [*(str(n or "") for n in total["n_flagged"]), ""]
        cells["Bias"] += [*_format_numbers(total["bias"], 100, plus=True), ""]
        cells["n/a"] += [*(str(n or "") for n in total["n_missing"]), ""]
    return [
        TextColumn(head, column, is_number=head not in ("How", "Method"))
        for head, column in cells.items()
    ]


def _format_errors(column: pd.DataFrame) -> list[str]:
    """Format the errors of methods, the lowest two with asterisks, and append their mean."""
    values, n_sets = column["mae"].to_numpy(np.float64), column["n_sets"].to_numpy(np.float64)
    finite = np.isfinite(values)
    full = finite & (n_sets == np.max(n_sets[finite], initial=0))
    texts = np.array([f"{100 * value:.2f}" for value in values], object)
    lowest = sorted(set(texts[full]), key=float)
    marks = dict(zip(lowest, ("**", "*"), strict=False)) if full.sum() > 2 else {}
    cells = [
        text + marks.get(text, "") if is_full else f"{text} (n = {n:g})" if is_known else DASH
        for text, n, is_full, is_known in zip(texts, n_sets, full, finite, strict=True)
    ]
    return [*cells, f"{100 * values[full].mean():.2f}" if full.any() else DASH]


_VIEW = text("view", "all datapoints of the sets, or which of them")
_GROUP = text("group", "group of the sets; 'all' for all sets")
_SUBGROUP = text("subgroup", "subgroup of the sets; 'all' for all of the group")

ERRORS = TableSchema(
    "errors of predicted accuracies",
    SUITE,
    _VIEW,
    *predicting.PROCEDURE_COLUMNS,
    *METHOD,
    _GROUP,
    _SUBGROUP,
    Column("n_sets", pa.int64(), "sets", "that have predictions"),
    Column("n_models", pa.int64(), "models", "that have predictions"),
    Column("n_missing", pa.int64(), "rows", "model and set without a prediction: not counted"),
    fraction("mae", "mean absolute error: over sets, then over models"),
    Column("n_flagged", pa.int64(), "rows", "model and set whose prediction is flagged"),
    Column(
        "n_unflagged",
        pa.int64(),
        "rows",
        "model and set that no method predicted in this way flags: the same for all methods",
    ),
    fraction("mae_unflagged", "mean absolute error on these, likewise"),
    fraction("bias", "mean of predicted minus true accuracy, likewise"),
    fraction("sd_models", "standard deviation over models of their means over sets"),
    fraction("sd_all", "standard deviation over all models and sets"),
    *(
        fraction(f"mae_{of}_{side}", f"bootstrap over {drawn}")
        for of, drawn in DRAWN.items()
        for side in ("low", "high")
    ),
    CONFIDENCE_LEVEL,
    shown=error_columns,
)

CORRELATIONS = TableSchema(
    "correlations of scores with accuracies",
    MODEL,
    SUITE,
    _VIEW,
    *METHOD,
    _GROUP,
    _SUBGROUP,
    Column("n_sets", pa.int64(), "sets", "with a score and a known accuracy"),
    Column("spearman", pa.float64(), "1", "rank correlation, ties by average ranks; signed"),
    Column("pearson", pa.float64(), "1", "correlation"),
    Column("kendall", pa.float64(), "1", "tau-b, with ties"),
)

GROUP_GAPS = TableSchema(
    "gaps by group",
    MODEL,
    SUITE,
    _GROUP,
    Column("n_sets", pa.int64(), "sets", "of which the accuracy is known"),
    fraction("accuracy_base", "accuracy on the base, mean over these sets"),
    fraction("accuracy", "accuracy, mean over these sets"),
    fraction("gap", "accuracy on the base minus accuracy on the set, mean over these sets"),
)


def tabulate_errors(
    predicted: pd.DataFrame, confidence: float = 0.95, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Tabulate the mean absolute errors of predicted accuracies, by method and group of sets."""
    keys = ["suite", "view", *PROCEDURE, "method", "variant"]
    order = {key: n for n, key in enumerate(zip(*(predicted[k] for k in keys), strict=True))}
    rows = []
    for case, part in predicted.groupby(keys[:-2], sort=False):
        array = ErrorArray(part)
        for group, subgroup, chosen in _group_masks(array.sets):
            place = {"group": group, "subgroup": subgroup, "confidence": confidence}
            errors = array.errors(chosen, confidence, resamples)
            for method, values in zip(array.methods, errors, strict=True):
                rows.append(dict(zip(keys, (*case, *method), strict=True)) | place | values)
    rows.sort(key=lambda row: order[tuple(row[key] for key in keys)])
    return pd.DataFrame(rows, columns=ERRORS.names)


def tabulate_correlations(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the correlations between each model's scores and its accuracies over sets."""
    keys = ["model", "suite", "view", "method", "variant"]
    of_sets = scores.groupby([*keys, "dataset"], sort=False).agg(  # over seeds
        {"score": "mean", "accuracy": "mean", "group": "first", "subgroup": "first"}
    )
    rows = []
    for case, sets in of_sets.groupby(level=keys, sort=False):
        values = sets[["score", "accuracy"]].to_numpy(np.float64)
        is_known = np.isfinite(values).all(axis=1)
        for group, subgroup, chosen in _group_masks(sets):
            x, y = values[chosen & is_known].T
            spearman, kendall = rank_correlations(x, y)
            pearson = linear_correlation(x, y)
            rows.append([*case, group, subgroup, len(x), spearman, pearson, kendall])
    return pd.DataFrame(rows, columns=CORRELATIONS.names)


def tabulate_group_gaps(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate mean gaps, base minus set accuracy, by model and group of sets: P1, Table 1."""
    sets = scores[scores["view"] == WHOLE].drop_duplicates(["model", "dataset"])
    sets = sets.assign(gap=sets["accuracy_base"] - sets["accuracy"]).dropna(subset="gap")
    rows = []
    for (model, suite), model_sets in sets.groupby(["model", "suite"], sort=False):
        for group, part in (*model_sets.groupby("group", sort=False), (ALL, model_sets)):
            means = part[["accuracy_base", "accuracy", "gap"]].mean()
            rows.append([model, suite, group, len(part), *means])
    return pd.DataFrame(rows, columns=GROUP_GAPS.names)


def _group_masks(sets: pd.DataFrame) -> Iterator[tuple[str, str, npt.NDArray[np.bool_]]]:
    """Yield group, subgroup and mask of its sets: for each subgroup, each group, and all sets."""
    groups, subgroups = sets["group"].to_numpy(), sets["subgroup"].to_numpy()
    for group in dict.fromkeys(groups):
        of_group = groups == group
        names = dict.fromkeys(subgroups[of_group])
        for subgroup in names if len(names) > 1 else ():
            yield group, subgroup, of_group & (subgroups == subgroup)
        yield group, ALL, of_group
    yield ALL, ALL, np.ones(len(groups), np.bool_)


class ErrorArray:
    """Errors of predictions, as an array over methods, models and sets."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.sets = rows.drop_duplicates("dataset")[["dataset", *_PLACE]]
        method, names = pd.MultiIndex.from_frame(rows[["method", "variant"]]).factorize()
        self.methods: list[tuple[str, str]] = list(names)
        model, models = pd.factorize(rows["model"], sort=True)
        sets = pd.Index(self.sets["dataset"]).get_indexer(rows["dataset"])
        shape = (len(names), len(models), len(self.sets))
        place = np.ravel_multi_index((method, model, sets), shape)
        size = int(np.prod(shape))
        signed = (rows["predicted"] - rows["accuracy"]).to_numpy(np.float64)
        is_known = np.isfinite(signed)

        def mean_over_seeds(values: Floats) -> Floats:
            """Average known values over seeds, shape (n_methods, n_models, n_sets)."""
            total = np.bincount(place[is_known], values[is_known], size)
            with np.errstate(invalid="ignore"):
                average = total / np.bincount(place[is_known], minlength=size)
            return np.asarray(average.reshape(shape), np.float64)

        self.error, self._signed = mean_over_seeds(np.abs(signed)), mean_over_seeds(signed)
        self._wanted = np.bincount(place, minlength=size).reshape(shape) > 0
        flags = rows["flagged"].to_numpy(np.bool_)
        self._flagged = np.bincount(place[flags], minlength=size).reshape(shape) > 0
        self._units = predicting.subgroup_numbers(self.sets)

    def errors(
        self, chosen: Flags, confidence: float, resamples: int
    ) -> Iterator[dict[str, float | int]]:
        """Yield for each method its mean errors over chosen sets, with spreads and intervals."""
        error, wanted = self.error[:, :, chosen], self._wanted[:, :, chosen]
        is_known, units = np.isfinite(error), self._units[chosen]
        flagged = self._flagged[:, :, chosen]
        unflagged = is_known.any(axis=0) & ~flagged.any(axis=0)
        intervals = error_intervals(np.nan_to_num(error), is_known, units, confidence, resamples)
        for m, own in enumerate(is_known):
            has_any = own.any(axis=1)
            values: dict[str, float | int] = {
                "n_sets": int(own.any(axis=0).sum()), "n_models": int(has_any.sum()),
                "n_missing": int(wanted[m].sum() - own.sum()),
                "n_flagged": int(flagged[m].sum()), "n_unflagged": int(unflagged.sum()),
            }  # fmt: skip
            if (of_all := own & unflagged).any():
                values["mae_unflagged"] = _mean_by_model(error[m], of_all).mean()
            if own.any():
                by_model = _mean_by_model(error[m], own)
                signed = self._signed[m][:, chosen][has_any]
                values |= {
                    "mae": by_model.mean(), "bias": np.nanmean(signed, axis=1).mean(),
                    "sd_models": _deviation(by_model), "sd_all": _deviation(error[m][own]),
                    **intervals[m],
                }  # fmt: skip
            yield values


def _mean_by_model(error: Floats, chosen: Flags) -> Floats:
    """Return each model's mean error over its chosen sets; models without any are left out."""
    counts = chosen.sum(axis=1)
    sums = np.where(chosen, error, 0).sum(axis=1)
    return np.asarray(sums[counts > 0] / counts[counts > 0], np.float64)


def _deviation(values: Floats) -> float:
    """Return the standard deviation, NaN for fewer than two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else np.nan


def correlation_columns(
    table: pd.DataFrame, excluded_from_mean: Sequence[str] = ()
) -> list[TextColumn]:
    """Lay out a text table of score-accuracy correlations, means over models: a row per method."""
    keys = ["method", "variant"]
    heads = {"spearman": "Spearman ρ", "pearson": "Pearson r", "kendall": "Kendall τ-b"}
    whole = table[(table["view"] == WHOLE) & ~table["model"].isin(excluded_from_mean)]
    whole = whole[whole["subgroup"] == ALL]
    over_all_sets = whole[whole["group"] == ALL].groupby(keys, sort=False)
    means = over_all_sets[list(heads)].agg(["mean", "min", "max"])
    means.columns = pd.Index([kind + end for kind in heads for end in ("", "_low", "_high")])
    columns = lay_out(
        means.assign(title=titles(means.reset_index())),
        {"Method": "{title}"} | {
            f"{head}, mean [lowest, highest] over models": with_interval(kind, "z.2f")
            for kind, head in heads.items()
        },
    )  # fmt: skip
    for group in dict.fromkeys(whole["group"]):
        if group != ALL:
            values = whole[whole["group"] == group].groupby(keys, sort=False)["spearman"].mean()
            cells = _format_numbers(values.reindex(means.index))
            columns.append(TextColumn(f"ρ in {group or 'no group'}", cells))
    return columns


def gap_columns(table: pd.DataFrame, excluded_from_mean: Sequence[str] = ()) -> list[TextColumn]:
    """Lay out a text table of mean gaps: a row per model, a column per group (P1, Table 1)."""
    gaps = table.pivot_table(index="model", columns="group", values="gap", sort=False)
    groups = [*(g for g in dict.fromkeys(table["group"]) if g != ALL), ALL]
    means = gaps[~gaps.index.isin(excluded_from_mean)].mean()
    columns = [TextColumn("Model", [*gaps.index, "mean of models"], is_number=False)]
    for group in groups:
        values = _format_numbers([*gaps[group], means[group]], 100)
        columns.append(TextColumn(place_name(group, ALL), values))
    return columns
