"""Scores of the probabilities, or logits, of all classes.

ATC is the share of datapoints as confident as a threshold, chosen on the base so that the share is
the accuracy there. ATC-MC thresholds the largest probability, ATC-NE the negative entropy. Two
publications' code computes something else; both are variants with names of their own, for
comparisons with their numbers:

- `garg_code` (ATC_helper.py of Garg et al.): one order statistic too low, so that it predicts 1/n
  too much on its own source; without errors on the source the threshold is 0, below all
  confidences (as it should be) but above all negative entropies, and ATC-NE predicts 0.
- `autoeval_baselines` (atc.py of CIFAR-10-Warehouse's baselines): of negative entropies, although
  P2 names MC; the threshold is the quantile of the accuracy instead of the error, and the share of
  those *below* is returned. It is another statistic than ATC and no estimate of an accuracy; it
  falls as accuracy rises; with a source accuracy of 1 it is undefined (its code stops).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.confidence import temperature_of_base
from matcheval.accuracy_prediction.scores.outputs import Floats, Outputs
from matcheval.accuracy_prediction.scores.score import (
    MIN_ROWS,
    Need,
    NotAvailableError,
    Noted,
    Predicts,
    Scores,
    Sides,
    Sources,
    counted_logits,
    usable,
)
from matcheval.errors import InputError, check_known
from matcheval.predictions.softmax import softmax

SCORES = Scores()


def threshold(scores: Floats, errors: int) -> float:
    """Choose the threshold that leaves as many scores below it as there are errors."""
    if errors == 0:
        return -np.inf
    return np.inf if errors == len(scores) else _order_statistic(scores, errors)


def garg_threshold(scores: Floats, errors: int) -> float:
    """Choose the threshold as the code published with ATC does; see the module's docstring."""
    return 0.0 if errors == 0 else _order_statistic(scores, errors - 1)


def accuracy_quantile(scores: Floats, errors: int) -> float:
    """Choose the threshold as CIFAR-10-Warehouse's baselines do; see the module's docstring."""
    return np.nan if errors == 0 else _order_statistic(scores, len(scores) - errors)


def _order_statistic(scores: Floats, k: int) -> float:
    return float(np.partition(scores, k)[k])


def _confidences(outputs: Outputs) -> Floats:
    return outputs.confidences


def _negative_entropies(outputs: Outputs) -> Floats:
    return -outputs.entropies


_Of = Callable[[Outputs], Floats]
_Choose = Callable[[Floats, int], float]


def _limit(of: _Of, choose: _Choose, base: Outputs) -> float:
    return choose(of(base), int((~base.correct).sum()))


def _share_at_least(of: _Of, choose: _Choose, sides: Sides) -> float:
    found = float((of(sides.target) >= _limit(of, choose, sides.base)).mean())
    return Noted(found, NO_THRESHOLD * (sides.base.accuracy in (0, 1)))


NO_THRESHOLD = "all of the base is right, or all wrong: no threshold"
_NEEDS = (Need.BASE_LABELS, Need.PROBABILITIES)
_HELPER = "ATC_helper.py published with Garg et al. (2022)"
for _variant, _choose, _sources in (
    ("", threshold, ("Garg et al. (2022); P2", "Garg et al. (2022)")),
    ("garg_code", garg_threshold, (_HELPER, _HELPER)),
):
    for _of, _name, _n_needs, _source in (
        (_confidences, "MC", 1, _sources[0]), (_negative_entropies, "NE", 2, _sources[1]),
    ):  # fmt: skip
        SCORES.add(
            f"atc_{_name.lower()}", f"ATC-{_name}", Predicts.ACCURACY, 1, variant=_variant,
            needs=_NEEDS[:_n_needs], source=_source, of_confidences=True,
        )(partial(_share_at_least, _of, _choose))  # fmt: skip


@SCORES.add(
    "atc_ne", "ATC-NE", Predicts.BY_REGRESSION, -1, variant="autoeval_baselines", needs=_NEEDS,
    source="atc.py of the baselines that P2 refers to", of_confidences=True,
)  # fmt: skip
def share_below(sides: Sides) -> float:
    """Return the share of negative entropies below the baselines' threshold; NaN without errors."""
    limit = _limit(_negative_entropies, accuracy_quantile, sides.base)
    below = float((_negative_entropies(sides.target) < limit).mean())
    return np.nan if np.isnan(limit) else below


def nuclear_norm(probabilities: Floats) -> float:
    """Compute the normalised nuclear norm of a matrix P of probabilities."""
    n, n_classes = probabilities.shape
    p = probabilities if n >= n_classes else probabilities.T  # the smaller of the two products
    return _from_gram(p.T @ p, n, n_classes)


