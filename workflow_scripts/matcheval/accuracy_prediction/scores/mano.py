"""MaNo: the norm of normalised logits (Xie et al. 2024, NeurIPS, arXiv 2405.18979).

Confident, well separated logits have a large norm: 1 for one-hot codes and p = ∞, 1/K for uniform
ones. Logits far from uniform are normalised by the softmax, others by its Taylor polynomial, as the
softmax would make them all alike; which of the two is decided once, on the base, since scores of
different normalisations are not comparable. The polynomial changes where a constant is added to
the logits, which are used as the model gives them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import Floats
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


def _of_target(taylor: Taylor, sides: Sides, normalisation: Normalisation) -> float:
    logits = usable(counted_logits(sides.target))
    found = mano(logits, taylor=taylor, normalisation=normalisation)
    differs = (found.criterion > ETA) != (normalisation == "softmax")
    return Noted(found.score, "by itself, the set would be normalised otherwise" * differs)


_FORMS: dict[str, Taylor] = {"": "shifted", "plain": "plain"}
for _variant, _taylor in _FORMS.items():
    SCORES.add(
        "mano", "MaNo", Predicts.BY_REGRESSION, 1, variant=_variant, needs=(Need.LOGITS,),
        fit=_decide, source="Xie et al. (2024), equation 6",
    )(partial(_of_target, _taylor))  # fmt: skip
