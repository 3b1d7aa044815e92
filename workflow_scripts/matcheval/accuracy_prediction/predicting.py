"""From scores to predicted accuracies, by the protocols of both papers, with intervals of lines.

Intervals are jackknife+ over the sets that a line is fitted on: Barber, Candès, Ramdas & Tibshirani
(2021), Predictive inference with the jackknife+, Ann. Stat. 49. If the new set is exchangeable with
those fitted on, its accuracy is inside with a probability of at least 1 - 2 (1 - level), near the
level as a rule. Severities of one corruption are not exchangeable with other sets: all sets of a
group can be left out at once (their CV+), which is approximate where groups are few.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.scores import ALL_SCORES, AnyScore
from matcheval.accuracy_prediction.scores.score import Predicts
from matcheval.accuracy_prediction.scoring import SCORE, SET, TRUTH
from matcheval.io.tables import Column, TableSchema, fraction

# --- Intervals

LEVEL = 0.9
MIN_GROUPS = 3
_SPREAD = 1e-12  # scores vary if their sum of squares exceeds this share of that of all
Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

_OVER = "of the jackknife+ interval at level 0.9 over"
COLUMNS = (
    fraction("sets_low", f"lower end {_OVER} the sets fitted on, cut to [0, 1]; NaN for none"),
    fraction("sets_high", "upper end"),
    fraction(
        "groups_low", f"lower end {_OVER} their groups, each left out as a whole; approximate"
    ),
    fraction("groups_high", "upper end"),
    Column("n_groups", pa.int64(), "groups", "of the sets fitted on; 0 without a regression"),
)
NO_ENDS: dict[str, Any] = {column.name: np.nan for column in COLUMNS} | {"n_groups": 0}


def line_intervals(
    x: Floats, y: Floats, units: Groups, new: Floats | None = None, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Compute jackknife+ intervals of a line at new scores, or without them at each set left out.

    Lower and upper ends are not cut to [0, 1], and NaN where there is no interval. `y` is what a
    line of finite scores `x` predicts, accuracies or gaps; `units` numbers the groups of sets from
    0. Barber et al. (2021), equation 1.3; section 3: CV+, with groups as folds.
    """
    n_new = len(x) if new is None else len(new)
    sizes = np.bincount(units)
    # A set that is alone in its group takes the group with it.
    n_groups = np.full(n_new, np.count_nonzero(sizes)) - (
        0 if new is not None else sizes[units] == 1
    )
    if len(x) < MIN_GROUPS:
        return np.full(n_new, np.nan), np.full(n_new, np.nan)
    dx, dy, place = x - x.mean(), y - y.mean(), y.mean()
    points = np.stack([np.ones_like(x), dx, dy, dx * dx, dx * dy])
    of_groups = points @ np.eye(len(sizes))[units]  # sums, shape (5, n_groups)
    kept = points.sum(axis=1)[:, None, None] - of_groups[:, None, :]
    if new is None:  # the set itself is left out, too; it is already where its own group is
        is_other = units[:, None] != np.arange(of_groups.shape[1])
        kept = kept - points[:, :, None] * is_other
        at, wanted = dx[:, None], ~np.eye(len(x), dtype=bool)
    else:
        at, wanted = (new - x.mean())[:, None], np.ones((n_new, len(x)), np.bool_)
    intercept, slope = _lines(kept, float(points[3].sum()))
    own_intercept, own_slope = intercept[:, units], slope[:, units]  # the fits without each set
    residual = np.abs(dy - own_intercept - own_slope * dx)
    centre = own_intercept + own_slope * at
    n = len(x) - (new is None)
    lower = _kth_smallest(centre - residual, wanted, math.floor((1 - level) * (n + 1) + 1e-9), n)
    upper = _kth_smallest(residual + centre, wanted, math.ceil(level * (n + 1) - 1e-9), n)
    is_known = np.isfinite(np.where(wanted, centre, 0)).all(axis=1) & (n_groups >= MIN_GROUPS)
    lower, upper = (np.where(is_known, ends + place, np.nan) for ends in (lower, upper))
    return lower, upper


