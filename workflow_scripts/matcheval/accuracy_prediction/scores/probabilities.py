"""Scores of the probabilities, or logits, of all classes."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores import confidence
from matcheval.accuracy_prediction.scores.confidence import NO_THRESHOLD, threshold
from matcheval.accuracy_prediction.scores.outputs import Floats, Outputs, scaled_probabilities
from matcheval.accuracy_prediction.scores.score import (
    Data,
    NotAvailableError,
    Noted,
    Predicts,
    Scores,
    Sides,
    Sources,
    counted_logits,
    usable,
)
from matcheval.predictions.softmax import softmax

SCORES = Scores()


def nuclear_norm(probabilities: Floats) -> float:
    """Compute the normalised nuclear norm of a matrix P of probabilities."""
    n, n_classes = probabilities.shape
    p = probabilities if n >= n_classes else probabilities.T  # the smaller of the two products
    return _nuclear_norm_of_gram(p.T @ p, n, n_classes)


def _nuclear_norm_of_gram(gram: Floats, n: int, n_classes: int) -> float:
    """Compute the normalised nuclear norm of P from Pᵀ P or P Pᵀ."""
    eigenvalues = np.linalg.eigvalsh(gram)
    floor = len(gram) * np.finfo(np.float64).eps * eigenvalues[-1]
    singular = np.sqrt(eigenvalues[eigenvalues > floor])
    return float(singular.sum() / np.sqrt(min(n, n_classes) * n))


@SCORES.add(
    "nuclear_norm", "Nuclear norm", Predicts.BY_REGRESSION, 1, needs=(Data.GRAM,),
    source="P2; Deng et al. (2023)",
)  # fmt: skip
def nuclear_norm_of_target(sides: Sides) -> float:
    """Compute the normalised nuclear norm of the target's probabilities.

    Confident and evenly spread predictions raise it.
    """
    target = sides.target
    if target.probabilities is not None:
        return nuclear_norm(target.probabilities)
    assert target.statistics is not None
    gram = target.statistics.softmax_gram * target.statistics.n
    return _nuclear_norm_of_gram(gram, target.statistics.n, len(gram))


# --- MaNo: the norm of normalised logits (Xie et al. 2024, NeurIPS, arXiv 2405.18979).
# Confident, well separated logits have a large norm: 1 for one-hot codes and p = ∞, 1/K for uniform
# ones. Logits far from uniform are normalised by the softmax, others by its Taylor polynomial, as
# the softmax would make them all alike; which of the two is decided once, on the base, since scores
# of different normalisations are not comparable. The polynomial changes where a constant is added
# to the logits, which are used as the model gives them.

MANO = Scores()
ETA = 5.0
_BLOCK = 1 << 22  # logits in work at a time, 32 MiB
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
    """Compute MaNo: the p-norm of the normalised logits of a whole set.

    The softmax is used where the mean of -log softmax over rows and classes (nats) exceeds `eta`;
    otherwise 1 + z + z²/2, "shifted": less the row's minimum, as in the released code. Xie et al.
    (2024), equation 6; algs/mano.py of its code, which averages over batches and keeps the decision
    of the first set.
    """
    from scipy.special import log_softmax

    total_log = sum(log_softmax(part, axis=1).sum() for part in _row_blocks(logits))
    criterion = -total_log / logits.size
    by_softmax = criterion > eta if normalisation == "auto" else normalisation == "softmax"
    total = 0.0
    for part in _row_blocks(logits):
        normalised = softmax(part) if by_softmax else _normalise_by_taylor(part, taylor)
        total += float((np.abs(normalised) ** p).sum())
    score = (total / logits.size) ** (1 / p)
    return NormOfLogits(score, float(criterion), "softmax" if by_softmax else "taylor")


def _row_blocks(logits: npt.NDArray[Any]) -> Iterator[Floats]:
    rows = max(1, _BLOCK // logits.shape[1])
    for start in range(0, len(logits), rows):
        yield logits[start : start + rows].astype(np.float64)


def _normalise_by_taylor(logits: Floats, taylor: Taylor) -> Floats:
    """Normalise each row as the softmax does, with 1 + z + z²/2 instead of the exponential."""
    values = 1 + logits + logits**2 / 2
    if taylor == "shifted":
        values -= values.min(axis=1, keepdims=True)
    sums = values.sum(axis=1, keepdims=True)
    return np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)  # equal logits: 0


def _choose_normalisation(sources: Sources) -> Normalisation:
    assert sources.base.logits is not None
    return mano(usable(sources.base.logits)).used


def _target_mano(taylor: Taylor, sides: Sides, normalisation: Normalisation) -> float:
    """Return MaNo of the target, with a remark if it would by itself be normalised otherwise."""
    logits = usable(counted_logits(sides.target))
    norm = mano(logits, taylor=taylor, normalisation=normalisation)
    differs = (norm.criterion > ETA) != (normalisation == "softmax")
    return Noted(norm.score, "by itself, the set would be normalised otherwise" * differs)


_FORMS: dict[str, Taylor] = {"": "shifted", "plain": "plain"}
for _variant, _taylor in _FORMS.items():
    MANO.add(
        "mano", "MaNo", Predicts.BY_REGRESSION, 1, variant=_variant, needs=(Data.LOGITS,),
        fit=_choose_normalisation, source="Xie et al. (2024), equation 6",
    )(partial(_target_mano, _taylor))  # fmt: skip


# --- Class-wise calibrated confidences (Li et al. 2022, MICCAI, arXiv 2207.09957; package moval).
# Datapoints are grouped by predicted class: a threshold, shift or temperature is fitted to those
# of the base, and used on those of the target. Rare classes use the fit to the whole base. What
# changes within a predicted class is not seen.

CLASSWISE = Scores()
MINIMUM = 20  # datapoints of the base that are predicted as a class, for a fit of its own
TEMPERATURES = (0.01, 100.0)
Flags = npt.NDArray[np.bool_]
Kind = Literal["atc", "doc", "ts"]


def _confidences(logits: npt.NDArray[Any], temperature: float = 1.0) -> Floats:
    return np.asarray(softmax(logits, temperature).max(axis=1))


def _fit_threshold(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the ATC threshold: as many confidences are below it as there are errors."""
    return threshold(_confidences(logits), int((~correct).sum()))


