"""The scores of one model on all sets of a suite."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.schemas import SCORES
from matcheval.accuracy_prediction.scores.score import (
    NotAvailableError,
    Score,
    Sides,
    Sources,
    missing_inputs,
)
from matcheval.accuracy_prediction.subsets import restrict
from matcheval.accuracy_prediction.views import WHOLE, Views
from matcheval.datasets.suites import Member, Suite

_NOT_FINITE = "the score is not a finite number"


@dataclass
class ModelScorer:
    """Computes the scores of one model.

    Parameters
    ----------
    sources : Sources
        Base, reference, options and seed.
    scores : sequence of Score
    view_scores : sequence of Score
        Scores that are computed on parts of sets.
    views : Views
    classes : sequence of str
        Class names by label.
    rule : ClassRule
        How probabilities are restricted where a member names classes.
    """

    sources: Sources
    scores: Sequence[Score]
    classes: Sequence[str]
    rule: ClassRule = ClassRule()
    view_scores: Sequence[Score] = ()
    views: Views = Views()
    _fitted: dict[str, Any] = field(default_factory=dict)
    _bases: dict[ClassRule, Outputs] = field(default_factory=dict)

    def rows(self, member: Member, target: Outputs) -> Iterator[dict[str, Any]]:
        """Yield the scores on a set.

        Parameters
        ----------
        member : Member
            The set, perhaps with the classes that count.
        target : Outputs
            The model's outputs on it.

        Yields
        ------
        dict
            Columns of `schemas.SCORES` except those that name model, suite and set.

        Raises
        ------
        InputError
            If the base or the set has no datapoints of the classes that count.
        """
        rule = self._rule_of(member)
        if rule not in self._bases:
            self._bases[rule] = restrict(self.sources.base, rule, f"base of '{member.dataset}'")
        base, whole = self._bases[rule], restrict(target, rule, f"set '{member.dataset}'")
        yield from self._on(self.scores, WHOLE, self.sources.seed, base, whole)
        for view, draw, part in self.views.of(whole, member.dataset, self.classes):
            yield from self._on(self.view_scores, view, draw, base, part)

    def _rule_of(self, member: Member) -> ClassRule:
        known = list(self.classes)
        columns = tuple((known.index(name),) for name in member.classes)
        return ClassRule(columns, self.rule.renormalise, self.rule.restrict_argmax)

    def _on(
        self, scores: Sequence[Score], view: str, seed: int, base: Outputs, target: Outputs
    ) -> Iterator[dict[str, Any]]:
        sides = Sides(base, target, self.sources.seed)
        truth = {
            "n": len(target), "n_base": len(base), "accuracy_base": base.accuracy,
            "accuracy": target.accuracy,
        }  # fmt: skip
        for score in scores:
            value, reason = self._compute(score, sides)
            yield {
                "method": score.method, "variant": score.variant, "seed": seed, "view": view,
                "score": value, **truth, "reason": reason,
            }  # fmt: skip

    def _compute(self, score: Score, sides: Sides) -> tuple[float, str]:
        missing = missing_inputs(score, self.sources, sides.target)
        if missing:
            return float("nan"), f"needs {missing[0].value}"
        try:
            if score.name not in self._fitted:
                self._fitted[score.name] = score.fit(self.sources)
            value = score.compute(self._fitted[score.name], sides)
        except NotAvailableError as error:
            return float("nan"), str(error)
        return (value, "") if np.isfinite(value) else (float("nan"), _NOT_FINITE)


def score_suite(
    model: str,
    suite: Suite,
    base: str,
    scorers: Sequence[ModelScorer],
    read: Callable[[str], Outputs],
) -> pd.DataFrame:
    """Compute the scores of a model on all sets of a suite.

    Parameters
    ----------
    model : str
    suite : Suite
    base : str
        Name of the base.
    scorers : sequence of ModelScorer
        One per seed.
    read : callable
        Returns the model's outputs on a set, given by name; they are in memory one at a time.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.SCORES`.
    """
    rows = []
    for member in suite.members:
        target = read(member.dataset)
        for scorer in scorers:
            rows += [set_columns(model, suite, base, member) | row for row in scorer.rows(member, target)]
    return pd.DataFrame(rows, columns=SCORES.names)


def set_columns(model: str, suite: Suite, base: str, member: Member) -> Mapping[str, Any]:
    """Return the columns that name model, suite and set.

    Parameters
    ----------
    model : str
    suite : Suite
    base : str
    member : Member
    """
    return {
        "model": model, "suite": suite.name, "base": base, "dataset": member.dataset,
        "group": member.group, "subgroup": member.subgroup,
        "severity": float("nan") if member.severity is None else member.severity,
    }  # fmt: skip
