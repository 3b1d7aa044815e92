"""`matcheval.estimate_accuracy`, `estimate_difference`, `estimate_gap`: from few labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matcheval.api.few_label_results import AccuracyDifference, AccuracyEstimate, Bounds, Plan
from matcheval.api.inputs import Data, source_of, warn_each
from matcheval.api.unlabelled import (
    Unlabelled,
    aligned,
    check_not_grouped,
    name_of,
    plan_digest,
    read_unlabelled,
    sources_of,
)
from matcheval.errors import InputError, check_known
from matcheval.few_labels.answers import (
    SKIP,
    Answers,
    Counted,
    agreement,
    answers_of,
    counted,
    read_cells,
)
from matcheval.few_labels.designs import STRATA, Draw
from matcheval.few_labels.differences import disagreement_difference, mover_difference, widened
from matcheval.few_labels.differences import paired_difference as paired
from matcheval.few_labels.estimating import (
    ENOUGH,
    FEW,
    GUARANTEES,
    Question,
    choose,
    found_by,
    sequence_of,
)
from matcheval.few_labels.intervals import Found, clopper_pearson, hypergeometric
from matcheval.few_labels.planning import labels_alone
from matcheval.statistics.intervals import FloatArray, check_level
from matcheval.statistics.significance import mcnemar

if TYPE_CHECKING:
    import os

Estimand = Literal["set", "population"]
_NEYMAN = (
    "Neyman's allocation gives the most confident datapoints almost no labels: where an "
    "overconfident model hides its errors there, the interval can miss the accuracy"
)
_EXACT = "or, for an exact interval, plan with the design random"
_NEAR_1 = 0.97  # accuracy from which LURE's intervals are doubted


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
    second_labels: "Data | None" = None,
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
        The plan file of `label_plan` that drew them.
    method : str
        `auto` chooses by design and counts, never by the result; or a method by name
        (docs/few-labels.md).
    estimand : str
        `set`: accuracy on exactly these N datapoints; `population`: of what they were drawn from.
    level : float
        In (0, 1).
    half_width : float, optional
        Look after every label, and say when the interval was as narrow: a confidence sequence.
    assume_random : bool
        Labels without a plan were drawn uniformly at random, in their order.
    second_labels : optional
        Those of a second annotator, for Cohen's kappa.
    outside : str
        `wrong` counts labels that are no class of the set as wrong predictions.
    base : optional
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
    >>> given = {"prediction": [0, 1] * 50, "probability": [0.9, 0.8] * 50}
    >>> labels = {"index": range(30), "label": [0, 1] * 15}
    >>> result = me.estimate_accuracy(given, labels, assume_random=True)
    >>> result.method, result.guarantee, result.lower, result.upper
    ('hypergeometric', 'exact', 0.91, 1.0)
    """
    given = {"predictions": predictions, "base": base}
    sources, layout, n_classes = sources_of(given, columns, classes, first_label)
    result = accuracy_from(
        sources, layout, n_classes, labels=labels, plan=plan, method=method, estimand=estimand,
        level=level, half_width=half_width, assume_random=assume_random,
        second_labels=second_labels, outside=outside,
    )  # fmt: skip
    warn_each(result.warnings)
    return result


