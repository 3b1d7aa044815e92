"""Distances of the target's features to those of the base or of a reference set."""

from typing import Any

from matcheval.accuracy_prediction.outputs.model_outputs import Outputs
from matcheval.accuracy_prediction.outputs.moments import Moments, frechet_distance, mean_distance
from matcheval.accuracy_prediction.scores.features import check_widths, moments_of
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Predicts,
    Score,
    Sides,
    Sources,
)


def _frechet(one: Moments, target: Outputs, *, as_printed: bool = False) -> float:
    other = moments_of(target)
    check_widths(len(one.mean), len(other.mean))
    if min(one.n, other.n) < 2:
        raise NotAvailableError("a single datapoint has no covariance")
    return frechet_distance(one, other, as_printed=as_printed)


def _from_base(_: Any, sides: Sides) -> float:
    return _frechet(moments_of(sides.base), sides.target)


def _as_printed(_: Any, sides: Sides) -> float:
    return _frechet(moments_of(sides.base), sides.target, as_printed=True)


def _reference_moments(sources: Sources) -> Moments:
    if sources.reference is None:
        raise NotAvailableError("no reference set")
    return moments_of(sources.reference)


def _from_reference(reference: Moments, sides: Sides) -> float:
    return _frechet(reference, sides.target)


def _mmd(_: Any, sides: Sides) -> float:
    one, other = moments_of(sides.base), moments_of(sides.target)
    check_widths(len(one.mean), len(other.mean))
    return mean_distance(one, other)


_BASE = (Need.STATISTICS,)
SCORES = (
    Score("frechet", "Frechet", _BASE, Predicts.GAP, -1, _from_base, source="P1, equation 10"),
    Score(
        "frechet", "Frechet", _BASE, Predicts.GAP, -1, _as_printed, variant="as_printed",
        source="P1, equation 10, norm not squared",
    ),
    Score(
        "frechet_reference", "FD", (Need.STATISTICS, Need.REFERENCE), Predicts.BY_REGRESSION, -1,
        _from_reference, _reference_moments, source="P2, Table 2",
    ),
    Score("mmd", "MMD", _BASE, Predicts.GAP, -1, _mmd, source="P1, equation 9"),
)  # fmt: skip