def _threshold_confidences(logits: npt.NDArray[Any], limit: float) -> Floats:
    """Return 1 where the confidence reaches the limit, and 0 elsewhere."""
    return (_confidences(logits) >= limit).astype(np.float64)


def _fit_shift(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the least shift at which clipped confidences have the accuracy as their mean."""
    from scipy.optimize import brentq

    confidences, accuracy = _confidences(logits), correct.mean()
    low, high = -float(confidences.max()), 1 - float(confidences.min())
    if accuracy in (0, 1):
        return high if accuracy else low

    def excess_over_accuracy(shift: float) -> float:
        return float((confidences + shift).clip(0, 1).mean() - accuracy)

    return float(brentq(excess_over_accuracy, low, high, xtol=1e-14))


def _shift_confidences(logits: npt.NDArray[Any], shift: float) -> Floats:
    return (_confidences(logits) + shift).clip(0, 1)


def _fit_temperature(logits: npt.NDArray[Any], correct: Flags) -> float:
    """Return the temperature, within bounds, at which the mean confidence is the accuracy."""
    from scipy.optimize import brentq

    def excess_over_accuracy(log: float) -> float:
        return float(_confidences(logits, float(np.exp(log))).mean() - correct.mean())

    coldest, hottest = np.log(TEMPERATURES)
    if (is_low := excess_over_accuracy(coldest) <= 0) or excess_over_accuracy(hottest) >= 0:
        return TEMPERATURES[not is_low]
    return float(np.exp(brentq(excess_over_accuracy, coldest, hottest, xtol=1e-12)))


_Fit = Callable[[npt.NDArray[Any], Flags], float]
_Apply = Callable[[npt.NDArray[Any], float], Floats]
_KINDS: dict[str, tuple[_Fit, _Apply]] = {
    "atc": (_fit_threshold, _threshold_confidences), "doc": (_fit_shift, _shift_confidences),
    "ts": (_fit_temperature, _confidences),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ClasswiseEstimate:
    """Predicted accuracy; for each predicted class its accuracy (or NaN) and fitted parameter."""

    accuracy: float
    per_class: Floats
    parameters: Floats


def classwise(
    kind: Kind, logits_base: npt.NDArray[Any], correct_base: Flags, logits_target: npt.NDArray[Any],
    minimum: int = MINIMUM,
) -> ClasswiseEstimate:  # fmt: skip
    """Predict the accuracy by calibrating the confidences of each predicted class.

    A class predicted less often on the base than the minimum has what is fitted to all of the base.
    Li et al. (2022), arXiv 2207.09957; moval 0.3.25, which fits the same by Nelder-Mead.
    """
    fit, apply = _KINDS[kind]
    predicted_base, predicted = logits_base.argmax(axis=1), logits_target.argmax(axis=1)
    estimates, pooled = np.empty(len(logits_target)), fit(logits_base, correct_base)
    n_classes = logits_base.shape[1]
    parameters, per_class = np.full(n_classes, pooled), np.full(n_classes, np.nan)
    for k in range(n_classes):
        own, wanted = predicted_base == k, predicted == k
        if own.sum() >= max(1, minimum):
            parameters[k] = fit(logits_base[own], correct_base[own])
        if wanted.any():
            estimates[wanted] = apply(logits_target[wanted], parameters[k])
            per_class[k] = estimates[wanted].mean()
    return ClasswiseEstimate(float(estimates.mean()), per_class, parameters)


def _classwise_accuracy(kind: Kind, sides: Sides, temperature: float) -> float:
    """Predict the accuracy on the target by `classwise`, from logits over a temperature."""
    base, target = (
        usable(counted_logits(side) / temperature) for side in (sides.base, sides.target)
    )
    accuracy = classwise(kind, base, sides.base.correct, target).accuracy
    is_limit = kind == "atc" and sides.base.accuracy in (0, 1)
    return Noted(accuracy, NO_THRESHOLD * is_limit)


_CLASSWISE_NAMES: dict[Kind, str] = {"atc": "ATC", "doc": "DoC", "ts": "TempScaling"}
for _kind, _title in _CLASSWISE_NAMES.items():
    CLASSWISE.add(
        f"classwise_{_kind}", f"Class-wise {_title}", Predicts.ACCURACY, 1,
        needs=(Data.BASE_LABELS, Data.LOGITS), fit=confidence.temperature_of_base,
        source="Li et al. (2022)",
    )(partial(_classwise_accuracy, _kind))  # fmt: skip


# --- Confidence optimal transport, COT and COTT (Lu et al. 2023, NeurIPS, arXiv 2305.15640).
# The datapoints of the target are moved to the classes, as many to each as it has in the base, at
# the lowest total cost; that of a datapoint is how far its probabilities are from a one-hot code.
# COT is 1 minus the mean cost, and never above the mean confidence; COTT thresholds the costs as
# ATC does confidences. Both rely on the target having the base's class frequencies: others move COT
# by up to their total variation. Probabilities are temperature-scaled on the base.

TRANSPORT = Scores()
_MOST = 10_000  # datapoints moved at once, as in the paper's code
_STEPS = 100_000_000  # of the network simplex: more than any set needs
_DECIMALS = 10  # that costs are compared in: the solver's last digits are noise


@cache
def _solver() -> Callable[..., Any]:
    """Return the optimal transport solver of POT, imported without deep learning frameworks."""
    for framework in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{framework}", "1")
    from ot.lp import emd

    return emd


def transport(probabilities: Floats, shares: Floats, *, seed: int = 0) -> tuple[Floats, Floats]:
    """Return each datapoint's cost, and dual contribution, in optimal transport to class shares.

    Costs are ½ ‖e_k - p‖₁, averaged over the classes that a datapoint is moved to. The second array
    are contributions by the dual solution, which have the same mean; their mean over a resample is,
    to first order, the mean cost of the resample's own optimal transport. More than 10,000
    datapoints are partitioned at random (the paper's code, run_estimation.py, draws with
    replacement).
    """
    p = np.asarray(probabilities, np.float64)
    n = len(p)
    costs = (1 + p.sum(axis=1, keepdims=True)) / 2 - p
    order = np.random.default_rng(seed).permutation(n) if n > _MOST else np.arange(n)
    costs_of_rows, contributions = np.empty(n), np.empty(n)
    for rows in np.array_split(order, -(-n // _MOST)):
        part = costs[rows]
        sizes = shares * (len(rows) / shares.sum())
        plan, log = _solver()(np.ones(len(rows)), sizes, part, numItermax=_STEPS, log=True)
        if log["warning"] is not None:
            raise NotAvailableError(f"no transport was found: {log['warning']}")
        costs_of_rows[rows] = (plan * part).sum(axis=1)
        contributions[rows] = log["u"] + sizes @ log["v"] / len(rows)
    return costs_of_rows, contributions


def cost_threshold(
    costs: Floats, errors: int, choose: Callable[[Floats, int], float] = threshold
) -> float:
    """Return COTT's threshold on negative costs, from the base's costs and number of errors."""
    return choose(-costs.round(_DECIMALS), errors)


def released_threshold(scores: Floats, errors: int) -> float:
    """Return the threshold of COTT's released code: one rank lower; the lowest without errors."""
    return float(scores.min()) if errors == 0 else confidence.garg_threshold(scores, errors)


def share_within(costs: Floats, limit: float) -> float:
    """Return the share of costs that pass a threshold: the accuracy that COTT predicts."""
    return float((-costs.round(_DECIMALS) >= limit).mean())


@dataclass(frozen=True, eq=False)
class _TransportFit:
    """The temperature of the base, and COTT's thresholds by restriction of the base and variant."""

    temperature: float
    limits: dict[tuple[Outputs, Any], float] = field(default_factory=dict)


def _fit_transport(sources: Sources) -> _TransportFit:
    """Fit the temperature; thresholds are chosen when they are needed."""
    return _TransportFit(confidence.temperature_of_base(sources))


def shares_of_labels(base: Outputs, n_classes: int) -> Floats:
    """Return the share of each class among the labels of the base."""
    labels = base.label_rows[base.label_rows >= 0]
    return np.bincount(labels, minlength=n_classes) / len(labels)


def _transport_outputs(outputs: Outputs, sides: Sides, temperature: float) -> tuple[Floats, Floats]:
    """Return costs and contributions of moving outputs to the class shares of the base."""
    probabilities = usable(scaled_probabilities(outputs, temperature))
    shares = shares_of_labels(sides.base, probabilities.shape[1])
    return transport(probabilities, shares, seed=sides.seed)


def _transport_target(sides: Sides, temperature: float) -> tuple[Floats, Floats]:
    return _transport_outputs(sides.target, sides, temperature)


def _cot_values(sides: Sides, fitted: _TransportFit) -> Floats:
    """Return a value per datapoint of the target; their mean is COT."""
    return 1 - sides.once(_transport_target, fitted.temperature)[1]


_PAPER = "Lu et al. (2023)"
_add = partial(
    TRANSPORT.add, predicts=Predicts.ACCURACY, direction=1, needs=(Data.BASE_LABELS, Data.LOGITS),
    fit=_fit_transport,
)  # fmt: skip


@_add("cot", "COT", values=_cot_values, source=_PAPER)
def transported_confidence(sides: Sides, fitted: _TransportFit) -> float:
    """Return COT: 1 minus the mean cost of the target's optimal transport."""
    return 1 - float(sides.once(_transport_target, fitted.temperature)[0].mean())


_add(
    "cot_fitted",
    "COT, fitted",
    predicts=Predicts.BY_REGRESSION,
    values=_cot_values,
    source=f"{_PAPER}; fitted (ours)",
)(transported_confidence)


def _cott(choose: Callable[[Floats, int], float], sides: Sides, fitted: _TransportFit) -> float:
    """Return the share of the target's costs that pass the threshold chosen on the base."""
    base, errors = sides.base, int((~sides.base.correct).sum())
    if (key := (base, choose)) not in fitted.limits:
        costs, _ = _transport_outputs(base, sides, fitted.temperature)
        fitted.limits[key] = cost_threshold(costs, errors, choose)
    share = share_within(sides.once(_transport_target, fitted.temperature)[0], fitted.limits[key])
    is_limit = errors in (0, len(base))
    return Noted(share, NO_THRESHOLD * is_limit)


_add("cott", "COTT", source=_PAPER)(partial(_cott, threshold))
_add("cott", "COTT", variant="released", source=f"{_PAPER}, released code")(
    partial(_cott, released_threshold)
)
