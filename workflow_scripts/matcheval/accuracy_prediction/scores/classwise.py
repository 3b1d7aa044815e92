"""Class-wise calibrated confidences (Li et al. 2022, MICCAI, arXiv 2207.09957; package moval).

Datapoints are grouped by predicted class: a threshold, shift or temperature is fitted to those of
the base, and used on those of the target. Rare classes use the fit to the whole base. What changes
within a predicted class is not seen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores import probabilities
from matcheval.accuracy_prediction.scores.confidence import temperature_of_base
from matcheval.accuracy_prediction.scores.outputs import Floats
from matcheval.accuracy_prediction.scores.score import (
    MIN_ROWS,
    Need,
    Noted,
    Predicts,
    Scores,
    Sides,
    counted_logits,
    usable,
)
from matcheval.errors import InputError, check_known
from matcheval.predictions.softmax import softmax

SCORES = Scores()
MINIMUM = 20  # datapoints of the base that are predicted as a class, for a fit of its own
TEMPERATURES = (0.01, 100.0)
Flags = npt.NDArray[np.bool_]
Kind = Literal["atc", "doc", "ts"]


def _confidences(logits: npt.NDArray[Any], temperature: float = 1.0) -> Floats:
    return np.asarray(softmax(logits, temperature).max(axis=1))


def _fit_atc(logits: npt.NDArray[Any], correct: Flags) -> float:
    return probabilities.threshold(_confidences(logits), int((~correct).sum()))


def _apply_atc(logits: npt.NDArray[Any], limit: float) -> Floats:
    return (_confidences(logits) >= limit).astype(np.float64)


def _fit_doc(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the smallest shift that makes the mean of confidences in [0, 1] the accuracy."""
    from scipy.optimize import brentq

    found, accuracy = _confidences(logits), correct.mean()
    low, high = -float(found.max()), 1 - float(found.min())
    if accuracy in (0, 1):
        return high if accuracy else low
    return float(brentq(lambda b: (found + b).clip(0, 1).mean() - accuracy, low, high, xtol=1e-14))


def _apply_doc(logits: npt.NDArray[Any], shift: float) -> Floats:
    return (_confidences(logits) + shift).clip(0, 1)


def _fit_ts(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the temperature at which the mean confidence is the accuracy, or the nearer end."""
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        return float(_confidences(logits, float(np.exp(log))).mean() - correct.mean())

    coldest, hottest = np.log(TEMPERATURES)
    if (is_low := excess(coldest) <= 0) or excess(hottest) >= 0:
        return TEMPERATURES[not is_low]
    return float(np.exp(brentq(excess, coldest, hottest, xtol=1e-12)))


_Fit = Callable[[npt.NDArray[Any], Flags], float]
_Apply = Callable[[npt.NDArray[Any], float], Floats]
_KINDS: dict[str, tuple[_Fit, _Apply]] = {
    "atc": (_fit_atc, _apply_atc), "doc": (_fit_doc, _apply_doc), "ts": (_fit_ts, _confidences),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OfClasses:
    """Predicted accuracy; for each predicted class its accuracy (NaN: none) and what was fitted."""

    accuracy: float
    per_class: Floats
    parameters: Floats


def classwise(
    kind: Kind, logits_base: npt.NDArray[Any], correct_base: Flags, logits_target: npt.NDArray[Any],
    minimum: int = MINIMUM,
) -> OfClasses:  # fmt: skip
    """Predict the accuracy by calibrating the confidences of each predicted class.

    Parameters
    ----------
    kind : {"atc", "doc", "ts"}
        A threshold, a shift or a temperature of the confidences.
    logits_base, logits_target : float arrays, shape (n, n_classes)
        Finite; the predicted class is the argmax.
    correct_base : bool array, shape (n_base,)
        Whether the predictions on the base are right.
    minimum : int
        A class predicted less often on the base has what is fitted to all of the base.

    Raises
    ------
    InputError
        If a set has fewer than 2 datapoints, logits are not finite, or numbers of classes differ.

    References
    ----------
    Li et al. (2022), arXiv 2207.09957; moval 0.3.25, which fits the same by Nelder-Mead.
    """
    check_known("kind", [kind], _KINDS, file=None, field="kind")
    if logits_base.shape[1] != logits_target.shape[1]:
        raise InputError("base and target have different classes", field="logits_target")
    correct_base = np.asarray(correct_base, np.bool_)
    fit, apply = _KINDS[kind]
    for name, logits in (("logits_base", logits_base), ("logits_target", logits_target)):
        if len(logits) < MIN_ROWS or not np.isfinite(logits).all():
            raise InputError(
                "has fewer than 2 rows, or numbers that are not finite", field=name,
                remedy="Leave out datapoints without logits",
            )  # fmt: skip
    of_base, of_target = logits_base.argmax(axis=1), logits_target.argmax(axis=1)
    estimates, pooled = np.empty(len(logits_target)), fit(logits_base, correct_base)
    n_classes = logits_base.shape[1]
    parameters, per_class = np.full(n_classes, pooled), np.full(n_classes, np.nan)
    for k in range(n_classes):
        own, wanted = of_base == k, of_target == k
        if own.sum() >= max(1, minimum):
            parameters[k] = fit(logits_base[own], correct_base[own])
        if wanted.any():
            estimates[wanted] = apply(logits_target[wanted], parameters[k])
            per_class[k] = estimates[wanted].mean()
    return OfClasses(float(estimates.mean()), per_class, parameters)


def _of_sides(kind: Kind, sides: Sides, temperature: float) -> float:
    base, target = (usable(counted_logits(one) / temperature) for one in (sides.base, sides.target))
    found = classwise(kind, base, sides.base.correct, target).accuracy
    is_limit = kind == "atc" and sides.base.accuracy in (0, 1)
    return Noted(found, probabilities.NO_THRESHOLD * is_limit)


_NAMES: dict[Kind, str] = {"atc": "ATC", "doc": "DoC", "ts": "TempScaling"}
for _kind, _title in _NAMES.items():
    SCORES.add(
        f"classwise_{_kind}", f"Class-wise {_title}", Predicts.ACCURACY, 1,
        needs=(Need.BASE_LABELS, Need.LOGITS), fit=temperature_of_base, source="Li et al. (2022)",
    )(partial(_of_sides, _kind))  # fmt: skip