def _from_gram(gram: Floats, n: int, n_classes: int) -> float:
    """Compute the norm from Pᵀ P or P Pᵀ."""
    eigenvalues = np.linalg.eigvalsh(gram)
    floor = len(gram) * np.finfo(np.float64).eps * eigenvalues[-1]
    singular = np.sqrt(eigenvalues[eigenvalues > floor])
    return float(singular.sum() / np.sqrt(min(n, n_classes) * n))


@SCORES.add(
    "nuclear_norm", "Nuclear norm", Predicts.BY_REGRESSION, 1, needs=(Need.GRAM,),
    source="P2; Deng et al. (2023)",
)  # fmt: skip
def nuclear_norm_of_target(sides: Sides) -> float:
    """Compute the norm on the target: confident and evenly spread predictions raise it."""
    target = sides.target
    if target.probabilities is not None:
        return nuclear_norm(target.probabilities)
    assert target.statistics is not None
    gram = target.statistics.softmax_gram * target.statistics.n
    return _from_gram(gram, target.statistics.n, len(gram))


# --- MaNo: the norm of normalised logits (Xie et al. 2024, NeurIPS, arXiv 2405.18979).
# Confident, well separated logits have a large norm: 1 for one-hot codes and p = ∞, 1/K for uniform
# ones. Logits far from uniform are normalised by the softmax, others by its Taylor polynomial, as
# the softmax would make them all alike; which of the two is decided once, on the base, since scores
# of different normalisations are not comparable. The polynomial changes where a constant is added
# to the logits, which are used as the model gives them.

MANO = Scores()
ETA = 5.0
_BLOCK = 1 << 22  # logits in work at a time, 32 MiB
_LARGEST = 1e100  # logit
Taylor = Literal["shifted", "plain"]
Normalisation = Literal["auto", "softmax", "taylor"]


@dataclass(frozen=True)
class NormOfLogits:
    """The MaNo score, the criterion that chose the normalisation, and the normalisation used."""

    score: float
    criterion: float
    used: Normalisation


def mano(
    logits: npt.NDArray[Any], p: float = 4, eta: float = ETA, taylor: Taylor = "shifted",
    normalisation: Normalisation = "auto",
) -> NormOfLogits:  # fmt: skip
    """Compute the norm of the normalised logits of a whole set.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
        Finite, as the model gives them, not temperature-scaled.
    p : float
        Of the norm, above 0.
    eta : float
        The softmax is used where the mean of -log softmax over rows and classes exceeds it (nats).
    taylor : {"shifted", "plain"}
        Whether the polynomial 1 + z + z²/2 less the row's minimum is used, as in the released code.
    normalisation : {"auto", "softmax", "taylor"}
        "auto" decides by `eta`.

    Raises
    ------
    InputError
        If there are fewer than 2 rows, logits are not finite or too large, or an option is unknown.

    References
    ----------
    Xie et al. (2024), arXiv 2405.18979, equation 6; algs/mano.py of its code, which averages over
    batches and keeps the decision of the first set.
    """
    from scipy.special import log_softmax

    check_known("form", [taylor], ("shifted", "plain"), file=None, field="taylor")
    known = ("auto", "softmax", "taylor")
    check_known("normalisation", [normalisation], known, file=None, field="normalisation")
    if len(logits) < MIN_ROWS or not np.isfinite(logits).all():
        raise InputError(f"fewer than {MIN_ROWS} rows, or not finite", field="logits")
    if float(np.abs(logits).max()) > _LARGEST:  # float32 has no such number
        raise InputError("are too large for their squares", field="logits")
    if not 0 < p < np.inf:
        raise InputError(f"is {p}", field="p", remedy="Give a finite number above 0")
    total_log = sum(log_softmax(part, axis=1).sum() for part in _blocks(logits))
    criterion = -total_log / logits.size
    by_softmax = criterion > eta if normalisation == "auto" else normalisation == "softmax"
    total = 0.0
    for part in _blocks(logits):
        normalised = softmax(part) if by_softmax else _polynomial(part, taylor)
        total += float((np.abs(normalised) ** p).sum())
    score = (total / logits.size) ** (1 / p)
    return NormOfLogits(score, float(criterion), "softmax" if by_softmax else "taylor")


def _blocks(logits: npt.NDArray[Any]) -> Iterator[Floats]:
    rows = max(1, _BLOCK // logits.shape[1])
    for start in range(0, len(logits), rows):
        yield logits[start : start + rows].astype(np.float64)


def _polynomial(logits: Floats, taylor: Taylor) -> Floats:
    values = 1 + logits + logits**2 / 2
    if taylor == "shifted":
        values -= values.min(axis=1, keepdims=True)
    sums = values.sum(axis=1, keepdims=True)
    return np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)  # equal logits: 0


