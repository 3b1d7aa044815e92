"""Which method the labels call for, and the estimate that it gives."""

from dataclasses import dataclass, replace

import numpy as np

from matcheval.errors import InputError, check_known
from matcheval.few_labels.draws import Draw, strata_at
from matcheval.few_labels.estimators import (
    Bounds,
    ConfidenceSequence,
    Estimate,
    betting_cs,
    clopper_pearson,
    difference_set,
    effective_interval,
    hypergeometric,
    ppr_cs,
    prior_of,
    stratified,
)
from matcheval.few_labels.inputs import Sample
from matcheval.statistics.intervals import FloatArray

FEW = 5  # errors, or correct datapoints, below which an approximate interval is not taken
ENOUGH = 50  # labels from which approximate intervals were found to hold: the size of a pilot
_LEAST = 30  # random labels, below which the exact interval is taken
GUARANTEES = {
    "hypergeometric": "exact", "clopper_pearson": "exact", "difference_set": "approximate",
    "ppr_cs": "anytime", "betting_cs": "anytime", "stratified": "approximate",
}  # fmt: skip
NAMES = {
    "hypergeometric": "labels alone, hypergeometric",
    "clopper_pearson": "labels alone, Clopper-Pearson", "difference_set": "random + confidence",
    "ppr_cs": "confidence sequence, prior-posterior ratio",
    "betting_cs": "confidence sequence, betting", "stratified": "strata + confidence",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of labels: confidences f of all datapoints, how labels were drawn, of what."""

    f: FloatArray
    draw: Draw | None
    estimand: str
    level: float


def choose(
    method: str, question: Question, n: int, n_correct: int, half_width: float | None = None
) -> tuple[str, str]:
    """Return the method, and why it is taken: by the design and the counts, never by the result."""
    design = "random" if question.draw is None else question.draw.design
    is_set = question.estimand == "set"
    if half_width is not None:
        if design != "random" or not is_set:
            problem = "to look after every label is for random labels and the accuracy on the set"
            remedy = "Plan with the design random, and ask for the estimand set"
            raise InputError(problem, remedy=remedy)
        if not 0 < half_width < 0.5:
            remedy = "Give a fraction below 0.5, such as 0.03"
            raise InputError(f"half_width is {half_width}", remedy=remedy)
    if method != "auto":
        check_known("method", [method], GUARANTEES)
        allowed = [name for name in GUARANTEES if (name == "stratified") == (design == "mixed")]
        if method not in allowed:
            problem = f"method '{method}' is not for labels drawn by the design '{design}'"
            raise InputError(problem, remedy=f"Give auto, or one of {', '.join(allowed)}")
        if not is_set and (method == "hypergeometric" or GUARANTEES[method] == "anytime"):
            raise InputError(f"{method} is of the set", remedy="Give the estimand set")
        return method, "as asked for"
    if half_width is not None:
        return "ppr_cs", "looks after every label"
    if design == "mixed":
        return "stratified", "labels drawn by the design mixed"
    if n >= _LEAST and min(n_correct, n - n_correct) >= FEW:
        reason = f"{_LEAST} random labels or more, {FEW} errors and {FEW} correct"
        return "difference_set", reason
    reason = f"random labels: fewer than {_LEAST}, or than {FEW} errors or {FEW} correct"
    return "hypergeometric" if is_set else "clopper_pearson", reason


def estimate_by(method: str, y: FloatArray, sample: Sample, question: Question) -> Estimate:
    """Estimate the accuracy from whether each labelled datapoint is correct."""
    f, level, n = question.f, question.level, len(y)
    if not n:
        return Estimate(0.0, 1.0, 0.0, float(f.mean()), n=0)
    if method == "stratified":
        assert question.draw is not None
        sizes, stratum = question.draw.sizes, strata_at(f, question.draw.bounds)
        means = np.bincount(stratum, f, len(sizes)) / np.maximum(sizes, 1)
        estimate = stratified(y, sample.stratum, sizes, level, f[sample.rows], means)
    elif method == "difference_set":
        estimate = difference_set(y, f[sample.rows], f, level=level)
    else:
        if GUARANTEES[method] == "exact":
            bounds = exact_interval(method, y, question)
        else:
            sequence = sequence_by(method, y, sample, question)
            bounds = Bounds(float(sequence.lower[-1]), float(sequence.upper[-1]))
        return Estimate(bounds.lower, bounds.upper, float(n), int(y.sum()) / n, n=n)
    p = min(max(estimate.estimate, 0.0), 1.0)
    if question.estimand == "population" and estimate.se >= 0:  # NaN: of one label
        # What the set itself is by chance: the variance of a mean of so many datapoints.
        variance = estimate.se**2 + p * (1 - p) / len(f)
        bounds = effective_interval(p, variance, estimate.n, level)
        estimate = replace(estimate, **vars(bounds), se=float(np.sqrt(variance)))
    return replace(estimate, estimate=p)


def exact_interval(method: str, y: FloatArray, question: Question) -> Bounds:
    """Return an exact interval of random labels alone."""
    n_correct, n, level = int(y.sum()), len(y), question.level
    if method == "hypergeometric":
        return hypergeometric(n_correct, n, len(question.f), level)
    return clopper_pearson(n_correct, n, level)


def sequence_by(
    method: str, y: FloatArray, sample: Sample, question: Question
) -> ConfidenceSequence:
    """Return the intervals after each label."""
    f, level, mean = question.f, question.level, float(question.f.mean())
    if method == "betting_cs":
        return betting_cs(y, len(f), level, f[sample.rows], mean)
    return ppr_cs(y, len(f), level, *prior_of(mean))
