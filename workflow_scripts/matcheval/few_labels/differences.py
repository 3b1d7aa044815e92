"""`matcheval.estimate_difference`, `estimate_gap`: two models, or two sets, from few labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.few_labels import estimators, inputs
from matcheval.few_labels.accuracy import (
    ENOUGH,
    FEW,
    FEW_COLUMNS,
    ON_YOUR_WORD,
    AccuracyEstimate,
    attributes_for_table,
)
from matcheval.few_labels.draws import Plan
from matcheval.few_labels.estimators import Bounds, Estimate, clopper_pearson
from matcheval.few_labels.inputs import SKIP
from matcheval.figures.forms import plot_intervals
from matcheval.io.text_tables import counted, level_text
from matcheval.predictions.files import read_predictions
from matcheval.predictions.inputs import Data, Shown, columns_of, layout_of, source_of, warn_each
from matcheval.statistics.intervals import check_level, mcnemar

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class AccuracyDifference(Shown):
    """A difference of two accuracies; what `estimate_difference` and `estimate_gap` return.

    Attributes
    ----------
    first, second : str
        Names of the models, or of the sets.
    estimate, lower, upper : float
        First minus second, fractions.
    level : float
    method : str
        `disagreement_difference`, `paired_difference` or `mover_difference`.
    guarantee : str
        `exact`, `approximate` or `none`.
    n_labelled, n : int
        Labels that count, and datapoints; of a gap, of both sets.
    n_disagree : int or None
        Datapoints on which two models predict different classes.
    only_first, only_second : int or None
        Labels by which of two models alone is right.
    mcnemar_p : float or None
        McNemar's exact two-sided p-value, from these labels.
    warnings, notes : tuple of str
        What looks wrong; what was recognised.
    """

    first: str
    second: str
    estimate: float
    lower: float
    upper: float
    level: float
    method: str
    guarantee: str
    n_labelled: int
    n: int
    n_disagree: int | None
    only_first: int | None
    only_second: int | None
    mcnemar_p: float | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _plan: Plan | None = field(repr=False, default=None)
    _labels: inputs.Labels | None = field(repr=False, default=None)
    _pilot: Estimate | None = field(repr=False, default=None)

    def to_pandas(self, *, all: bool = False) -> pd.DataFrame:
        """Return a table of one row.

        Parameters
        ----------
        all : bool
            All attributes but `warnings` and `notes`.

        Returns
        -------
        pandas.DataFrame
            Columns `first`, `second`, `estimate`, `lower`, `upper`, `level`, `guarantee`,
            `n_labelled`, `n`.
        """
        table = pd.DataFrame([attributes_for_table(self)])
        return columns_of(table, ("first", "second", *FEW_COLUMNS), every=all)

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the difference with its interval.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            That of the axes; a new one is not known to pyplot.
        """
        name = f"{self.first} minus {self.second}"
        row = name, 100 * self.estimate, 100 * self.lower, 100 * self.upper
        return plot_intervals([row], "Difference of accuracies (points)", zero=True, ax=ax)

    def __str__(self) -> str:
        """Return the difference with its interval, disagreements and McNemar's test, as text."""
        points = [f"{100 * value + 0.0:.2f}" for value in (self.estimate, self.lower, self.upper)]
        lines = [
            f"{self.first} minus {self.second}: {points[0]} points, {level_text(self.level)} "
            f"interval {points[1]} to {points[2]} ({counted(self.n_labelled, 'label')} of "
            f"{self.n:,}; {self.guarantee})"
        ]
        if self.n_disagree is not None:
            lines.append(f"the models predict different classes on {self.n_disagree:,} datapoints")
        if self.mcnemar_p is not None:
            lines.append(
                f"right alone: {self.only_first} times {self.first}, {self.only_second} times "
                f"{self.second}; McNemar's exact test: p = {self.mcnemar_p:.2g}"
            )
        return "\n".join([*lines, ""])


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
    check_level(level)
    labelled = inputs.read_labelled_predictions(
        {"first": first, "second": second}, labels, plan, assume_random, outside, columns, classes,
        first_label,
    )  # fmt: skip
    (model_a, model_b), sample = labelled.sets, labelled.sample
    rows, n, size = sample.rows, len(sample.rows), len(model_a.f)
    right_a, right_b = (
        (sample.labels == model.predictions.prediction[rows]).astype(np.float64)
        for model in labelled.sets
    )
    differs = model_a.predictions.prediction != model_b.predictions.prediction
    skipped, n_differ = sample.labels == SKIP, int(differs.sum())
    # Where a label could not be decided and predictions differ, either model may be right.
    undecided = skipped & differs[rows]
    is_frame = labelled.draw is not None and labelled.draw.design == "disagreement"
    estimates = list[Estimate]()
    for y_a, y_b in ((0, 1), (1, 0)):
        ys = np.where(undecided, y_a, right_a), np.where(undecided, y_b, right_b)
        d, frame = ys[0] - ys[1], size
        if is_frame or not n_differ:
            d, frame = d if n_differ else d[:0], n_differ
            estimate = estimators.disagreement_difference(d, n_differ, size, level)
        else:
            f_of_both = model_a.f[rows], model_b.f[rows], model_a.f, model_b.f
            estimate = estimators.paired_difference(*ys, *f_of_both, level=level)
        estimates.append(estimators.widen_interval(estimate, d, frame, level, frame / size))
    warnings = list(sample.warnings)
    if is_frame or not n_differ:
        method = "disagreement_difference"
        if n < min(2 * ENOUGH, n_differ):
            warnings.append(
                f"{n} labels where the models differ: from {ENOUGH}, the interval held the "
                f"difference in 93 % of draws in place of 95 %; label {2 * ENOUGH}"
            )
    else:
        method = "paired_difference"
    if skipped.any():
        warnings.append(f"{int(skipped.sum())} labels could not be decided: the interval has both")
    only_first, only_second = int((right_a > right_b).sum()), int((right_b > right_a).sum())
    if only_first + only_second < 2 * FEW and n_differ and n < (n_differ if is_frame else size):
        warnings.append(
            f"one model alone is right on only {only_first + only_second} labels; below {2 * FEW} "
            "the interval is not to be relied on: label more"
        )
    if labelled.plan is None:
        warnings.append(ON_YOUR_WORD)
    is_exact = not n_differ or (is_frame and n - int(skipped.sum()) == n_differ)
    second_name = model_b.name + (" (second)" if model_b.name == model_a.name else "")
    warn_each(warnings)
    return AccuracyDifference(
        first=model_a.name, second=second_name,
        estimate=float(np.mean([estimate.estimate for estimate in estimates])),
        lower=min(estimate.lower for estimate in estimates),
        upper=max(estimate.upper for estimate in estimates), level=level, method=method,
        guarantee="exact" if is_exact else "approximate" if n > 1 else "none", n_labelled=n, n=size,
        n_disagree=n_differ, only_first=only_first, only_second=only_second,
        mcnemar_p=float(mcnemar(only_first, only_second)), warnings=tuple(warnings),
        notes=tuple(dict.fromkeys((*model_a.notes, *model_b.notes))), _plan=labelled.plan,
        _labels=labelled.labels,
        _pilot=estimates[0] if is_frame and n > 1 else None,
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
        first = _accuracy_from_all_labels(original, target, columns, classes, first_label)
    for name in ("estimand", "level"):
        values = getattr(first, name), getattr(target, name)
        if values[0] != values[1]:
            remedy = "Estimate both accuracies with the same"
            raise InputError("{} and {}".format(*values), field=name, remedy=remedy)
    intervals = [
        (of.estimate, min(of.lower, of.estimate), max(of.upper, of.estimate))
        for of in (first, target)
    ]
    bounds = estimators.mover_difference(*intervals)
    return AccuracyDifference(
        first=first.name, second=target.name, estimate=first.estimate - target.estimate,
        lower=bounds.lower, upper=bounds.upper, level=first.level, method="mover_difference",
        # The combination of exact intervals is approximate, too.
        guarantee="none" if "none" in (first.guarantee, target.guarantee) else "approximate",
        n_labelled=first.n_labelled + target.n_labelled, n=first.n + target.n, n_disagree=None,
        only_first=None, only_second=None, mcnemar_p=None,
        warnings=(*first.warnings, *target.warnings), notes=first.notes,
    )  # fmt: skip


def _accuracy_from_all_labels(
    original: Data, target: AccuracyEstimate, columns: Mapping[str, str] | None,
    classes: int | str | Sequence[str] | None, first_label: int,
) -> AccuracyEstimate:  # fmt: skip
    """Compute the accuracy on a fully labelled set, for the estimand and level of the target."""
    source = source_of(original, "original")
    layout = layout_of([source], columns, classes, first_label)
    predictions = read_predictions(source, layout)
    n, n_correct = len(predictions), int(predictions.correct.sum())
    bounds = Bounds(n_correct / n, n_correct / n)
    if target.estimand == "population":
        if predictions.groups is not None:
            problem, remedy = "datapoints come in groups", "Ask for the estimand set"
            raise InputError(problem, file=source, field="group", remedy=remedy)
        bounds = clopper_pearson(n_correct, n, target.level)
    return replace(
        target, name=inputs.source_name(source), estimate=n_correct / n, lower=bounds.lower,
        upper=bounds.upper, guarantee="exact", n_labelled=n, n=n, warnings=(),
        notes=(*layout.notes, *predictions.notes),
    )  # fmt: skip
