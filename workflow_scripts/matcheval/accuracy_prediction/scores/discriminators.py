"""Scores of a classifier that tells the base's features from those of the target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.features import Features, check_widths, features_of
from matcheval.accuracy_prediction.scores.linear_classifier import (
    cut_in_three,
    error_rate,
    fit_linear,
    fit_scaling,
)
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Predicts,
    Score,
    Sides,
)

Classes = npt.NDArray[np.int64]
Part = tuple[Features, Classes]

_FEWEST = 10  # datapoints of a set: one to tune on
_HIDDEN, _EPOCHS, _PATIENCE = 512, 100, 10


@dataclass(frozen=True)
class Discrimination:
    """How well base and target can be told apart on datapoints that were not fitted on."""

    auc: float
    a_proxy: float


def discrimination(
    domains: Classes, scores: npt.NDArray[Any], threshold: float = 0.0, *, balanced: bool = False
) -> Discrimination:
    """Measure a discriminator."""
    from sklearn.metrics import roc_auc_score

    error = error_rate(domains, (scores > threshold).astype(np.int64), balanced=balanced)
    return Discrimination(float(roc_auc_score(domains, scores)), 2 * (1 - 2 * error))


def _parts(base: Features, target: Features, seed: int) -> tuple[Part, Part, Part]:
    """Cut both sets in three, and join the parts of the same use."""
    cuts = zip(
        *[
            [one[rows] for rows in cut_in_three(len(one), seed)] for one in (base, target)
        ],
        strict=True,
    )  # fmt: skip
    first, second, third = (
        (np.concatenate(pair), np.repeat([0, 1], [len(one) for one in pair])) for pair in cuts
    )
    return first, second, third


def _equal_sizes(base: Features, target: Features, seed: int) -> tuple[Features, Features]:
    """Reduce the larger set at random to the size of the smaller one."""
    size, rng = min(len(base), len(target)), np.random.default_rng(seed)

    def cut(one: Features) -> Features:
        if len(one) == size:
            return one
        return one[np.sort(rng.choice(len(one), size, replace=False))]

    return cut(base), cut(target)


def _both(sides: Sides) -> tuple[Features, Features]:
    base, target = features_of(sides.base), features_of(sides.target)
    check_widths(base.shape[1], target.shape[1])
    if min(len(base), len(target)) < _FEWEST:
        raise NotAvailableError(f"a discriminator needs {_FEWEST} datapoints of either set")
    return base, target


def linear(sides: Sides) -> Discrimination:
    """Discriminate by logistic regression, the larger set reduced to the size of the smaller."""
    train, tune, report = _parts(*_equal_sizes(*_both(sides), sides.seed), sides.seed)
    return discrimination(report[1], fit_linear(train, tune).decide(report[0]))


def balanced_linear(sides: Sides) -> Discrimination:
    """Discriminate by logistic regression on all datapoints, both sets weighing the same."""
    train, tune, report = _parts(*_both(sides), sides.seed)
    scores = fit_linear(train, tune, balanced=True).decide(report[0])
    return discrimination(report[1], scores, balanced=True)


def mlp(sides: Sides) -> Discrimination:
    """Discriminate by a network of one hidden layer of 512 rectified units."""
    from sklearn.neural_network import MLPClassifier

    parts = _parts(*_equal_sizes(*_both(sides), sides.seed), sides.seed)
    scaling = fit_scaling(parts[0][0])
    train, tune, report = (scaling.apply(features).astype(np.float32) for features, _ in parts)
    network = MLPClassifier((_HIDDEN,), random_state=sides.seed)
    lowest, since, scores = np.inf, 0, np.zeros(len(report))
    for _ in range(_EPOCHS):
        network.partial_fit(train, parts[0][1], classes=[0, 1])
        error = error_rate(parts[1][1], network.predict(tune))
        since += 1
        if error < lowest:
            lowest, since, scores = error, 0, network.predict_proba(report)[:, 1]
        if since == _PATIENCE:
            break
    return discrimination(parts[2][1], scores, 0.5)


def _score(
    method: str, title: str, part: str, function: Callable[[Sides], Discrimination], variant: str
) -> Score:
    return Score(
        method, title, (Need.FEATURES,), Predicts.GAP, -1,
        lambda _, sides: float(getattr(sides.once(function), part)),
        variant=variant, source="P1, Table 3",
    )  # fmt: skip


SCORES = tuple(
    _score(f"disc_{part}", title, part, function, variant)
    for part, title in (("auc", "Disc. AUC"), ("a_proxy", "Disc. A-proxy"))
    for function, variant in ((linear, ""), (balanced_linear, "balanced"), (mlp, "mlp"))
)
