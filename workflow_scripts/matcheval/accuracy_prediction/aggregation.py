"""Mean absolute errors over sets and models, with intervals; correlations of scores and accuracies.

P1 averages over the sets of a group, then over models. What the spread in brackets in its Table 2
is cannot be settled, so that four are given, each by its name.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.bootstrap import DRAWN, error_intervals, subgroups_of
from matcheval.accuracy_prediction.schemas import METHOD, SUITE, WAY
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.io.tables import CONFIDENCE_LEVEL, MODEL, Column, TableSchema, fraction
from matcheval.statistics.ranks import linear_correlation, rank_correlations

RESAMPLES = 2000
ALL = "all"

Floats = npt.NDArray[np.float64]

_VIEW = Column("view", pa.string(), "", "all datapoints of the sets, or which of them")
_COLUMN = (
    Column("group", pa.string(), "", "group of the sets; 'all' for all sets"),
    Column("subgroup", pa.string(), "", "subgroup of the sets; 'all' for all of the group"),
)

ERRORS = TableSchema(
    "errors of predicted accuracies",
    (
        SUITE,
        _VIEW,
        *WAY,
        *METHOD,
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
        fraction("mae_subgroups_low", "bootstrap over subgroups, the sets of one drawn together"),
        fraction("mae_subgroups_high", "bootstrap over subgroups, the sets of one drawn together"),
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
        SUITE,
        _VIEW,
        *METHOD,
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
        SUITE,
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
    """Tabulate mean absolute errors by method and group of sets."""
    ways, keys = ["suite", "view", "protocol", "regressor", "calibrated_on"], ["method", "variant"]
    order = {
        key: n for n, key in enumerate(zip(*(predicted[k] for k in [*ways, *keys]), strict=True))
    }
    rows = []
    for way, of_way in predicted.groupby(ways, sort=False):
        cells = _Cells(of_way, keys)
        for group, subgroup, chosen in _columns(cells.sets):
            found = cells.errors(chosen, confidence, resamples, seed)
            for method, values in zip(cells.methods, found, strict=True):
                named = dict(zip([*ways, *keys], (*way, *method), strict=True))
                rows.append(
                    named
                    | {"group": group, "subgroup": subgroup, "confidence": confidence}
                    | values
                )
    rows.sort(key=lambda row: order[tuple(row[key] for key in [*ways, *keys])])
    return pd.DataFrame(rows, columns=ERRORS.names)


def tabulate_correlations(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how the scores of a model go with its accuracies over sets."""
    keys = ["model", "suite", "view", "method", "variant"]
    rows = []
    for case, of_method in scores.groupby(keys, sort=False):
        of_sets = of_method.groupby("dataset", sort=False)
        means, sets = of_sets[["score", "accuracy"]].mean(), of_sets[["group", "subgroup"]].first()
        values = means.to_numpy(np.float64)
        known = np.isfinite(values).all(axis=1)
        for group, subgroup, chosen in _columns(sets):
            x, y = values[chosen & known].T
            spearman, kendall = rank_correlations(x, y)
            rows.append(
                dict(zip(keys, case, strict=True))
                | {"group": group, "subgroup": subgroup, "n_sets": len(x)}
                | {"spearman": spearman, "pearson": linear_correlation(x, y)}
                | {"kendall": kendall}
            )
    return pd.DataFrame(rows, columns=CORRELATIONS.names)


def tabulate_group_gaps(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the gaps between the accuracies on the base and on the sets: P1, Table 1."""
    sets = scores[scores["view"] == WHOLE].drop_duplicates(["model", "dataset"])
    sets = sets.assign(gap=sets["accuracy_base"] - sets["accuracy"]).dropna(subset="gap")
    rows = []
    for (model, suite), of_model in sets.groupby(["model", "suite"], sort=False):
        groups = [*of_model.groupby("group", sort=False), (ALL, of_model)]
        for group, part in groups:
            means = part[["accuracy_base", "accuracy", "gap"]].mean()
            rows.append([model, suite, group, len(part), *means])
    return pd.DataFrame(rows, columns=GROUP_GAPS.names)


def _columns(sets: pd.DataFrame) -> Iterator[tuple[str, str, npt.NDArray[np.bool_]]]:
    """Yield the columns of a table and which sets they are of: subgroups, groups, all sets."""
    groups, subgroups = sets["group"].to_numpy(), sets["subgroup"].to_numpy()
    for group in dict.fromkeys(groups):
        of_group = groups == group
        names = dict.fromkeys(subgroups[of_group])
        for subgroup in names if len(names) > 1 else ():
            yield group, subgroup, of_group & (subgroups == subgroup)
        yield group, ALL, of_group
    yield ALL, ALL, np.ones(len(groups), np.bool_)


class _Cells:
    """Errors of one way of predicting, by method, model and set."""

    def __init__(self, rows: pd.DataFrame, keys: list[str]) -> None:
        self.sets = rows.drop_duplicates("dataset")[["dataset", "group", "subgroup"]]
        names = list(zip(*(rows[key] for key in keys), strict=True))
        self.methods = list(dict.fromkeys(names))
        position = {name: n for n, name in enumerate(self.methods)}
        models, of_model = np.unique(rows["model"], return_inverse=True)
        sets = pd.Index(self.sets["dataset"]).get_indexer(rows["dataset"])
        shape = (len(self.methods), len(models), len(self.sets))
        place = np.ravel_multi_index(([position[name] for name in names], of_model, sets), shape)
        size = int(np.prod(shape))
        signed = (rows["predicted"] - rows["accuracy"]).to_numpy(np.float64)
        known = np.isfinite(signed)

        def mean(values: Floats) -> Floats:
            """Average over seeds."""
            total = np.bincount(place[known], values[known], size)
            with np.errstate(invalid="ignore"):
                average = total / np.bincount(place[known], minlength=size)
            return np.asarray(average.reshape(shape), np.float64)

        self._error, self._signed = mean(np.abs(signed)), mean(signed)
        self._wanted = np.bincount(place, minlength=size).reshape(shape) > 0
        self._units = subgroups_of(self.sets)

    def errors(
        self, chosen: npt.NDArray[np.bool_], confidence: float, resamples: int, seed: int
    ) -> Iterator[dict[str, float | int]]:
        """Yield mean errors over some sets, their spreads and intervals, by method."""
        error, wanted = self._error[:, :, chosen], self._wanted[:, :, chosen]
        known = np.isfinite(error)
        units = self._units[chosen]
        intervals = error_intervals(np.nan_to_num(error), known, units, confidence, resamples, seed)
        for m in range(len(error)):
            own = known[m]
            values: dict[str, float | int] = dict.fromkeys(_VALUES, np.nan)
            values |= {
                "n_sets": int(own.any(axis=0).sum()), "n_models": int(own.any(axis=1).sum()),
                "n_missing": int(wanted[m].sum() - own.sum()),
            }  # fmt: skip
            if own.any():
                has_any = own.any(axis=1)
                by_model = np.nanmean(error[m, has_any], axis=1)
                signed = self._signed[m][:, chosen][has_any]
                flat = error[m][own]
                values |= {
                    "mae": by_model.mean(), "bias": np.nanmean(signed, axis=1).mean(),
                    "sd_models": by_model.std(ddof=1) if len(by_model) > 1 else np.nan,
                    "sd_all": flat.std(ddof=1) if len(flat) > 1 else np.nan,
                    **intervals[m],
                }  # fmt: skip
            yield values


_VALUES = (
    "mae", "bias", "sd_models", "sd_all",
    *(f"mae_{of}_{side}" for of in DRAWN for side in ("low", "high")),
)  # fmt: skip
