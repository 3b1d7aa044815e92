"""Intervals of regressed accuracies: jackknife+ over the sets that a line is fitted on.

Barber, Candès, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+, Ann. Stat. 49.
If the new set is exchangeable with those fitted on, its accuracy is inside with a probability of at
least 1 - 2 (1 - level), near the level as a rule. Severities of one corruption are not exchangeable
with other sets: all sets of a group can be left out at once (their CV+), which is approximate where
groups are few.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.io.tables import Column, fraction

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
    """Compute intervals at new scores, or, without them, of every set from all others.

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
    lower = _ordered(centre - residual, wanted, math.floor((1 - level) * (n + 1) + 1e-9), n, np.inf)
    upper = _ordered(residual + centre, wanted, math.ceil(level * (n + 1) - 1e-9), n, np.inf)
    is_known = np.isfinite(np.where(wanted, centre, 0)).all(axis=1) & (n_groups >= MIN_GROUPS)
    lower, upper = (np.where(is_known, ends + place, np.nan) for ends in (lower, upper))
    return lower, upper


def both_intervals(
    x: Floats, y: Floats, units: Groups, new: Floats | None = None, base: Floats | None = None
) -> dict[str, Any]:
    """Return the columns `COLUMNS` of sets: intervals by sets and by groups, cut to [0, 1].

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
    """Return intercepts and slopes from sums of 1, x, y, x² and xy; NaN where x does not vary."""
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        slope = np.where(spread > _SPREAD * square, (xy - x * y / n) / spread, np.nan)
        return (y - slope * x) / n, slope


def _ordered(values: Floats, wanted: npt.NDArray[np.bool_], k: int, n: int, last: float) -> Floats:
    """Return the k-th smallest wanted value of each row; unbounded where there is none."""
    if not 1 <= k <= n:
        return np.full(len(values), -np.inf if k < 1 else np.inf)
    return np.asarray(np.partition(np.where(wanted, values, last), k - 1, axis=1)[:, k - 1])
