"""Importance weighting: the accuracy on the base, its datapoints weighted to look like the target.

Weights come from a histogram of confidences, from a discriminator of features, or from slices
(Mandoline: Chen et al. 2021, ICML, arXiv 2107.00643). A shift that these do not show is not seen.
Few datapoints with large weights say little: the effective sample size (Σw)² / Σw² is noted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.confidence import temperature_of_base
from matcheval.accuracy_prediction.scores.features import Scaling, both_features
from matcheval.accuracy_prediction.scores.outputs import Floats, Outputs, scaled_probabilities
from matcheval.accuracy_prediction.scores.score import (
    MIN_ROWS,
    Need,
    NotAvailableError,
    Noted,
    Predicts,
    Scores,
    Sides,
    usable,
)
from matcheval.errors import InputError

SCORES = Scores()
FEWEST, FEW = 30, 100  # effective datapoints: no prediction below the first, a warning below both
_LOST = 0.05  # share of the target that no datapoint of the base stands for
_CUT = (0.001, 0.999)  # of probabilities of the discriminator
_FOLDS = 5
_SLOPE = 1e-5  # largest derivative at the optimum
_LARGEST = 30.0  # logarithm of a weight: larger ones are on their way to infinity
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Weighted:
    """Weighted accuracy, effective sample size; share of the target and slices without a match."""

    accuracy: float
    ess: float
    lost_mass: float = 0.0
    lost_slices: int = 0


def weighted(weights: Floats, correct: Flags, lost_mass: float = 0.0) -> Weighted:
    """Compute the weighted accuracy; weights are of any scale, shape (n_base,)."""
    total = weights.sum()
    return Weighted(
        float(weights @ correct / total), float(total**2 / (weights**2).sum()), lost_mass
    )


def importance_histogram(
    conf_base: Floats, correct_base: Flags, conf_target: Floats, bins: int = 10
) -> Weighted:
    """Weight by the target's share over the base's share of a bin of confidence.

    Parameters
    ----------
    conf_base, conf_target : float arrays, shapes (n_base,) and (n_target,)
        Confidences in [0, 1].
    correct_base : bool array, shape (n_base,)
    bins : int
        Equal ones of [0, 1], each with its upper end; 0 is in the first.

    Raises
    ------
    InputError
        If no datapoint of the target is in a bin with datapoints of the base, or input is no
        confidence.

    References
    ----------
    get_im_estimate in utils.py of the code of Lu et al. (2023).
    """
    _check(conf_base=conf_base, conf_target=conf_target)
    _check_rows(conf_base, correct_base)
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    places = [np.digitize(one, edges, right=True) for one in (conf_base, conf_target)]
    base, target = (np.bincount(one, minlength=bins) / len(one) for one in places)
    lost = float(target[base == 0].sum())
    if not target[base > 0].any():
        raise InputError("none is in a bin with datapoints of the base", field="conf_target")
    ratio = np.divide(target, base, out=np.zeros(bins), where=base > 0)
    return weighted(ratio[places[0]], correct_base, lost)


def importance_discriminator(
    p_target: Floats, correct_base: Flags, n_base: int, n_target: int
) -> Weighted:
    """Weight by the odds of a discriminator that a datapoint of the base is of the target.

    Parameters
    ----------
    p_target : float array, shape (n_base,)
        Probabilities of the target, in (0, 1), of a discriminator not fitted on the datapoint.
    correct_base : bool array, shape (n_base,)
    n_base, n_target : int
        Datapoints that it was fitted on.

    Raises
    ------
    InputError
        If probabilities are out of range.
    """
    _check(p_target=p_target)
    _check_rows(p_target, correct_base)
    if not 0 < p_target.min() <= p_target.max() < 1:
        raise InputError("has probabilities of 0 or 1", field="p_target", remedy="Cut them")
    return weighted(p_target / (1 - p_target) * n_base / n_target, correct_base)


def _check(**fractions: Floats) -> None:
    """Check that sets have several datapoints, with numbers in [0, 1]."""
    for name, values in fractions.items():
        if len(values) < MIN_ROWS:
            raise InputError(f"{len(values)} datapoints", field=name, remedy="Give at least 2")
        if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
            raise InputError("has numbers outside [0, 1]", field=name)


def _check_rows(of_base: npt.NDArray[Any], correct_base: Flags) -> None:
    if len(of_base) != len(correct_base):
        raise InputError(f"{len(correct_base)} flags of {len(of_base)} datapoints", field="correct")


def mandoline(
    slices_base: npt.ArrayLike, slices_target: npt.ArrayLike, correct_base: Flags,
    edges: Sequence[tuple[int, int]] | None = None,
) -> Weighted:  # fmt: skip
    """Weight by a log-linear model of slices, fitted so that their means are those of the target.

    Parameters
    ----------
    slices_base, slices_target : int arrays, shapes (n_base, n_slices) and (n_target, n_slices)
        1 where a datapoint is in a slice, otherwise -1 or 0. Slices that all or no datapoints of a
        set are in have no finite weight, and are left out.
    correct_base : bool array, shape (n_base,)
    edges : sequence of pairs of int, or None
        Slices whose products count, too.

    Raises
    ------
    InputError
        If the slices tell base and target apart, so that no finite weights fit, or none is left.

    References
    ----------
    Chen et al. (2021), arXiv 2107.00643, section 4; mandoline.py of its code.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    given = [np.asarray(one, np.float64) for one in (slices_base, slices_target)]
    _check_rows(given[0], correct_base)
    if not all(len(one) >= MIN_ROWS and np.isin(one, (-1, 0, 1)).all() for one in given):
        raise InputError("fewer than 2 datapoints, or numbers other than -1, 0, 1", field="slices")
    if given[0].shape[1] != given[1].shape[1]:
        raise InputError("base and target have different slices", field="slices_target")
    signs = [np.where(one > 0, 1.0, -1.0) for one in given]
    pairs = [(i, j) for i, j in (() if edges is None else edges)]
    base, target = (np.column_stack([s, *(s[:, i] * s[:, j] for i, j in pairs)]) for s in signs)
    vary = (np.ptp(base, axis=0) > 0) & (np.ptp(target, axis=0) > 0)
    if not vary.any():
        raise InputError("no slice holds a part of both sets", field="slices_target")
    wanted = target[:, vary].mean(axis=0)
    # Few datapoints differ in their slices.
    kinds, place, n = np.unique(base[:, vary], axis=0, return_inverse=True, return_counts=True)
    log_n = np.log(n)

    def loss(x: Floats) -> tuple[float, Floats]:
        values = kinds @ x + log_n
        return float(logsumexp(values) - wanted @ x), softmax(values) @ kinds - wanted

    def stop(xk: Floats) -> None:
        if np.abs(xk).max() > _LARGEST:
            raise StopIteration

    with np.errstate(all="ignore"):  # without finite weights, the search overflows
        found = minimize(
            loss, np.zeros(len(wanted)), jac=True, method="BFGS", callback=stop,
            options={"gtol": 1e-9},
        )  # fmt: skip
        slope = np.abs(loss(found.x)[1]).max()
    if not (slope < _SLOPE and np.abs(found.x).max() <= _LARGEST):
        raise InputError("no finite weights fit the slices", field="slices_target")
    of_slices = weighted(softmax(kinds @ found.x)[place.ravel()], correct_base)
    return replace(of_slices, lost_slices=int((~vary).sum()))


