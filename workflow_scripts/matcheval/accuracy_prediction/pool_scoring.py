"""The scores of all models of a pool on all sets of a suite."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.outputs.loading import check_same_datapoints
from matcheval.accuracy_prediction.outputs.model_outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.outputs.subsets import restrict
from matcheval.accuracy_prediction.schemas import SCORES
from matcheval.accuracy_prediction.scores.agreement import (
    Agreements,
    PoolScore,
    agreement,
    score_models,
)
from matcheval.accuracy_prediction.scoring import SuiteReader, set_columns
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.datasets.suites import Suite
from matcheval.errors import InputError


def score_pool(
    suite: Suite,
    base: str,
    models: Sequence[str],
    classes: Sequence[str] | Path,
    rule: ClassRule,
    scores: Sequence[PoolScore],
    read: Callable[[str, str], Outputs],
    single: Collection[str] = (),
) -> pd.DataFrame:
    """Compute the scores of all models on all sets of a suite.

    Of every model only the predicted classes of the datapoints that count are kept.

    Parameters
    ----------
    suite : Suite
    base : str
        Name of the base.
    models : sequence of str
        The pool, and models outside of it.
    classes, rule
        As of `SuiteReader`.
    scores : sequence of PoolScore
    read : callable
        Returns the outputs on a set of a model, both given by name; they are in memory one at a
        time.
    single : collection of str
        Models outside of the pool: they are compared with the pool, and have no influence on its
        scores.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.SCORES`.

    Raises
    ------
    InputError
        If models differ in the datapoints or labels of a set, or as of `subsets.restrict`.
    """
    rows: list[dict[str, Any]] = []
    in_pool = np.array([model not in single for model in models])
    bases = _on_base(suite, base, models, classes, rule, read)
    of_base = {
        one: agreement(np.stack(pool.predicted)) for one, pool in dict(bases.values()).items()
    }
    for member in suite.members:
        counting, known = bases[member.dataset]
        pool = _Pool(member.dataset)
        for model in models:
            pool.add(model, restrict(read(member.dataset, model), counting, is_base=False))
        target = agreement(np.stack(pool.predicted))
        agreements = Agreements(target, of_base[counting], np.array(known.accuracies))
        for score in scores:
            values, reason = _compute(score, agreements, in_pool)
            each = zip(models, values, known.accuracies, pool.accuracies, strict=True)
            for model, value, accuracy_base, accuracy in each:
                rows.append(
                    {
                        **set_columns(model, suite, base, member),
                        "method": score.method, "variant": score.variant, "seed": 0, "view": WHOLE,
                        "score": value, "n": len(pool), "n_base": len(known),
                        "accuracy_base": accuracy_base, "accuracy": accuracy,
                        "reason": reason or ("" if np.isfinite(value) else _UNDETERMINED),
                    }
                )  # fmt: skip
    return pd.DataFrame(rows, columns=SCORES.names)


_UNDETERMINED = "the agreements of its pairs do not determine it"


@dataclass
class _Pool:
    """The predicted classes of all models on a set, cut to the classes that count."""

    dataset: str
    predicted: list[npt.NDArray[np.int16]] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    _first: tuple[str, Outputs] | None = None

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.predicted[0])

    def add(self, model: str, outputs: Outputs) -> None:
        """Add a model's outputs, which are on the same datapoints as those added before."""
        if self._first is None:
            lean = replace(outputs, logits=None, probabilities=None, features=None, statistics=None)
            self._first = model, lean
        check_same_datapoints(self._first, (model, outputs), self.dataset)
        self.predicted.append(outputs.predicted.astype(np.int16))
        self.accuracies.append(outputs.accuracy)


def _on_base(
    suite: Suite, base: str, models: Sequence[str], classes: Sequence[str] | Path,
    rule: ClassRule, read: Callable[[str, str], Outputs],
) -> dict[str, tuple[ClassRule, _Pool]]:  # fmt: skip
    """Return for every set which classes count, and the predictions on the base, cut to them."""
    rules: dict[str, ClassRule] = {}
    pools: dict[ClassRule, _Pool] = {}
    for model in models:
        outputs = read(base, model)
        if not rules:
            reader = SuiteReader(outputs, classes, rule)
            rules = {member.dataset: reader.rule_of(member) for member in suite.members}
            del reader  # it holds the outputs
        for one in dict.fromkeys(rules.values()):
            pool = pools.setdefault(one, _Pool(base))
            pool.add(model, restrict(outputs, one, is_base=True))
    return {dataset: (one, pools[one]) for dataset, one in rules.items()}


def _compute(
    score: PoolScore, agreements: Agreements, in_pool: npt.NDArray[np.bool_]
) -> tuple[Sequence[float], str]:
    try:
        return list(score_models(score, agreements, in_pool)), ""
    except InputError as error:
        return [float("nan")] * len(agreements.target), str(error)
