"""Computation of one model's scores on every set of a suite."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.outputs.model_outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.outputs.subsets import class_rule, restrict
from matcheval.accuracy_prediction.schemas import SCORES
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Score,
    Sides,
    Sources,
    missing_inputs,
)
from matcheval.accuracy_prediction.views import WHOLE, Views
from matcheval.datasets.folders import read_description
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError

if TYPE_CHECKING:
    from matcheval.accuracy_prediction.scores.registry import AnyScore

_OF_MODELS = "needs a single model: agreement is not computed for ensembles"
_NOT_FINITE = "the score is not a finite number"
_WHOLE_RULE, _NO_VIEWS = ClassRule(), Views()


class SuiteReader:
    """Cuts the base and the sets of a suite to the classes that count."""

    def __init__(
        self, base: Outputs, classes: Sequence[str] | Path, rule: ClassRule = _WHOLE_RULE
    ) -> None:
        self.base, self._rule = base, rule
        names: Sequence[str] = (
            read_description(classes.parent)["classes"] if isinstance(classes, Path) else classes
        )
        n_classes = 1 + int(base.predicted.max(initial=-1))
        if base.probabilities is not None:
            n_classes = base.probabilities.shape[1]
        self.classes = names or [str(label) for label in range(n_classes)]
        self._bases: dict[ClassRule, Outputs] = {}

    def sides(self, member: Member, target: Outputs) -> tuple[Outputs, Outputs]:
        """Return the outputs on base and set, of the classes that count."""
        matrices = (self.base.probabilities, target.probabilities)
        widths = [matrix.shape[1] for matrix in matrices if matrix is not None]
        if len(set(widths)) > 1:
            raise InputError(
                f"the model gives {widths[1]} classes on '{member.dataset}', and {widths[0]} on "
                "the base",
                remedy="All sets must be of the base's label space",
            )
        rule = self.rule_of(member)
        if rule not in self._bases:
            self._bases[rule] = restrict(self.base, rule, is_base=True)
        return self._bases[rule], restrict(target, rule, is_base=False)

    def rule_of(self, member: Member) -> ClassRule:
        """Return which classes count on a set."""
        if not member.counting:
            return _WHOLE_RULE
        return class_rule(
            self.classes, dict(member.groups) or member.classes, members=self._rule.members,
            renormalise=self._rule.renormalise,
            restrict_argmax=self._rule.restrict_argmax,
        )  # fmt: skip

    def names(self, member: Member) -> list[str]:
        """Return the names of the classes that count on a set, by label of the cut outputs."""
        if member.groups:
            return [name for name, _ in member.groups]
        columns = self.rule_of(member).columns
        return [self.classes[column[0]] for column in columns] or list(self.classes)


@dataclass
class ModelScorer:
    """Computes the scores of one model."""

    sources: Sources
    scores: Sequence["AnyScore"]
    view_scores: Sequence[Score] = ()
    views: Views = _NO_VIEWS
    is_ensemble: bool = False
    _fitted: dict[str, Any] = field(default_factory=dict)

    def rows(
        self, name: str, base: Outputs, target: Outputs, classes: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Yield the scores on a set."""
        yield from self._on(self.scores, WHOLE, self.sources.seed, base, target)
        for view, draw, part in self.views.of(target, name, classes):
            accuracy = self.views.accuracy(view, target.accuracy, part.accuracy)
            for row in self._on(self.view_scores, view, draw, base, part):
                yield row | {"accuracy": accuracy}

    def _on(
        self, scores: Sequence["AnyScore"], view: str, seed: int, base: Outputs, target: Outputs
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

    def _compute(self, score: "AnyScore", sides: Sides) -> tuple[float, str]:
        if not isinstance(score, Score):
            return float("nan"), _OF_MODELS if self.is_ensemble else f"needs {Need.MODELS.value}"
        if not all(np.isfinite(one.confidences).all() for one in (sides.base, sides.target)):
            return float("nan"), "confidences are not finite numbers"
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
    reader: SuiteReader,
    scorers: Sequence[ModelScorer],
    read: Callable[[str], Outputs],
) -> pd.DataFrame:
    """Compute the scores of a model on all sets of a suite."""
    rows = []
    scorers = [*scorers[:1], *(replace(one, views=_NO_VIEWS) for one in scorers[1:])]
    for member in suite.members:
        known = set_columns(model, suite, base, member)
        sides = reader.sides(member, read(member.dataset))
        for scorer in scorers:
            found = scorer.rows(member.dataset, *sides, reader.names(member))
            rows += [known | row for row in found]
    return pd.DataFrame(rows, columns=SCORES.names)


def set_columns(model: str, suite: Suite, base: str, member: Member) -> dict[str, Any]:
    """Return the columns that name model, suite and set."""
    return {
        "model": model, "suite": suite.name, "base": base, "dataset": member.dataset,
        "group": member.group, "subgroup": member.subgroup,
        "severity": float("nan") if member.severity is None else member.severity,
    }  # fmt: skip