def _reported(found: Weighted) -> float:
    """Return the accuracy with its effective sample size, or refuse a small one."""
    size = f"effective sample size {found.ess:.0f}"
    if found.ess < FEWEST:
        raise NotAvailableError(f"{size}, below {FEWEST}: too little of the base is like the set")
    warning = f"{size}, below {FEW}" if found.ess < FEW else size
    if found.lost_mass > _LOST:
        warning += f"; {found.lost_mass:.0%} of the set is unlike all of the base"
    if found.lost_slices:
        warning += f"; {found.lost_slices} slices, of none or all of a set, are left out"
    return Noted(found.accuracy, warning)


def _weighed(weigh: Callable[..., Weighted], *arguments: Any) -> float:
    """Return the accuracy that a function of this module gives, or refuse it with its reason."""
    try:
        return _reported(weigh(*arguments))
    except InputError as error:
        raise NotAvailableError(str(error)) from error


def _scaled(outputs: Outputs, temperature: float) -> Floats:
    return usable(scaled_probabilities(outputs, temperature))


@SCORES.add(
    "importance_histogram", "Importance (confidence)", Predicts.ACCURACY, 1,
    needs=(Need.BASE_LABELS, Need.LOGITS), fit=temperature_of_base,
    source="get_im_estimate in the code of Lu et al. (2023)",
)  # fmt: skip
def by_confidence(sides: Sides, temperature: float) -> float:
    """Weight the base by bins of its scaled confidences."""
    base, target = (_scaled(one, temperature).max(axis=1) for one in (sides.base, sides.target))
    confidences = base.clip(0, 1), sides.base.correct, target.clip(0, 1)
    return _weighed(importance_histogram, *confidences)


@SCORES.add(
    "importance_discriminator", "Importance (features)", Predicts.ACCURACY, 1,
    needs=(Need.BASE_LABELS, Need.FEATURES), source="odds of Disc. AUC, 5 folds (ours)",
)  # fmt: skip
def by_features(sides: Sides) -> float:
    """Weight the base by the odds of a logistic regression of standardised features."""
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    base, target = both_features(sides)
    n_base, n_target = len(base), len(target)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=sides.seed)
    domains = np.repeat([0, 1], [n_base, n_target])
    both, p = np.concatenate([base, target]).astype(np.float64), np.empty(len(domains))
    # Newton's method is faster than the default solver, whose probabilities are up to 0.04 off.
    model = LogisticRegression(solver="newton-cholesky")
    with config_context(assume_finite=True, skip_parameter_validation=True):  # twice as fast
        for kept, left in folds.split(both, domains):
            scaling = Scaling.of(both[kept])
            model.fit(scaling.apply(both[kept]), domains[kept])
            p[left] = model.predict_proba(scaling.apply(both[left]))[:, 1]
    p = p[:n_base]
    return _reported(importance_discriminator(p.clip(*_CUT), sides.base.correct, n_base, n_target))


@SCORES.add(
    "mandoline", "Mandoline", Predicts.ACCURACY, 1, needs=(Need.BASE_LABELS, Need.LOGITS),
    fit=temperature_of_base, source="Chen et al. (2021); slices ours",
)  # fmt: skip
def by_slices(sides: Sides, temperature: float) -> float:
    """Weight the base by predicted class, and by confidence and entropy above its median."""
    from scipy.special import entr

    both = [_scaled(one, temperature) for one in (sides.base, sides.target)]
    measures = [np.stack([p.max(axis=1), entr(p).sum(axis=1)], axis=1) for p in both]
    medians = np.median(measures[0], axis=0)
    slices = [
        np.column_stack([p.argmax(axis=1)[:, None] == np.arange(p.shape[1]), values > medians])
        for p, values in zip(both, measures, strict=True)
    ]
    return _weighed(mandoline, *slices, sides.base.correct)
