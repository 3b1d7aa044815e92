"""`matcheval.estimate_accuracy`: a model's accuracy on a set from few labels, and its methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from matcheval.errors import InputError, check_known
from matcheval.few_labels import inputs
from matcheval.few_labels.draws import Draw, Plan, assign_strata
from matcheval.few_labels.estimators import (
    Bounds,
    ConfidenceSequence,
    Estimate,
    betting_cs,
    clopper_pearson,
    difference_set,
    effective_interval,
    hypergeometric,
    n_random_labels,
    ppr_cs,
    prior_from_confidence,
    stratified,
)
from matcheval.few_labels.inputs import SKIP, Sample
from matcheval.figures.forms import plot_intervals
from matcheval.io.text_tables import counted, level_text
from matcheval.predictions.inputs import Data, Shown, columns_of, warn_each
from matcheval.statistics.intervals import FloatArray, check_level

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# --- Methods: which one the labels call for, and the estimate that it gives

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
    """What to estimate, and from what: confidences f, the draw of the labels, and the estimand."""

    f: FloatArray
    draw: Draw | None
    estimand: str
    level: float


def choose_method(
    method: str, question: Question, n: int, n_correct: int, half_width: float | None = None
) -> tuple[str, str]:
    """Check the requested method, or choose one if it is `auto`; return its name and the reason."""
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
    """Estimate the accuracy by a method; `y` is 1 where a labelled datapoint is correct, else 0."""
    f, level, n = question.f, question.level, len(y)
    if not n:
        return Estimate(0.0, 1.0, 0.0, float(f.mean()), n=0)
    if method == "stratified":
        assert question.draw is not None
        sizes, stratum = question.draw.sizes, assign_strata(f, question.draw.bounds)
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
    """Return the exact interval from random labels alone, without the confidences."""
    n_correct, n, level = int(y.sum()), len(y), question.level
    if method == "hypergeometric":
        return hypergeometric(n_correct, n, len(question.f), level)
    return clopper_pearson(n_correct, n, level)


def sequence_by(
    method: str, y: FloatArray, sample: Sample, question: Question
) -> ConfidenceSequence:
    """Return the confidence sequence of a method: the interval after each label."""
    f, level, mean = question.f, question.level, float(question.f.mean())
    if method == "betting_cs":
        return betting_cs(y, len(f), level, f[sample.rows], mean)
    return ppr_cs(y, len(f), level, *prior_from_confidence(mean))


# --- What people call

Estimand = Literal["set", "population"]
FEW_COLUMNS = ("estimate", "lower", "upper", "level", "guarantee", "n_labelled", "n")
ON_YOUR_WORD = "the guarantee rests on your word that the labels were drawn at random"
_OF = {"set": "exactly these datapoints", "population": "the distribution they came from"}
_EXACT = "label more, or, for an exact interval, plan with the design random"


@dataclass(frozen=True, eq=False)
class AccuracyEstimate(Shown):
    """A model's accuracy from few labels; what `estimate_accuracy` returns.

    Attributes
    ----------
    name : str
        Of the set.
    estimate, lower, upper : float
        Accuracy with its interval, fractions.
    level : float
    estimand : str
        `set`, of exactly these datapoints, or `population`.
    method : str
        A method of docs/few-labels.md.
    reason : str
        Why this method was taken.
    guarantee : str
        `exact`, `anytime`, `approximate` or `none`; of labels that a plan drew.
    n_labelled, n : int
        Labels that count, with those that could not be decided, and datapoints of the set.
    n_skipped : int
        Labels that could not be decided: the interval covers all of them right and all wrong.
    lam : float or None
        Weight of the confidences, 0 to 1, where they are a control.
    effective_n : float
        Number of random labels that would give this interval.
    label_ratio : float or None
        Labels over those that random labels alone would need for an exact interval of this width.
    exact : Bounds or None
        The exact interval of the labels alone, where they were drawn uniformly.
    stopped_at : int or None
        With `half_width`: after how many labels the interval was narrow enough.
    warnings, notes : tuple of str
        What looks wrong; what was recognised.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    level: float
    estimand: str
    method: str
    reason: str
    guarantee: str
    n_labelled: int
    n: int
    n_skipped: int
    lam: float | None
    effective_n: float
    label_ratio: float | None
    exact: Bounds | None
    stopped_at: int | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _plan: Plan | None = field(repr=False)
    _labels: inputs.Labels | None = field(repr=False)
    _pilot: Estimate | None = field(repr=False)

    def to_pandas(self, *, all: bool = False) -> pd.DataFrame:
        """Return a table of one row.

        Parameters
        ----------
        all : bool
            All attributes but `warnings` and `notes`; `exact` is `exact_lower` and `exact_upper`.

        Returns
        -------
        pandas.DataFrame
            Columns `name`, `estimate`, `lower`, `upper`, `level`, `guarantee`, `n_labelled`, `n`.
        """
        row, exact = attributes_for_table(self), self.exact or Bounds(np.nan, np.nan)
        del row["exact"]
        row |= {"exact_lower": exact.lower, "exact_upper": exact.upper}
        return columns_of(pd.DataFrame([row]), ("name", *FEW_COLUMNS), every=all)

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the estimate with its interval, and that of the labels alone where there is one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            That of the axes; a new one is not known to pyplot.
        """
        rows = [(NAMES[self.method], 100 * self.estimate, 100 * self.lower, 100 * self.upper)]
        if self.exact is not None:
            bounds = 100 * self.exact.lower, 100 * self.exact.upper
            rows.append(("labels alone, exact", np.nan, *bounds))
        return plot_intervals(rows, "Accuracy (%)", ax=ax)

    def __str__(self) -> str:
        """Return the text that `matched-eval estimate-accuracy` prints."""
        strata = "mixed " if self.method == "stratified" else ""
        lines = [
            f"accuracy {self.estimate:.3f}, {level_text(self.level)} interval {self.lower:.3f} to "
            f"{self.upper:.3f} ({counted(self.n_labelled, 'label')} of {self.n:,}; "
            f"{strata}{NAMES[self.method]}; {self.guarantee})"
        ]
        is_alone = self.guarantee == "exact"
        if self.label_ratio is not None and not is_alone:
            needed = round(self.n_labelled / self.label_ratio)
            lines.append(
                f"an exact interval of this width from random labels alone needs about {needed:,}"
            )
        rows = [("of", _OF[self.estimand]), ("method", f"{self.method}: {self.reason}")]
        if self.exact is not None and not is_alone:
            rows.append(("labels alone, exact", str(self.exact)))
        if self.lam is not None:
            rows.append(("weight of confidences", f"{self.lam:.2f}"))
        if self.stopped_at is not None:
            rows.append(("narrow enough after", f"{self.stopped_at:,} labels"))
        width = max(len(name) for name, _ in rows)
        return "\n".join([*lines, "", *(f"{k.ljust(width)}  {v}" for k, v in rows), ""])


def attributes_for_table(result: object) -> dict[str, object]:
    """Return the public attributes of a result except its warnings and notes."""
    texts = ("warnings", "notes")
    return {k: v for k, v in vars(result).items() if not k.startswith("_") and k not in texts}


def estimate_accuracy(
    predictions: Data,
    labels: Data,
    *,
    plan: "str | os.PathLike[str] | None" = None,
    method: str = "auto",
    estimand: Estimand = "set",
    level: float = 0.95,
    half_width: float | None = None,
    assume_random: bool = False,
    outside: Literal["error", "wrong"] = "error",
    base: "Data | None" = None,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> AccuracyEstimate:
    """Estimate a model's accuracy on a set, with an interval, when few labels are known.

    Parameters
    ----------
    predictions : path-like, table or mapping of arrays
        Predictions on all N datapoints of the set, as for `compare`, labels not needed.
    labels : path-like, DataFrame or mapping
        Labels of n of them: `index` (row, from 0) or `file`, `label`, and perhaps `status`, which
        is `skip` where the label cannot be decided.
    plan : path-like, optional
        The file `plan.json` of the plan that drew the labels.
    method : str
        `auto` chooses by design and counts, never by the result; or a method by name
        (docs/few-labels.md).
    estimand : {"set", "population"}
        Accuracy on exactly these N datapoints, or of what they were drawn from.
    level : float
        Of the interval, in (0, 1).
    half_width : float, optional
        Look after every label, and say when the interval was as narrow: a confidence sequence.
    assume_random : bool
        Labels without a plan were drawn uniformly at random, in their order.
    outside : {"error", "wrong"}
        Labels that are no class of the set: refuse them, or count them as wrong predictions.
    base : path-like, table or mapping of arrays, optional
        The model's predictions on a labelled set, with scores of all classes: calibrates the
        confidences (temperature scaling). With a plan, the plan's temperature is used.
    columns, classes, first_label
        As for `compare`.

    Returns
    -------
    AccuracyEstimate

    Raises
    ------
    InputError
        If the labels were not drawn by a plan and are not said to be random, the predictions
        are others than those of the plan, a label or datapoint is unknown or named twice, or the
        datapoints come in groups and independence would be assumed.

    Warns
    -----
    InputWarning
        For labels that do not count, few errors, and other limits.

    Examples
    --------
    >>> import matcheval as me
    >>> new = {"prediction": [0, 1] * 50, "probability": [0.9, 0.8] * 50}
    >>> labels = {"index": range(30), "label": [0, 1] * 15}
    >>> result = me.estimate_accuracy(new, labels, assume_random=True)
    >>> result.method, result.guarantee, result.lower, result.upper
    ('hypergeometric', 'exact', 0.91, 1.0)
    """
    check_level(level)
    check_known("estimand", [estimand], ("set", "population"))
    labelled = inputs.read_labelled_predictions(
        {"predictions": predictions}, labels, plan, assume_random, outside, columns, classes,
        first_label, base,
    )  # fmt: skip
    dataset, sample, draw = labelled.sets[0], labelled.sample, labelled.draw
    if estimand == "population":
        dataset.check_not_grouped()
    question = Question(dataset.f, draw, estimand, level)
    # Where labels could not be decided, predictions may all be wrong, or all right.
    skipped = sample.labels == SKIP
    least = (sample.labels == dataset.predictions.prediction[sample.rows]).astype(np.float64)
    both = (least, np.where(skipped, 1.0, least))
    n, n_skipped = len(least), int(skipped.sum())
    method, reason = choose_method(method, question, n, int(least.sum()), half_width)
    low, high = (estimate_by(method, y, sample, question) for y in both)
    bounds = Bounds(min(low.lower, high.lower), max(low.upper, high.upper), low.n_eff)
    estimate = (low.estimate + high.estimate) / 2
    warnings = list(sample.warnings)
    if n_skipped:
        warnings.append(
            f"{n_skipped} labels could not be decided: {low} if the predictions are wrong there, "
            f"{high} if right"
        )
    guarantee = GUARANTEES[method] if n else "none"
    if labelled.plan is None:
        warnings.append(ON_YOUR_WORD)
    elif labelled.plan.pilot and guarantee in ("exact", "approximate"):
        guarantee = "approximate"
        warnings.append(
            "a pilot decided how many labels there are, which makes the interval a little too "
            "narrow; that of a confidence sequence (method ppr_cs, of random labels) is not"
        )
    exact = None
    if draw is None or draw.design == "random":
        alone = "hypergeometric" if estimand == "set" else "clopper_pearson"
        ends = [exact_interval(alone, y, question) for y in both]
        exact = Bounds(ends[0].lower, ends[1].upper)
        if exact.lower > bounds.upper or exact.upper < bounds.lower:
            warnings.append("the exact interval of the labels alone lies elsewhere: check the data")
    if dataset.predictions.groups is not None:
        warnings.append("datapoints come in groups: the interval is of this set only")
    if GUARANTEES[method] == "approximate" and n:
        warnings += _reliability_warnings(least, sample, draw)
    stopped_at = None
    if half_width is not None and n:
        sequence_method = method if GUARANTEES[method] == "anytime" else "ppr_cs"
        first, second = (sequence_by(sequence_method, y, sample, question) for y in both)
        lower, upper = np.minimum(first.lower, second.lower), np.maximum(first.upper, second.upper)
        sequence = ConfidenceSequence(lower, upper, first.is_broken or second.is_broken)
        stopped_at = sequence.stop(half_width)
        if sequence.is_broken:
            warnings.append("no accuracy fits all labels: they did not come in random order")
    size, half = len(dataset.f), bounds.half_width
    label_ratio = None
    if n and half > 0:
        label_ratio = n / n_random_labels(
            estimate, half, size if estimand == "set" else None, level
        )
    pilot = None
    if draw is not None and n > 1:  # the variance that a further plan starts from
        own = "difference_set" if draw.design == "random" else method
        pilot = estimate_by(own, least, sample, replace(question, estimand="set"))
    warn_each(warnings)
    return AccuracyEstimate(
        name=dataset.name, estimate=estimate, lower=bounds.lower, upper=bounds.upper, level=level,
        estimand=estimand, method=method, reason=reason, guarantee=guarantee, n_labelled=n, n=size,
        n_skipped=n_skipped, lam=low.lam, effective_n=bounds.n_eff, label_ratio=label_ratio,
        exact=exact, stopped_at=stopped_at, warnings=tuple(warnings), notes=dataset.notes,
        _plan=labelled.plan, _labels=labelled.labels, _pilot=pilot,
    )  # fmt: skip


def _reliability_warnings(y: FloatArray, sample: Sample, draw: Draw | None) -> list[str]:
    """Warn of what makes an approximate interval doubtful, such as few labels or few errors."""
    n, warnings, weight = len(y), list[str](), np.ones(len(y))
    if draw is not None and draw.design == "mixed":
        count = np.bincount(sample.stratum, minlength=len(draw.sizes))
        weight = (draw.sizes / np.maximum(count, 1) - 1)[sample.stratum]
        is_top = sample.stratum == len(draw.sizes) - 1
        n_wrong, n_top = int((y[is_top] == 0).sum()), int(is_top.sum())
        if n_wrong >= FEW and n > n_top and n_wrong / n_top > 2 * (1 - y[~is_top]).mean():
            warnings.append(
                f"{n_wrong} of {n_top} labels of the most confident predictions are errors: where "
                f"all errors were there, strata missed the accuracy in up to 9 % of draws; {_EXACT}"
            )
    if n < ENOUGH:
        warnings.append(f"{n} labels: approximate intervals were found to hold from {ENOUGH} on")
    n_few = min(_effective_size(weight[y == value]) for value in (0, 1))
    if n_few < FEW and weight.any():
        warnings.append(
            f"only {int(n_few)} errors, or correct predictions, among the labels stand for "
            f"unlabelled datapoints: with fewer than {FEW} the interval rests on little; {_EXACT}"
        )
    return warnings


def _effective_size(weight: FloatArray) -> float:
    """Compute Kish's effective sample size of weighted labels."""
    return round(float(weight.sum() ** 2 / (weight**2).sum()), 9) if weight.any() else 0.0
