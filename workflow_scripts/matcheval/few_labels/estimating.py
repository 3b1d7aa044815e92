"""Which method the labels call for, and what it gives."""

from dataclasses import dataclass, replace

import numpy as np

from matcheval.errors import InputError, check_known
from matcheval.few_labels.active import Estimand, active, lure
from matcheval.few_labels.answers import Counted
from matcheval.few_labels.control import difference_set, ppi
from matcheval.few_labels.designs import STRATA, Draw
from matcheval.few_labels.intervals import (
    Bounds,
    Found,
    clopper_pearson,
    effective_interval,
    hypergeometric,
    wilson,
)
from matcheval.few_labels.sequences import Sequence, betting_cs, ppr_cs, prior_of
from matcheval.few_labels.strata import stratified
from matcheval.statistics.intervals import FloatArray

FEW = 5  # errors, or correct datapoints, below which an approximate interval is not taken
_LEAST = 30  # random labels, below which the exact interval is taken
ENOUGH = 50  # labels from which approximate intervals were found to hold: the size of a pilot
_SEQUENCES = ("ppr_cs", "betting_cs")
GUARANTEES = {
    "clopper_pearson": "exact", "hypergeometric": "exact", "wilson": "approximate",
    "difference_set": "approximate", "ppi": "approximate", "ppr_cs": "anytime",
    "betting_cs": "anytime", "stratified": "approximate", "active": "approximate",
    "lure": "approximate",
}  # fmt: skip
METHODS = tuple(GUARANTEES)
_OF_RANDOM = METHODS[:7]
NAMES = {
    "clopper_pearson": "labels alone, Clopper-Pearson", "wilson": "labels alone, Wilson",
    "hypergeometric": "labels alone, hypergeometric", "difference_set": "random + confidence",
    "ppi": "random + confidence, PPI++", "ppr_cs": "confidence sequence, prior-posterior ratio",
    "betting_cs": "confidence sequence, betting", "stratified": "strata + confidence",
    "active": "active + confidence", "lure": "LURE + confidence",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of labels."""

    f: FloatArray
    plan: Draw | None
    estimand: Estimand
    level: float
    half_width: float | None = None


def choose(asked: str, question: Question, n: int, n_correct: int) -> tuple[str, str]:
    """Return the method, and why it is taken: by the design and the counts, never by the result.

    Raises
    ------
    InputError
        If the method that is asked for does not go with how the labels were drawn.
    """
    design = "random" if question.plan is None else question.plan.design
    exact = "hypergeometric" if question.estimand == "set" else "clopper_pearson"
    if design == "disagreement":
        raise InputError(
            "the labels were drawn where two models differ", field="plan",
            remedy="Give the predictions of both models: they tell the difference, no accuracy",
        )  # fmt: skip
    own = "stratified" if design in STRATA else design
    allowed = _OF_RANDOM if design == "random" else (own,)
    if question.half_width is not None:
        if design != "random":
            problem = f"to look after every label, labels have to be random, not {design}"
            raise InputError(problem, remedy="Plan with the design random")
        if question.estimand == "population":
            problem = "to look after every label is for the accuracy on the set"
            raise InputError(problem, remedy="Give the estimand set")
        if question.half_width >= 0.5:
            problem = f"half_width is {question.half_width}"
            raise InputError(problem, remedy="Give a fraction below 0.5, such as 0.03")
    if asked != "auto":
        check_known("method", [asked], METHODS)
        if asked not in allowed:
            problem = f"method '{asked}' is not for labels drawn by the design '{design}'"
            raise InputError(problem, remedy=f"Give auto, or one of {', '.join(allowed)}")
        if asked in (*_SEQUENCES, "hypergeometric") and question.estimand == "population":
            raise InputError(f"{asked} is of the set", remedy="Give the estimand set")
        if asked == "ppi" and question.estimand == "set":
            raise InputError("ppi is of the population", remedy="Give the estimand population")
        return asked, "as asked for"
    if question.half_width is not None:
        return "ppr_cs", "looks after every label"
    if design != "random":
        return own, f"labels drawn by the design {design}"
    if n >= _LEAST and min(n_correct, n - n_correct) >= FEW:
        return (
            "difference_set",
            f"{_LEAST} random labels or more, {FEW} errors and {FEW} correct",
        )
    return (
        exact,
        f"random labels: fewer than {_LEAST}, or than {FEW} errors or {FEW} correct",
    )


def found_by(method: str, y: FloatArray, labels: Counted, question: Question) -> Found:
    """Estimate the accuracy by a method, from whether each labelled datapoint is correct."""
    f, plan, level, size = question.f, question.plan, question.level, len(question.f)
    n, k, own = len(y), int(y.sum()), f[labels.rows]
    is_set = question.estimand == "set"
    if not n:
        return Found(0.0, 1.0, 0.0, float(f.mean()), n=0)
    alone = {
        "clopper_pearson": lambda: clopper_pearson(k, n, level),
        "wilson": lambda: wilson(k, n, level),
        "hypergeometric": lambda: hypergeometric(k, n, size, level),
    }
    if method in alone:
        return _of_bounds(alone[method](), k / n, n)
    if method in _SEQUENCES:
        found = sequence_of(method, y, labels, question)
        return _of_bounds(Bounds(float(found.lower[-1]), float(found.upper[-1])), k / n, n)
    if method == "ppi":
        others = np.delete(f, labels.rows)
        return _cut(ppi(y, own, others, level=level))
    if method == "active":
        pi, right, is_labelled = np.ones(size), np.full(size, np.nan), np.zeros(size, bool)
        pi[labels.rows], right[labels.rows], is_labelled[labels.rows] = labels.chance, y, True
        return _cut(active(right, f, is_labelled, pi, level, question.estimand, "effective"))
    if method == "stratified":
        assert plan is not None
        means = _stratum_means(f, plan)
        set_found = stratified(y, labels.stratum, plan.sizes, level, own, means)
    elif method == "lure":
        mean = float(f.mean())
        set_found = lure(y, labels.chance, size, own, mean, level, "effective")
    else:
        set_found = difference_set(y, own, f, level=level)
    return _cut(set_found if is_set else _of_population(set_found, size, level))


def _stratum_means(f: FloatArray, plan: Draw) -> FloatArray:
    from matcheval.few_labels.strata import strata_at

    part = strata_at(f, plan.bounds)
    found: FloatArray = np.bincount(part, f, len(plan.sizes)) / np.maximum(plan.sizes, 1)
    return found


def sequence_of(method: str, y: FloatArray, labels: Counted, question: Question) -> Sequence:
    """Return the intervals after each label."""
    f, size = question.f, len(question.f)
    mean = float(f.mean())
    if method == "ppr_cs":
        return ppr_cs(y, size, question.level, *prior_of(mean), question.half_width)
    own = f[labels.rows]
    return betting_cs(y, size, question.level, own, mean, half_width=question.half_width)


def _of_population(found: Found, size: int, level: float) -> Found:
    """Add what the set itself is by chance: the variance of a mean of that many datapoints."""
    if not found.se >= 0:  # one label
        return found
    p = min(max(found.estimate, 0.0), 1.0)
    variance = found.se**2 + p * (1 - p) / size
    bounds = effective_interval(p, variance, found.n, level)
    return replace(found, **vars(bounds), se=float(np.sqrt(variance)))


def _of_bounds(bounds: Bounds, estimate: float, n: int) -> Found:
    return Found(bounds.lower, bounds.upper, float(n), estimate, n=n)


def _cut(found: Found) -> Found:
    lower, upper, estimate = (
        min(max(one, 0.0), 1.0) for one in (found.lower, found.upper, found.estimate)
    )
    return replace(found, lower=lower, upper=upper, estimate=estimate)