def accuracy_from(
    sources: Mapping[str, Any], layout: Any, n_classes: int | None, *, labels: Any, plan: Any,
    method: str, estimand: Estimand, level: float, half_width: float | None, assume_random: bool,
    second_labels: Any, outside: str,
) -> AccuracyEstimate:  # fmt: skip
    """Read predictions and labels, choose the method and estimate the accuracy."""
    check_level(level)
    check_known("estimand", [estimand], ("set", "population"))
    drawn = _plan_of(plan, assume_random)
    base, scale = (sources.get("base"), None) if drawn is None else (None, drawn.temperature)
    one = read_unlabelled(sources["predictions"], layout, n_classes, base, scale)
    if drawn is None:
        check_not_grouped(one, "and no plan drew the labels")
    elif drawn.draw.design != "disagreement":  # which `choose` refuses
        drawn.check(one.digest)
    if estimand == "population":
        check_not_grouped(one, "and the accuracy of the population is asked for")
    answers = _answers(labels, "labels", one, outside)
    draw = None if drawn is None else drawn.draw
    found = counted(answers, draw, one.given.index)
    question = Question(one.f, draw, estimand, level, half_width)
    right, skipped = _correct(found, one)
    wrong = np.where(skipped, 0.0, right)
    best = np.where(skipped, 1.0, right)
    n, k = len(right), int(wrong.sum())
    chosen, why = choose(method, question, n, k)
    low, high = (found_by(chosen, y, found, question) for y in (wrong, best))
    lower, upper = min(low.lower, high.lower), max(low.upper, high.upper)
    estimate = (low.estimate + high.estimate) / 2
    warnings = list(found.warnings)
    if skipped.any():
        warnings.append(
            f"{int(skipped.sum())} labels could not be decided: {low.lower:.3f} to {low.upper:.3f} "
            f"if the predictions are wrong there, {high.lower:.3f} to {high.upper:.3f} if right"
        )
    exact, guarantee = None, GUARANTEES[chosen] if n else "none"
    if draw is None:
        warnings.append("the guarantee rests on your word that the labels were drawn at random")
    if drawn is not None and drawn.pilot and guarantee != "anytime":
        guarantee = "approximate" if n else "none"
        warnings.append(
            "a pilot decided how many labels there are, which makes the interval a little too "
            "narrow; that of a confidence sequence (method ppr_cs, of random labels) is not"
        )
    if draw is None or draw.design == "random":
        ends = [_exact(int(y.sum()), n, len(one.f), estimand, level) for y in (wrong, best)]
        exact = Bounds(ends[0].lower, ends[1].upper)
        if exact.lower > upper or exact.upper < lower:
            warnings.append("the exact interval of the labels alone lies elsewhere: check the data")
    if one.given.groups is not None:
        warnings.append("datapoints come in groups: the interval is of this set only")
    warnings += _limits(chosen, wrong, estimate, found, draw)
    kappa = None
    if second_labels is not None:
        kappa = _second(answers, _answers(second_labels, "second_labels", one, outside), warnings)
    stopped = None
    if half_width is not None and n:
        kind = chosen if GUARANTEES[chosen] == "anytime" else "ppr_cs"
        sequences = [sequence_of(kind, y, found, question) for y in (wrong, best)]
        widths = np.maximum(*(one.upper for one in sequences))
        widths -= np.minimum(*(one.lower for one in sequences))
        stopped = next(iter((np.flatnonzero(widths / 2 <= half_width) + 1).tolist()), None)
        if any(one.is_broken for one in sequences):
            warnings.append("no accuracy fits all labels: they did not come in random order")
    size = len(one.f) if estimand == "set" else None
    half = (upper - lower) / 2
    ratio = n / labels_alone(estimate, half, size, level) if n and half > 0 else None
    pilot = None
    if draw is not None and n > 1:
        own = "difference_set" if draw.design == "random" else chosen
        pilot = found_by(own, wrong, found, replace(question, estimand="set"))
    return AccuracyEstimate(
        name=one.name, estimate=estimate, lower=lower, upper=upper, level=level,
        estimand=estimand, method=chosen, reason=why, guarantee=guarantee, n_labelled=n,
        n=len(one.f), n_skipped=int(skipped.sum()), lam=low.lam, effective_n=low.n_eff,
        label_ratio=ratio, exact=exact, stopped_at=stopped, kappa=kappa,
        warnings=tuple(warnings), notes=one.notes, _plan=drawn, _answers=answers, _pilot=pilot,
    )  # fmt: skip


