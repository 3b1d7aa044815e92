"""Intervals of regressed accuracies: jackknife+ over the sets that a line is fitted on.

Barber, Candès, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+, Ann. Stat. 49.
If the new set is exchangeable with those fitted on, its accuracy is inside with a probability of at
least 1 - 2 (1 - level), near the level as a rule. Severities of one corruption are not exchangeable
with other sets: all sets of a group can be left out at once (their CV+), which is approximate where
groups are few.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
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


@dataclass(frozen=True)
class Ends:
    """Intervals of several sets, not cut: float arrays, shape (n_new,); NaN for none."""

    lower: Floats
    upper: Floats

    def cut(self) -> "Ends":
        """Return the intervals cut to [0, 1]; an unbounded one is [0, 1]."""
        return Ends(self.lower.clip(0, 1), self.upper.clip(0, 1))


def jackknife_plus(
    score: Sequence[float] | Floats, accuracy: Sequence[float] | Floats, new_score: float,
    level: float = LEVEL, group: Sequence[Any] | npt.NDArray[np.generic] | None = None,
) -> tuple[float, float]:  # fmt: skip
    """Compute the interval of the accuracy on a new set, by a line of accuracy on score.

    Parameters
    ----------
    score, accuracy : float arrays, shape (n_sets,)
        Of the sets whose accuracies are known; accuracies as fractions.
    new_score : float
        Of the new set.
    level : float
        In (0, 1); fewer than 1 / (1 - level) - 1 sets say nothing: the interval is [0, 1].
    group : array, shape (n_sets,), or None
        Names or numbers of at least 3 groups, such as the corruptions that sets are severities of,
        each left out as a whole: approximate for few groups. None for each set by itself.

    Returns
    -------
    tuple of float
        Lower and upper end, cut to [0, 1].

    Raises
    ------
    InputError
        If lengths differ, numbers are not finite, there are fewer than 3 groups, or no line is
        determined without one of them.

    References
    ----------
    Barber et al. (2021), section 1.2, equation 1.3; section 3: CV+, with groups as folds.
    """
    group = np.arange(len(score)) if group is None else np.asarray(group)
    x, y = np.asarray(score, np.float64), np.asarray(accuracy, np.float64)
    if not 0 < level < 1:
        raise InputError(
            f"is {level}", field="level", remedy=f"Give one in (0, 1), such as {LEVEL}"
        )
    if not len(x) == len(y) == len(group):
        raise InputError(
            f"{len(x)} scores, {len(y)} accuracies, {len(group)} groups", field="score",
            remedy="Give one of each per set",
        )  # fmt: skip
    if not (np.isfinite(x).all() and np.isfinite(y).all() and math.isfinite(new_score)):
        raise InputError(
            "scores and accuracies are not all finite numbers", field="score",
            remedy="Leave out sets without a score or an accuracy",
        )  # fmt: skip
    units = np.unique(group, return_inverse=True)[1]
    found = line_intervals(x, y, units, np.array([new_score]), level=level).cut()
    if np.isnan(found.lower).any():
        raise InputError(
            f"{len(x)} sets of {len(np.unique(units))} groups determine no line without each group",
            field="group", remedy=f"Give {MIN_GROUPS} groups, with different scores in any two",
        )  # fmt: skip
    return float(found.lower[0]), float(found.upper[0])


def line_intervals(
    x: Floats, y: Floats, units: Groups, new: Floats | None = None, *, level: float = LEVEL
) -> Ends:
    """Compute intervals at new scores, or of every set from all others; not cut.

    Parameters
    ----------
    x, y : float arrays, shape (n_sets,)
        Finite scores, and what the line predicts: accuracies or gaps.
    units : int array, shape (n_sets,)
        Number of each set's group, from 0.
    new : float array, shape (n_new,), or None
        Scores; None for the sets themselves, each without its own score and accuracy.
    level : float
        In (0, 1).
    """
    n_new = len(x) if new is None else len(new)
    sizes = np.bincount(units)
    # A set that is alone in its group takes the group with it.
    n_groups = np.full(n_new, np.count_nonzero(sizes)) - (
        0 if new is not None else sizes[units] == 1
    )
    if len(x) < MIN_GROUPS:
        return Ends(*np.full((2, n_new), np.nan))
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
    return Ends(
        np.where(is_known, lower + place, np.nan), np.where(is_known, upper + place, np.nan)
    )


def both_intervals(
    x: Floats, y: Floats, units: Groups, new: Floats | None = None, base: Floats | None = None
) -> dict[str, Any]:
    """Return the columns `COLUMNS` of sets: intervals by sets and by groups, cut to [0, 1].

    Parameters
    ----------
    x, y, units, new
        As of `line_intervals`; new scores may be NaN.
    base : float array, shape (n_new,), or None
        Accuracies on the base of new sets, where `y` are gaps: accuracies are the difference.
    """
    columns: dict[str, Any] = {}
    for name, groups in (("sets", np.arange(len(x))), ("groups", units)):
        ends = line_intervals(x, y, groups, new)
        if base is not None:
            ends = Ends(base - ends.upper, base - ends.lower)
        columns |= {f"{name}_low": ends.cut().lower, f"{name}_high": ends.cut().upper}
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