def both_intervals(
    x: Floats, y: Floats, units: Groups, new: Floats | None = None, base: Floats | None = None
) -> dict[str, Any]:
    """Return jackknife+ intervals leaving out sets, and groups, cut to [0, 1], by column name.

    New scores may be NaN. Where `y` are gaps, `base` are the accuracies of new sets on the base.
    """
    columns: dict[str, Any] = {}
    for name, groups in (("sets", np.arange(len(x))), ("groups", units)):
        lower, upper = line_intervals(x, y, groups, new)
        if base is not None:
            lower, upper = base - upper, base - lower
        columns |= {f"{name}_low": lower.clip(0, 1), f"{name}_high": upper.clip(0, 1)}
    return columns | {"n_groups": len(np.unique(units))}


def _lines(sums: Floats, square: float) -> tuple[Floats, Floats]:
    """Return intercepts and slopes of lines fitted to points with these sums of 1, x, y, x², xy.

    Slopes are NaN where the sum of squares of x is a tiny share of `square`.
    """
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        slope = np.where(spread > _SPREAD * square, (xy - x * y / n) / spread, np.nan)
        return (y - slope * x) / n, slope


def _kth_smallest(values: Floats, wanted: npt.NDArray[np.bool_], k: int, n: int) -> Floats:
    """Return the k-th smallest wanted value of each row; -∞ if k < 1, ∞ if k > n."""
    if not 1 <= k <= n:
        return np.full(len(values), -np.inf if k < 1 else np.inf)
    return np.asarray(np.partition(np.where(wanted, values, np.inf), k - 1, axis=1)[:, k - 1])


# --- What is predicted, and how

PROCEDURE_COLUMNS = (
    Column("protocol", pa.string(), "", "direct, calibrated, or leave_one_out"),
    Column("regressor", pa.string(), "", "linear, mlp or mlp_raw; empty if none"),
    Column("calibrated_on", pa.string(), "", "groups fitted on, joined by +; empty if none"),
)
PROCEDURE = [column.name for column in PROCEDURE_COLUMNS]

_PROTOCOLS = {
    "direct": "no regression",
    "calibrated": "calibrated on",
    "leave_one_out": "leave one set out",
}
_REGRESSORS = {"mlp": " (MLP)", "mlp_raw": " (MLP of raw scores)"}


def procedure_label(protocol: str, regressor: str, calibrated_on: str) -> str:
    """Return in words how predictions were made: direct or by which regression on which groups."""
    groups = f" {calibrated_on.replace('+', ', ')}" if calibrated_on else ""
    return _PROTOCOLS[protocol] + groups + _REGRESSORS.get(regressor, "")


def procedure_labels(rows: pd.DataFrame) -> list[str]:
    """Return in words how the prediction of each row was made."""
    return [procedure_label(*procedure) for procedure in rows[PROCEDURE].to_numpy()]


_TITLES = {(score.method, score.variant): score.full_title for score in ALL_SCORES.values()}


def titles(rows: pd.DataFrame) -> list[str]:
    """Return for each row the title of its method for readers, with the variant."""
    return [_TITLES[key] for key in zip(rows["method"], rows["variant"], strict=True)]


PREDICTED = TableSchema(
    "predicted accuracies",
    *SET,
    *SCORE,
    *TRUTH,
    *PROCEDURE_COLUMNS,
    Column("n_fitted", pa.int64(), "sets", "that the regression was fitted on"),
    fraction("predicted", "predicted accuracy; NaN if there is none"),
    *COLUMNS,
    fraction("error", "|predicted - accuracy|; NaN if either is unknown"),
    Column(
        "flagged",
        pa.bool_(),
        "",
        "predicted outside of [0, 1] before clipping, or by a "
        "regression from a score outside of those that it was fitted on",
    ),
    Column("reason", pa.string(), "", "why there is no prediction, or how it is flagged"),
)


