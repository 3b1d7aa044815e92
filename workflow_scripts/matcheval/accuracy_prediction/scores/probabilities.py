"""Scores of probabilities: average thresholded confidence (ATC), nuclear norm, and MaNo.

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
