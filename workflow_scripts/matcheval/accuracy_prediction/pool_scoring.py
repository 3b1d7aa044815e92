"""The scores of all models of a pool on all sets of a suite."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.outputs.loading import check_same_datapoints
from matcheval.accuracy_prediction.outputs.model_outputs import ClassRule, Floats, Outputs
from matcheval.accuracy_prediction.outputs.subsets import restrict
from matcheval.accuracy_prediction.schemas import SCORES
from matcheval.accuracy_prediction.scores.agreement import (
    Agreements,
    PoolScore,
    agreement,
    score_models,
)
from matcheval.accuracy_prediction.scoring import SuiteReader, set_columns
from matcheval.accuracy_prediction.views import WHOLE, Views
from matcheval.datasets.suites import Suite
from matcheval.errors import InputError

_NO_VIEWS = Views()


def score_pool(
    suite: Suite,
    base: str,
    models: Sequence[str],
    classes: Sequence[str] | Path,
    rule: ClassRule,
    scores: Sequence[PoolScore],
    read: Callable[[str, str], Outputs],
    single: Collection[str] = (),
    view_scores: Sequence[PoolScore] = (),
    views: Views = _NO_VIEWS,
) -> pd.DataFrame:
    """Compute the scores of all models on all sets of a suite."""
    bases = _on_base(suite, base, models, classes, rule, read)
    pools = {rule: pool for rule, pool, _ in bases.values()}
    of_base = {one: agreement(np.stack(pool.predicted)) for one, pool in pools.items()}
    scorer = _Scorer(models, np.array([model not in single for model in models]))
    rows = []
    for member in suite.members:
        counting, known, names = bases[member.dataset]
        pool = _Pool(member.dataset)
        for model in models:
            pool.add(model, restrict(read(member.dataset, model), counting, is_base=False))
        sides = of_base[counting], known
        found = list(scorer.rows(scores, sides, pool))
        for view, draw, part in pool.parts(views, names) if view_scores else ():
            parts = scorer.rows(view_scores, sides, part, view, draw)
            accuracies = zip(pool.accuracies, part.accuracies, strict=True)
            true = [views.accuracy(view, *pair) for pair in accuracies] * len(view_scores)
            found += [row | {"accuracy": a} for row, a in zip(parts, true, strict=True)]
        rows += [set_columns(row["model"], suite, base, member) | row for row in found]
    return pd.DataFrame(rows, columns=SCORES.names)


_UNDETERMINED = "the agreements of its pairs do not determine it"


@dataclass
class _Pool:
    """The predicted classes of all models on a set, cut to the classes that count."""

    dataset: str
    predicted: list[npt.NDArray[np.int16]] = field(default_factory=list)
    correct: list[npt.NDArray[np.bool_] | None] = field(default_factory=list)
    _first: tuple[str, Outputs] | None = None

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.predicted[0])

    @property
    def accuracies(self) -> list[float]:
        """Accuracies of the models; NaN where there are no labels."""
        return [float("nan") if one is None else float(one.mean()) for one in self.correct]

    def add(self, model: str, outputs: Outputs) -> None:
        """Add a model's outputs, which are on the same datapoints as those added before."""
        if self._first is None:
            lean = replace(outputs, logits=None, probabilities=None, features=None, statistics=None)
            self._first = model, lean
        check_same_datapoints(self._first, (model, outputs), self.dataset)
        self.predicted.append(outputs.predicted.astype(np.int16))
        self.correct.append(None if outputs.labels is None else outputs.correct)

    def parts(self, views: Views, classes: Sequence[str]) -> Iterator[tuple[str, int, "_Pool"]]:
        """Yield the parts of the set, as `Views.of`."""
        assert self._first is not None
        numbered = replace(self._first[1], predicted=np.arange(len(self)))
        for view, draw, part in views.of(numbered, self.dataset, classes):
            rows = part.predicted
            correct = [None if one is None else one[rows] for one in self.correct]
            yield view, draw, _Pool(self.dataset, [one[rows] for one in self.predicted], correct)


@dataclass(frozen=True, eq=False)
class _Scorer:
    """Computes the scores of all models on a set."""

    models: Sequence[str]
    in_pool: npt.NDArray[np.bool_]

    def rows(
        self, scores: Sequence[PoolScore], base: tuple[Floats, _Pool], target: _Pool,
        view: str = WHOLE, seed: int = 0,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Yield columns of `schemas.SCORES` but those of the set; a row per score and model."""
        of_base, known = base
        of_target = agreement(np.stack(target.predicted))
        agreements = Agreements(of_target, of_base, np.array(known.accuracies))
        for score in scores:
            values, reason = self._compute(score, agreements)
            each = zip(self.models, values, known.accuracies, target.accuracies, strict=True)
            for model, value, accuracy_base, accuracy in each:
                yield {
                    "model": model, "method": score.method, "variant": score.variant, "seed": seed,
                    "view": view, "score": value, "n": len(target), "n_base": len(known),
                    "accuracy_base": accuracy_base, "accuracy": accuracy,
                    "reason": reason or ("" if np.isfinite(value) else _UNDETERMINED),
                }  # fmt: skip

    def _compute(self, score: PoolScore, agreements: Agreements) -> tuple[Sequence[float], str]:
        try:
            return list(score_models(score, agreements, self.in_pool)), ""
        except InputError as error:
            return [float("nan")] * len(agreements.target), str(error)


def _on_base(
    suite: Suite, base: str, models: Sequence[str], classes: Sequence[str] | Path,
    rule: ClassRule, read: Callable[[str, str], Outputs],
) -> dict[str, tuple[ClassRule, _Pool, list[str]]]:  # fmt: skip
    """Return for every set which classes count, the base cut to them, and their names."""
    rules: dict[str, ClassRule] = {}
    names: dict[str, list[str]] = {}
    pools: dict[ClassRule, _Pool] = {}
    for model in models:
        outputs = read(base, model)
        if not rules:
            reader = SuiteReader(outputs, classes, rule)
            rules = {member.dataset: reader.rule_of(member) for member in suite.members}
            names = {member.dataset: reader.names(member) for member in suite.members}
            del reader  # it holds the outputs
        for one in dict.fromkeys(rules.values()):
            pool = pools.setdefault(one, _Pool(base))
            pool.add(model, restrict(outputs, one, is_base=True))
    return {dataset: (one, pools[one], names[dataset]) for dataset, one in rules.items()}