def estimate_difference(
    first: Data,
    second: Data,
    labels: Data,
    *,
    plan: "str | os.PathLike[str] | None" = None,
    level: float = 0.95,
    assume_random: bool = False,
    outside: Literal["error", "wrong"] = "error",
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> AccuracyDifference:
    """Estimate the difference of two models' accuracies on one set from few labels.

    Parameters
    ----------
    first, second : path-like, table or mapping of arrays
        Predictions of both on the same datapoints.
    labels, plan, level, assume_random, outside
        As for `estimate_accuracy`; the plan is of the design `disagreement`, whose labels lie where
        the predicted classes differ, or `random`.
    columns, classes, first_label
        As for `compare`.

    Returns
    -------
    AccuracyDifference

    Raises
    ------
    InputError
        As `estimate_accuracy`, and if the datapoints of the models differ.

    Warns
    -----
    InputWarning
        As `estimate_accuracy`.

    Examples
    --------
    >>> import matcheval as me
    >>> old = {"prediction": [0, 0, 1, 1] * 20, "probability": [0.7] * 80}
    >>> new = {"prediction": [0, 1, 1, 1] * 20, "probability": [0.8] * 80}
    >>> labels = {"index": range(80), "label": [0, 1, 1, 0] * 20}
    >>> result = me.estimate_difference(old, new, labels, assume_random=True)
    >>> result.estimate, result.only_first, result.only_second
    (-0.25, 0, 20)
    """
    given = {"first": first, "second": second}
    sources, layout, n_classes = sources_of(given, columns, classes, first_label)
    result = difference_from(
        sources, layout, n_classes, labels=labels, plan=plan, level=level,
        assume_random=assume_random, outside=outside,
    )  # fmt: skip
    warn_each(result.warnings)
    return result


def difference_from(
    sources: Mapping[str, Any], layout: Any, n_classes: int | None, *, labels: Any, plan: Any,
    level: float, assume_random: bool, outside: str,
) -> AccuracyDifference:  # fmt: skip
    """Read the predictions of two models and labels, and estimate the difference."""
    check_level(level)
    drawn = _plan_of(plan, assume_random)
    scale = None if drawn is None else drawn.temperature
    read = [read_unlabelled(one, layout, n_classes, None, scale) for one in sources.values()]
    one, other = aligned(read[0], read[1])
    if drawn is None:
        check_not_grouped(one, "and no plan drew the labels")
    elif drawn.draw.design in ("disagreement", "random"):
        drawn.check(plan_digest([one, other], drawn.draw.design))
    else:
        raise InputError(
            f"its design '{drawn.draw.design}' is of one model's confidences", file=plan,
            remedy="Plan with the design disagreement, or random",
        )  # fmt: skip
    answers = _answers(labels, "labels", one, outside)
    draw = None if drawn is None else drawn.draw
    found = counted(answers, draw, one.given.index)
    differs = one.given.prediction != other.given.prediction
    right, skipped = _correct(found, one)
    other_right, _ = _correct(found, other)
    rows, size, n_differ = found.rows, len(one.f), int(differs.sum())
    warnings = list(found.warnings)
    is_frame = draw is not None and draw.design == "disagreement"
    if is_frame or not n_differ:
        bounds = list[Found]()
        for extreme in (-1, 1):
            d = np.where(skipped, extreme, right - other_right)
            d = d if len(rows) and n_differ else np.empty(0)
            of_differing = disagreement_difference(d, n_differ, size, level)
            bounds.append(widened(of_differing, d, n_differ, level, n_differ / size))
        method = "disagreement_difference"
        if len(rows) < min(2 * ENOUGH, n_differ):
            warnings.append(
                f"{len(rows)} labels where the models differ: from {ENOUGH}, the interval held the "
                f"difference in 93 % of draws in place of 95 %; label {2 * ENOUGH}"
            )
    else:
        decided = [np.where(skipped, 0, y) for y in (right, other_right)]
        ends = [(0, 1), (1, 0)] if skipped.any() else [(0, 0)]
        bounds = []
        for ends_of in ends:
            y_first, y_second = (
                np.where(skipped & differs[rows], end, part)
                for end, part in zip(ends_of, decided, strict=True)
            )
            confidences = one.f[rows], other.f[rows], one.f, other.f
            both = paired(y_first, y_second, *confidences, level=level)
            bounds.append(widened(both, y_first - y_second, size, level))
        method = "paired_difference"
    if skipped.any():
        warnings.append(f"{int(skipped.sum())} labels could not be decided: the interval has both")
    only = (
        int(((right > other_right) & ~skipped).sum()),
        int(((other_right > right) & ~skipped).sum()),
    )
    if sum(only) < 2 * FEW and n_differ and len(rows) < (n_differ if is_frame else len(one.f)):
        warnings.append(
            f"one model alone is right on only {sum(only)} labels; below {2 * FEW} the interval "
            "is not to be relied on: label more"
        )
    if draw is None:
        warnings.append("the guarantee rests on your word that the labels were drawn at random")
    n_decided = int((~skipped).sum())
    is_exact = not n_differ or (is_frame and n_decided == n_differ)
    has_any = len(rows) > 1 or not n_differ
    guarantee = "exact" if is_exact else "approximate" if has_any else "none"
    return AccuracyDifference(
        first=one.name, second=other.name if other.name != one.name else f"{other.name} (second)",
        estimate=float(np.mean([each.estimate for each in bounds])),
        lower=min(each.lower for each in bounds), upper=max(each.upper for each in bounds),
        level=level, method=method, guarantee=guarantee, n_labelled=len(rows), n=size,
        n_disagree=n_differ, only_first=only[0], only_second=only[1],
        mcnemar_p=float(mcnemar(*only)), warnings=tuple(warnings),
        notes=(*one.notes, *other.notes), _plan=drawn, _answers=answers,
        _pilot=bounds[0] if is_frame and len(rows) > 1 else None,
    )  # fmt: skip


def estimate_gap(
    original: "AccuracyEstimate | Data",
    target: AccuracyEstimate,
    *,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> AccuracyDifference:
    """Estimate the gap of a model's accuracy from one set to another that has few labels.

    Parameters
    ----------
    original : AccuracyEstimate, or path-like, table or mapping of arrays
        Accuracy on the first set from few labels, or predictions with labels of all datapoints.
    target : AccuracyEstimate
        Accuracy on the second set, of the same estimand and level.
    columns, classes, first_label
        As for `compare`.

    Returns
    -------
    AccuracyDifference
        Original minus target. A set whose labels are all known is exact for the estimand `set`; for
        the population it has the interval of Clopper and Pearson.

    Raises
    ------
    InputError
        If estimands or levels differ, or predictions have no labels, or come in groups and the
        estimand is the population.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, method 10, with the intervals of each set.

    Examples
    --------
    >>> import matcheval as me
    >>> old = {"label": [0] * 10, "prediction": [0] * 9 + [1], "probability": [0.9] * 10}
    >>> new = {"prediction": [0, 1] * 50, "probability": [0.9, 0.8] * 50}
    >>> few = me.estimate_accuracy(new, {"index": [0, 1], "label": [0, 1]}, assume_random=True)
    >>> gap = me.estimate_gap(old, few)
    >>> round(gap.estimate, 2), round(gap.lower, 2), round(gap.upper, 2), gap.method
    (-0.1, -0.1, 0.73, 'mover_difference')
    """
    if isinstance(original, AccuracyEstimate):
        first = original
    else:
        sources, layout, n_classes = sources_of(
            {"original": original}, columns, classes, first_label
        )
        first = fully_labelled(sources["original"], layout, n_classes, target)
    for name in ("estimand", "level"):
        if getattr(first, name) != getattr(target, name):
            raise InputError(
                f"{getattr(first, name)} and {getattr(target, name)}", field=name,
                remedy="Estimate both accuracies with the same",
            )  # fmt: skip
    found = mover_difference(
        *(
            (one.estimate, min(one.lower, one.estimate), max(one.upper, one.estimate))
            for one in (first, target)
        )
    )
    guarantees = {first.guarantee, target.guarantee}
    order = ("none", "approximate")  # the combination of exact intervals is approximate, too
    return AccuracyDifference(
        first=first.name, second=target.name, estimate=first.estimate - target.estimate,
        lower=found.lower, upper=found.upper, level=first.level, method="mover_difference",
        guarantee=next((one for one in order if one in guarantees), "approximate"),
        n_labelled=first.n_labelled + target.n_labelled, n=first.n + target.n, n_disagree=None,
        only_first=None, only_second=None, mcnemar_p=None,
        warnings=(*first.warnings, *target.warnings), notes=first.notes,
    )  # fmt: skip


def fully_labelled(
    source: Any, layout: Any, n_classes: int | None, like: AccuracyEstimate
) -> AccuracyEstimate:
    """Return the accuracy on a set whose labels are all known, of the estimand of another."""
    from matcheval.predictions.files import read_predictions

    given = read_predictions(source, n_classes, layout)
    n, k = len(given), int(given.correct.sum())
    is_set = like.estimand == "set"
    if not is_set and given.groups is not None:
        raise InputError(
            "datapoints come in groups, and the accuracy of the population is asked for",
            file=source, field="group", remedy="Ask for the estimand set",
        )  # fmt: skip
    ends = Found(k / n, k / n, n) if is_set else clopper_pearson(k, n, like.level)
    return replace(
        like, name=name_of(source), estimate=k / n, lower=ends.lower, upper=ends.upper,
        n_labelled=n, n=n, method="clopper_pearson", reason="all labels are known",
        guarantee="exact", warnings=(), notes=given.notes, lam=None, kappa=None,
        label_ratio=None, exact=None, _plan=None,
    )  # fmt: skip


def _plan_of(plan: Any, assume_random: bool) -> Plan | None:
    if plan is None and not assume_random:
        raise InputError(
            "how the labels were drawn is not known", field="plan",
            remedy="Give the plan.json of `label-plan` that drew them. If each datapoint was as "
            "likely to be labelled as any other, say so: assume_random (--assume-random)",
        )  # fmt: skip
    return None if plan is None else Plan.read(plan)


def _answers(labels: Any, name: str, one: Unlabelled, outside: str) -> Answers:
    source = source_of(labels, name)
    cells = read_cells(source) if isinstance(source, Path) else _cells(source.data)
    return answers_of(cells, source, one.given, one.layout, one.n_classes, outside)


def _cells(data: Any) -> dict[str, list[Any]]:
    if isinstance(data, Mapping):
        return {str(key): np.asarray(value).tolist() for key, value in data.items()}
    return dict(data.to_pydict())


def _correct(found: Counted, one: Unlabelled) -> tuple[Any, Any]:
    """Return correctness as floats, 0 where a label is undecided, and where that is."""
    right = (found.labels == one.given.prediction[found.rows]).astype(np.float64)
    return right, found.labels == SKIP


def _exact(k: int, n: int, size: int, estimand: str, level: float) -> Any:
    is_set = estimand == "set"
    return hypergeometric(k, n, size, level) if is_set else clopper_pearson(k, n, level)


def _limits(
    method: str, y: FloatArray, estimate: float, labels: Counted, draw: Draw | None
) -> list[str]:
    """Return what makes an approximate interval doubtful."""
    n, design = len(y), "random" if draw is None else draw.design
    if GUARANTEES[method] != "approximate" or not n:
        return []
    found, weight = [_NEYMAN] if design == "neyman" else [], np.ones(n)
    if draw is not None and design in STRATA:
        count = np.bincount(labels.stratum, minlength=len(draw.sizes))
        weight = (draw.sizes / np.maximum(count, 1) - 1)[labels.stratum]
        is_top = labels.stratum == len(draw.sizes) - 1
        n_wrong, n_top = int((y[is_top] == 0).sum()), int(is_top.sum())
        if n_wrong >= FEW and n > n_top and n_wrong / n_top > 2 * (1 - y[~is_top]).mean():
            found.append(
                f"{n_wrong} of {n_top} labels of the most confident predictions are errors, more "
                "than twice the share of the others: where all errors were there, strata missed "
                f"the accuracy in up to 9 % of draws; label more, {_EXACT}"
            )
    elif design == "active":
        weight = 1 / labels.chance - 1  # those certain to be drawn tell nothing of the others
    elif design == "lure" and estimate > _NEAR_1:
        found.append(
            "at an accuracy of 99 %, LURE's intervals held it in 87 to 89 % of draws in place of "
            f"95 %; label more, {_EXACT}"
        )
    if n < ENOUGH:
        found.append(f"{n} labels: approximate intervals were found to hold from {ENOUGH} on")
    n_few = min(_worth(weight[y == one]) for one in (0, 1))
    if n_few < FEW and weight.any():
        found.append(
            f"only {int(n_few)} errors, or correct predictions, among the labels stand for "
            f"unlabelled datapoints: with fewer than {FEW} the interval rests on little; label "
            f"more, {_EXACT}"
        )
    return found


def _worth(weight: FloatArray) -> float:
    """Return how many labels of equal weight tell as much (Kish's effective sample size)."""
    return round(float(weight.sum() ** 2 / (weight**2).sum()), 9) if weight.any() else 0.0


def _second(one: Answers, other: Answers, warnings: list[str]) -> float:
    n, same, kappa = agreement(one, other)
    warnings.append(
        f"the annotators agree on {same:.1%} of {n} shared labels (Cohen's kappa {kappa:.2f}): the "
        "interval is of agreement with the first; if the other is right wherever they differ, the "
        f"accuracy can be up to {1 - same:.3f} lower or higher"
    )
    return kappa
