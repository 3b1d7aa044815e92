"""Confidence optimal transport, COT and COTT (Lu et al. 2023, NeurIPS, arXiv 2305.15640).

The datapoints of the target are moved to the classes, as many to each as it has in the base, at the
lowest total cost; that of a datapoint is how far its probabilities are from a one-hot code. COT is
1 minus the mean cost, and never above the mean confidence; COTT thresholds the costs as ATC does
confidences. Both rely on the target having the base's class frequencies: others move COT by up to
their total variation. Probabilities are temperature-scaled on the base.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from matcheval.accuracy_prediction.scores.confidence import temperature_of_base
from matcheval.accuracy_prediction.scores.outputs import (
    Classes,
    Floats,
    Outputs,
    scaled_probabilities,
)
from matcheval.accuracy_prediction.scores.probabilities import (
    NO_THRESHOLD,
    garg_threshold,
    threshold,
)
from matcheval.accuracy_prediction.scores.score import (
    MIN_ROWS,
    Need,
    NotAvailableError,
    Noted,
    Predicts,
    Scores,
    Sides,
    Sources,
    usable,
)
from matcheval.errors import InputError

SCORES = Scores()
_MOST = 10_000  # datapoints moved at once, as in the paper's code
_STEPS = 100_000_000  # of the network simplex: more than any set needs
_DECIMALS = 10  # that costs are compared in: the solver's last digits are noise
_ABOVE = 1e-6  # of 1, by rounding


@cache
def _solver() -> Callable[..., Any]:
    """Import POT, without the frameworks that it would import where they are installed."""
    for framework in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{framework}", "1")
    from ot.lp import emd

    return emd


def transport_costs(
    probabilities: Floats, class_distribution: Floats | None = None, *, seed: int = 0
) -> Floats:
    """Compute what each datapoint costs in the cheapest transport to the classes.

    Parameters
    ----------
    probabilities : float array, shape (n, n_classes)
        At least 2 rows of finite numbers in [0, 1], which need not sum to 1.
    class_distribution : float array, shape (n_classes,), or None
        Shares of the classes, which sum to 1; None for equal ones.
    seed : int
        Of the partition of more than 10,000 datapoints (the paper's code draws with replacement).

    Returns
    -------
    float array, shape (n,)
        Costs ½ ‖e_k - p‖₁, in [0, 1], averaged over the classes that a datapoint is moved to.

    Raises
    ------
    InputError
        If there are too few rows, or numbers are out of range.

    References
    ----------
    Lu et al. (2023), arXiv 2305.15640; run_estimation.py of its code.
    """
    return _transport(probabilities, class_distribution, seed)[0]


def _transport(
    probabilities: Floats, class_distribution: Floats | None, seed: int
) -> tuple[Floats, Floats]:
    """Return the costs of datapoints, and their contributions by the dual solution.

    Both have the same mean. The mean contribution over a resample is, to first order, the mean cost
    of the resample's own optimal transport.
    """
    p = np.asarray(probabilities, np.float64)
    n, k = p.shape
    given = np.full(k, 1 / k) if class_distribution is None else np.asarray(class_distribution)
    if n < MIN_ROWS:
        raise InputError(f"{n} rows", field="probabilities", remedy=f"Give at least {MIN_ROWS}")
    if not (np.isfinite(p).all() and 0 <= p.min() <= p.max() <= 1 + _ABOVE):
        raise InputError("has numbers outside [0, 1]", field="probabilities")
    if given.shape != (k,) or not np.isclose(given.sum(), 1) or given.min() < 0:
        raise InputError(
            f"{len(given)} shares of {k} classes, which add up to {given.sum():g}",
            field="class_distribution", remedy="Give a share of each class, 1 in total",
        )  # fmt: skip
    costs = (1 + p.sum(axis=1, keepdims=True)) / 2 - p
    order = np.random.default_rng(seed).permutation(n) if n > _MOST else np.arange(n)
    found, contributions = np.empty(n), np.empty(n)
    for rows in np.array_split(order, -(-n // _MOST)):
        part = costs[rows]
        shares = given * (len(rows) / given.sum())
        plan, log = _solver()(np.ones(len(rows)), shares, part, numItermax=_STEPS, log=True)
        if log["warning"] is not None:
            raise NotAvailableError(f"no transport was found: {log['warning']}")
        found[rows] = (plan * part).sum(axis=1)
        contributions[rows] = log["u"] + shares @ log["v"] / len(rows)
    return found, contributions


def cot(probabilities: Floats, class_distribution: Floats | None = None, *, seed: int = 0) -> float:
    """Return 1 minus the mean of `transport_costs`, where the arguments are described."""
    return 1 - float(transport_costs(probabilities, class_distribution, seed=seed).mean())


def cost_threshold(
    costs: Floats, errors: int, choose: Callable[[Floats, int], float] = threshold
) -> float:
    """Return the threshold on negative costs, from the costs and number of errors on the base."""
    return choose(-costs.round(_DECIMALS), errors)


def released_threshold(scores: Floats, errors: int) -> float:
    """Choose the threshold as the released code does: one rank too low, the lowest of no errors."""
    return float(scores.min()) if errors == 0 else garg_threshold(scores, errors)


def share_below(costs: Floats, limit: float) -> float:
    """Return the share of costs that pass a threshold: the accuracy that COTT predicts."""
    return float((-costs.round(_DECIMALS) >= limit).mean())


@dataclass(frozen=True, eq=False)
class _OfBase:
    """The temperature, and for each cut of the base and variant the threshold of COTT."""

    temperature: float
    limits: dict[tuple[Outputs, Any], float] = field(default_factory=dict)


def _fit(sources: Sources) -> _OfBase:
    return _OfBase(temperature_of_base(sources))


def shares_of_labels(base: Outputs, n_classes: int) -> Floats:
    """Return the share of each class among the labels of a set."""
    labels: Classes = base.label_rows[base.label_rows >= 0]
    return np.bincount(labels, minlength=n_classes) / len(labels)


def _moved(of: Outputs, sides: Sides, temperature: float) -> tuple[Floats, Floats]:
    probabilities = usable(scaled_probabilities(of, temperature))
    return _transport(
        probabilities, shares_of_labels(sides.base, probabilities.shape[1]), sides.seed
    )


def _moved_target(sides: Sides, temperature: float) -> tuple[Floats, Floats]:
    return _moved(sides.target, sides, temperature)


def _values(sides: Sides, of_base: _OfBase) -> Floats:
    """Return a value per datapoint of the target, whose mean is COT."""
    return 1 - sides.once(_moved_target, of_base.temperature)[1]


_PAPER = "Lu et al. (2023)"
_add = partial(
    SCORES.add, predicts=Predicts.ACCURACY, direction=1, needs=(Need.BASE_LABELS, Need.LOGITS),
    fit=_fit,
)  # fmt: skip


@_add("cot", "COT", values=_values, source=_PAPER)
def transported_confidence(sides: Sides, of_base: _OfBase) -> float:
    """Return 1 minus the mean cost of the target."""
    return 1 - float(sides.once(_moved_target, of_base.temperature)[0].mean())


_add(
    "cot_fitted",
    "COT, fitted",
    predicts=Predicts.BY_REGRESSION,
    values=_values,
    source=f"{_PAPER}; fitted (ours)",
)(transported_confidence)


def _thresholded(choose: Callable[[Floats, int], float], sides: Sides, of_base: _OfBase) -> float:
    base, errors = sides.base, int((~sides.base.correct).sum())
    if (key := (base, choose)) not in of_base.limits:
        costs, _ = _moved(base, sides, of_base.temperature)
        of_base.limits[key] = cost_threshold(costs, errors, choose)
    found = share_below(sides.once(_moved_target, of_base.temperature)[0], of_base.limits[key])
    is_limit = errors in (0, len(base))
    return Noted(found, NO_THRESHOLD * is_limit)


_add("cott", "COTT", source=_PAPER)(partial(_thresholded, threshold))
_add("cott", "COTT", variant="released", source=f"{_PAPER}, released code")(
    partial(_thresholded, released_threshold)
)
