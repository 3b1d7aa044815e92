"""What estimates from few labels return, and the plan that drew the labels."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.api.inputs import Shown, columns_of
from matcheval.errors import InputError
from matcheval.few_labels.answers import Answers
from matcheval.few_labels.designs import STRATA, Draw
from matcheval.few_labels.estimating import NAMES
from matcheval.few_labels.intervals import Found
from matcheval.figures.forms import plot_intervals
from matcheval.io.json_files import read_json
from matcheval.io.text_tables import counted
from matcheval.statistics.intervals import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEW = ("estimate", "lower", "upper", "level", "guarantee", "n_labelled", "n")
_OF = {"set": "exactly these datapoints", "population": "the distribution they came from"}


@dataclass(frozen=True)
class Bounds(Shown):
    """An interval: `lower` and `upper`, fractions."""

    lower: float
    upper: float

    def __str__(self) -> str:
        """Return both bounds."""
        return f"{self.lower:.3f} to {self.upper:.3f}"


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
    kappa : float or None
        Cohen's kappa of two annotators.
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
    kappa: float | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _plan: "Plan | None" = field(repr=False)
    _answers: Answers | None = field(repr=False)
    _pilot: Found | None = field(repr=False)

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
        found = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        texts = ("exact", "warnings", "notes")
        bounds = {
            f"exact_{end}": np.nan if self.exact is None else getattr(self.exact, end)
            for end in ("lower", "upper")
        }
        table = pd.DataFrame([{k: v for k, v in found.items() if k not in texts} | bounds])
        return columns_of(table, ("name", *_FEW), every=all)

    def plot(self) -> "Figure":
        """Draw the estimate with its interval, and that of the labels alone where there is one.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        rows = [(NAMES[self.method], 100 * self.estimate, 100 * self.lower, 100 * self.upper)]
        if self.exact is not None:
            bounds = 100 * self.exact.lower, 100 * self.exact.upper
            rows.append(("labels alone, exact", np.nan, *bounds))
        return plot_intervals(rows, "Accuracy (%)")

    def __str__(self) -> str:
        """Return the text that `matched-eval estimate-accuracy` prints."""
        ratio = self.label_ratio
        by = NAMES[self.method]
        if self._plan is not None and self._plan.draw.design in STRATA:
            by = f"{self._plan.draw.design} {by}"
        lines = [
            f"accuracy {self.estimate:.3f}, {percent(self.level)} interval {self.lower:.3f} to "
            f"{self.upper:.3f} ({counted(self.n_labelled, 'label')} of {self.n:,}; {by}; "
            f"{self.guarantee})"
        ]
        is_alone = self.guarantee == "exact"
        if ratio is not None and not is_alone:
            needed = round(self.n_labelled / ratio)
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
        if self.kappa is not None:
            rows.append(("Cohen's kappa of two annotators", f"{self.kappa:.2f}"))
        width = max(len(name) for name, _ in rows)
        return "\n".join([*lines, "", *(f"{k.ljust(width)}  {v}" for k, v in rows), ""])


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
    _plan: "Plan | None" = field(repr=False, default=None)
    _answers: Answers | None = field(repr=False, default=None)
    _pilot: Found | None = field(repr=False, default=None)

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
        found = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        numbers = {k: v for k, v in found.items() if k not in ("warnings", "notes")}
        return columns_of(pd.DataFrame([numbers]), ("first", "second", *_FEW), every=all)

    def plot(self) -> "Figure":
        """Draw the difference with its interval.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        name = f"{self.first} minus {self.second}"
        row = name, 100 * self.estimate, 100 * self.lower, 100 * self.upper
        return plot_intervals([row], "Difference of accuracies (points)", zero=True)

    def __str__(self) -> str:
        """Return the numbers as text."""
        points = [f"{100 * one + 0.0:.2f}" for one in (self.estimate, self.lower, self.upper)]
        lines = [
            f"{self.first} minus {self.second}: {points[0]} points, {percent(self.level)} interval "
            f"{points[1]} to {points[2]} ({counted(self.n_labelled, 'label')} of {self.n:,}; "
            f"{self.guarantee})"
        ]
        if self.n_disagree is not None:
            lines.append(f"the models predict different classes on {self.n_disagree:,} datapoints")
        if self.mcnemar_p is not None:
            lines.append(
                f"right alone: {self.only_first} times {self.first}, {self.only_second} times "
                f"{self.second}; McNemar's exact test: p = {self.mcnemar_p:.2g}"
            )
        return "\n".join([*lines, ""])


@dataclass(frozen=True, eq=False)
class Plan:
    """A draw with what it was made from; `pilot` counts the labels that its size rests on."""

    draw: Draw
    digest: str
    temperature: float | None
    pilot: int
    file: object

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Plan":
        """Read and check a plan file."""
        values = read_json(path)
        try:
            draw = Draw.of_json(values["draw"])
            return cls(draw, values["digest"], values["temperature"], values["pilot"], path)
        except (KeyError, TypeError, ValueError) as error:
            remedy = "Give the plan.json that `label-plan` wrote"
            raise InputError("is no plan of labels", file=path, remedy=remedy) from error

    def check(self, digest: str) -> None:
        """Check that it was made from these predictions."""
        if digest != self.digest:
            raise InputError(
                "was made from other predictions", file=self.file, field="digest",
                remedy="Give the predictions that it was made from; after a change of the model, "
                "plan and label anew",
            )  # fmt: skip