def _decide(sources: Sources) -> Normalisation:
    assert sources.base.logits is not None
    if not np.isfinite(sources.base.logits).all():
        raise NotAvailableError("logits of the base are not finite numbers")
    return mano(sources.base.logits).used


def _mano_of(taylor: Taylor, sides: Sides, normalisation: Normalisation) -> float:
    logits = usable(counted_logits(sides.target))
    found = mano(logits, taylor=taylor, normalisation=normalisation)
    differs = (found.criterion > ETA) != (normalisation == "softmax")
    return Noted(found.score, "by itself, the set would be normalised otherwise" * differs)


_FORMS: dict[str, Taylor] = {"": "shifted", "plain": "plain"}
for _variant, _taylor in _FORMS.items():
    MANO.add(
        "mano", "MaNo", Predicts.BY_REGRESSION, 1, variant=_variant, needs=(Need.LOGITS,),
        fit=_decide, source="Xie et al. (2024), equation 6",
    )(partial(_mano_of, _taylor))  # fmt: skip


# --- Class-wise calibrated confidences (Li et al. 2022, MICCAI, arXiv 2207.09957; package moval).
# Datapoints are grouped by predicted class: a threshold, shift or temperature is fitted to those
# of the base, and used on those of the target. Rare classes use the fit to the whole base. What
# changes within a predicted class is not seen.

CLASSWISE = Scores()
MINIMUM = 20  # datapoints of the base that are predicted as a class, for a fit of its own
TEMPERATURES = (0.01, 100.0)
Flags = npt.NDArray[np.bool_]
Kind = Literal["atc", "doc", "ts"]


def _largest(logits: npt.NDArray[Any], temperature: float = 1.0) -> Floats:
    return np.asarray(softmax(logits, temperature).max(axis=1))


def _fit_atc(logits: npt.NDArray[Any], correct: Flags) -> float:
    return threshold(_largest(logits), int((~correct).sum()))


def _apply_atc(logits: npt.NDArray[Any], limit: float) -> Floats:
    return (_largest(logits) >= limit).astype(np.float64)


def _fit_doc(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the smallest shift that makes the mean of confidences in [0, 1] the accuracy."""
    from scipy.optimize import brentq

    found, accuracy = _largest(logits), correct.mean()
    low, high = -float(found.max()), 1 - float(found.min())
    if accuracy in (0, 1):
        return high if accuracy else low
    return float(brentq(lambda b: (found + b).clip(0, 1).mean() - accuracy, low, high, xtol=1e-14))


def _apply_doc(logits: npt.NDArray[Any], shift: float) -> Floats:
    return (_largest(logits) + shift).clip(0, 1)


def _fit_ts(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the temperature at which the mean confidence is the accuracy, or the nearer end."""
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        return float(_largest(logits, float(np.exp(log))).mean() - correct.mean())

    coldest, hottest = np.log(TEMPERATURES)
    if (is_low := excess(coldest) <= 0) or excess(hottest) >= 0:
        return TEMPERATURES[not is_low]
    return float(np.exp(brentq(excess, coldest, hottest, xtol=1e-12)))


_Fit = Callable[[npt.NDArray[Any], Flags], float]
_Apply = Callable[[npt.NDArray[Any], float], Floats]
_KINDS: dict[str, tuple[_Fit, _Apply]] = {
    "atc": (_fit_atc, _apply_atc), "doc": (_fit_doc, _apply_doc), "ts": (_fit_ts, _largest),
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


def _classwise_of(kind: Kind, sides: Sides, temperature: float) -> float:
    base, target = (
        usable(counted_logits(side) / temperature) for side in (sides.base, sides.target)
    )
    found = classwise(kind, base, sides.base.correct, target).accuracy
    is_limit = kind == "atc" and sides.base.accuracy in (0, 1)
    return Noted(found, NO_THRESHOLD * is_limit)


_CLASSWISE_NAMES: dict[Kind, str] = {"atc": "ATC", "doc": "DoC", "ts": "TempScaling"}
for _kind, _title in _CLASSWISE_NAMES.items():
    CLASSWISE.add(
        f"classwise_{_kind}", f"Class-wise {_title}", Predicts.ACCURACY, 1,
        needs=(Need.BASE_LABELS, Need.LOGITS), fit=temperature_of_base, source="Li et al. (2022)",
    )(partial(_classwise_of, _kind))  # fmt: skip