# --- Regressions

MIN_SETS = 3  # fewer points than this say nothing about a line
LAYERS = (1, 512, 256, 128, 1)  # of the non-linear regression, P1 section 8: 165,377 parameters
_CONSTANT = 1e-12  # a score varies if its range exceeds this share of its size
_LEVERAGE = 1e-9
_ROUNDING = 1e-6  # means of single-precision probabilities may exceed 1 by this


def varies(x: Floats) -> bool:
    """Whether the values of a score differ by more than rounding."""
    return float(np.ptp(x)) > _CONSTANT * max(1.0, float(np.abs(x).max()))


def linear(x: Floats, y: Floats, new: Floats, *, seed: int = 0) -> Floats:
    """Fit a line by ordinary least squares, and return its values at `new`."""
    if not varies(x):
        return np.full(len(new), y.mean())
    dx = x - x.mean()
    slope = dx @ (y - y.mean()) / (dx @ dx)
    return np.asarray(y.mean() + slope * (new - x.mean()), np.float64)


def leave_one_out(x: Floats, y: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return each y predicted by the line through all other points, and where it is their mean."""
    n = len(x)
    others = (y.sum() - y) / (n - 1)
    if not varies(x):
        return others, np.ones(n, np.bool_)
    dx, dy = x - x.mean(), y - y.mean()
    square = dx @ dx
    leverage = 1 / n + dx**2 / square
    alone = leverage > 1 - _LEVERAGE
    residual = dy - (dx @ dy / square) * dx
    with np.errstate(divide="ignore", invalid="ignore"):
        predicted = np.where(alone, others, y - residual / (1 - leverage))
    return predicted, alone


def mlp(
    x: Floats, y: Floats, new: Floats, *, seed: int = 0, standardise: bool = True,
    epochs: int = 20_000,
) -> Floats:  # fmt: skip
    """Fit the multilayer perceptron of P1, section 8, and return its values at `new`."""
    import torch
    from torch import nn

    centre, scale = (x.mean(), x.std() if varies(x) else 1.0) if standardise else (0.0, 1.0)

    def as_column(values: Floats) -> "torch.Tensor":
        return torch.from_numpy(np.asarray(values, np.float32))[:, None]

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts: list[nn.Module] = []
        for width, following in pairwise(LAYERS):
            parts += [nn.Linear(width, following), nn.ReLU()]
        network = nn.Sequential(*parts[:-1])
        points, values = as_column((x - centre) / scale), as_column(y)
        optimizer = torch.optim.SGD(network.parameters(), 1e-4, momentum=0.9, weight_decay=1e-3)
        lowest, since = np.inf, 0
        for _ in range(epochs):
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(network(points), values)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            value = float(loss.detach())
            if not np.isfinite(value):
                return np.full(len(new), np.nan)
            lowest, since = (value, 0) if value < lowest - 1e-7 else (lowest, since + 1)
            if since >= 500:
                break
        with torch.no_grad():
            predicted = network(as_column((new - centre) / scale))[:, 0]
    return np.asarray(predicted.double().numpy(), np.float64)


REGRESSORS: Mapping[str, Callable[..., Floats]] = {
    "linear": linear,
    "mlp": mlp,
    "mlp_raw": partial(mlp, standardise=False),
}


DIRECT, CALIBRATED, LEAVE_ONE_OUT = "direct", "calibrated", "leave_one_out"
FLAGGED = "the mean of the sets fitted on, whose scores are all equal"
_CASE = ["model", "method", "variant", "seed", "view"]


# Groups whose labels are known, and groups that accuracy is predicted on, or none for all others
# (P1, section 8).
Calibration = tuple[Sequence[str], Sequence[str]]


def predict_accuracies(
    scores: pd.DataFrame, calibrations: Sequence[Calibration] = (), *, loo: bool = True,
    regressors: Sequence[str] = ("linear",), clip: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Predict accuracies from scores: directly, by calibrated regressions, and leave-one-out."""
    parts: list[_Prediction] = []
    for rows in _rows_by_case(scores):
        method, variant = rows["method"][0], rows["variant"][0]
        score = ALL_SCORES[f"{method}:{variant}" if variant else str(method)]
        if score.predicts is Predicts.ACCURACY:
            parts.append(_prediction(rows, DIRECT, rows["score"], rows["reason"]))
        else:
            for calibration in calibrations:
                parts += _predict_calibrated(rows, score, calibration, regressors)
        if loo and score.direction:
            parts.append(_predict_left_out(rows))
    if not parts:
        return pd.DataFrame(columns=PREDICTED.names)
    columns = {
        name: np.concatenate([np.broadcast_to(part[name], len(part["row"])) for part in parts])
        for name in parts[0]
    }
    table = scores.iloc[columns.pop("row")].reset_index(drop=True).assign(**columns)
    table["flagged"] |= (table["predicted"] < -_ROUNDING) | (table["predicted"] > 1 + _ROUNDING)
    if clip:
        table["predicted"] = table["predicted"].clip(0, 1)
    table["error"] = (table["predicted"] - table["accuracy"]).abs()
    return table[PREDICTED.names]


def with_places(table: pd.DataFrame, places: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Fill in the group, subgroup and severity of each row's dataset."""
    names = ("group", "subgroup", "severity")
    filled = {name: [places[dataset][name] for dataset in table["dataset"]] for name in names}
    return table.assign(**filled).astype({"severity": np.float64})


def without_placeholders(scores: pd.DataFrame) -> pd.DataFrame:
    """Keep the first row of each score on a set; later ones without a score are placeholders."""
    return scores[~scores.duplicated([*_CASE, "dataset"])].reset_index(drop=True)


# Of a model, method and view, by column, a value per set: frames of so few rows are slow.
_Rows = Mapping[str, npt.NDArray[Any]]
# What is predicted from these: `row` of the scores, and a value per row or one for all.
_Prediction = dict[str, Any]


def _rows_by_case(scores: pd.DataFrame) -> Iterator[_Rows]:
    """Yield the rows of each model, method, variant, seed and view, as arrays by column."""
    columns = {str(name): values.to_numpy() for name, values in scores.items()}
    columns |= {"row": np.arange(len(scores)), "unit": subgroup_numbers(scores)}
    case = scores.groupby(_CASE, sort=False).ngroup().to_numpy()
    order = np.argsort(case, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(case[order])) + 1) if len(order) else ():
        yield {name: values[rows] for name, values in columns.items()}


def _select(rows: _Rows, chosen: npt.NDArray[np.bool_]) -> _Rows:
    return {name: values[chosen] for name, values in rows.items()}


def _prediction(
    rows: _Rows, protocol: str, predicted: Floats, reasons: Iterable[str],
    *, outside: npt.NDArray[np.bool_] | bool = False, regressor: str = "", on: Sequence[str] = (),
    n_fitted: int = 0, ends: Mapping[str, Any] = NO_ENDS,
) -> _Prediction:  # fmt: skip
    """Return the columns of `PREDICTED` that predictions add to their rows of scores."""
    return dict(
        ends, row=rows["row"], protocol=protocol, regressor=regressor, calibrated_on="+".join(on),
        n_fitted=n_fitted, predicted=predicted, flagged=outside,
        reason=np.array(list(reasons), object),
    )  # fmt: skip


def subgroup_numbers(sets: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Number the subgroups of sets; a set without one is a subgroup of its own."""
    named = sets["subgroup"].where(sets["subgroup"] != "", sets["dataset"])
    return pd.factorize(pd.MultiIndex.from_arrays([sets["group"], named]))[0]


def _is_usable(rows: _Rows) -> npt.NDArray[np.bool_]:
    """Return which sets have a score and a known accuracy, so that a line can be fitted on them."""
    return np.asarray(
        np.isfinite(rows["score"]) & np.isfinite(rows["accuracy"]) & (rows["n"] > 0), np.bool_
    )


def _predict_calibrated(
    rows: _Rows, score: AnyScore, calibration: Calibration, regressors: Sequence[str]
) -> Iterator[_Prediction]:
    """Yield each regression's predictions, fitted on the sets of some groups."""
    on, predict = calibration
    is_known = np.isin(rows["group"], on)
    is_wanted = ~is_known
    if predict:
        is_wanted &= np.isin(rows["group"], predict)
    fitted, wanted = _select(rows, is_known & _is_usable(rows)), _select(rows, is_wanted)
    x, new, base = fitted["score"], wanted["score"], wanted["accuracy_base"]
    is_gap = score.predicts is Predicts.GAP
    outside = (new < x.min()) | (new > x.max()) if len(x) else np.zeros(len(new), np.bool_)
    y = fitted["accuracy_base"] - fitted["accuracy"] if is_gap else fitted["accuracy"]
    for name in regressors:
        values = np.full(len(new), np.nan)
        finite, why, flag = np.isfinite(new), "the regression diverged", ""
        ends: Mapping[str, Any] = NO_ENDS
        if len(x) < MIN_SETS:
            why = f"{len(x)} sets to fit on, fewer than {MIN_SETS}"
        elif varies(x):
            values[finite] = REGRESSORS[name](x, y, new[finite], seed=int(rows["seed"][0]))
            if name == "linear":  # a network would be fitted again for each set
                units = pd.factorize(fitted["unit"])[0]
                ends = both_intervals(x, y, units, new, base if is_gap else None)
        else:
            values[finite], flag = y.mean(), FLAGGED
        predicted = base - values if is_gap else values
        reasons = [
            reason or (flag if np.isfinite(value) else why)
            for reason, value in zip(wanted["reason"], predicted, strict=True)
        ]
        yield _prediction(
            wanted, CALIBRATED, predicted, reasons, outside=outside & np.isfinite(predicted),
            regressor=name, on=on, n_fitted=len(x), ends=ends,
        )  # fmt: skip


def _predict_left_out(rows: _Rows) -> _Prediction:
    """Predict the accuracy on each set by the line fitted to all others."""
    usable, n = _is_usable(rows), len(rows["row"])
    n_others = max(int(usable.sum()) - 1, 0)
    predicted, outside = np.full(n, np.nan), np.zeros(n, np.bool_)
    reasons = rows["reason"].astype(object)
    ends: dict[str, Any] = dict(NO_ENDS)
    if n_others < MIN_SETS:
        reasons[usable] = f"{n_others} other sets to fit on, fewer than {MIN_SETS}"
    else:
        x, y = rows["score"][usable], rows["accuracy"][usable]
        units = pd.factorize(rows["unit"][usable])[0]
        for name, values in both_intervals(x, y, units).items():
            ends[name] = np.full(n, NO_ENDS[name], np.asarray(values).dtype)
            ends[name][usable] = values
        predicted[usable], is_mean = leave_one_out(x, y)
        outside[usable] = _is_beyond_others(x)
        reasons[np.flatnonzero(usable)[is_mean]] = FLAGGED
    reasons[~usable & (reasons == "")] = "the accuracy on the set is not known"
    return _prediction(
        rows, LEAVE_ONE_OUT, predicted, reasons, outside=outside, regressor="linear",
        n_fitted=n_others, ends=ends,
    )  # fmt: skip


def _is_beyond_others(scores: Floats) -> npt.NDArray[np.bool_]:
    """Return which scores are below all others, or above all others."""
    low, high = scores == scores.min(), scores == scores.max()
    return np.asarray((low & (low.sum() == 1)) | (high & (high.sum() == 1)), np.bool_)
