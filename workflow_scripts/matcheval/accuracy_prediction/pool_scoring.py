"""The scores of all models of a pool on all sets of a suite."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.outputs.model_outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.schemas import SCORES
from matcheval.accuracy_prediction.scores.agreement import Agreements, PoolScore, agreement
from matcheval.accuracy_prediction.scoring import SuiteReader, set_columns
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.datasets.suites import Suite
from matcheval.errors import InputError


def score_pool(
    suite: Suite,
    base: str,
    readers: Mapping[str, SuiteReader],
    scores: Sequence[PoolScore],
    read: Callable[[str, str], Outputs],
) -> pd.DataFrame:
    """Compute the scores of all models on all sets of a suite.

    Parameters
    ----------
    suite : Suite
    base : str
        Name of the base.
    readers : mapping of str to SuiteReader
        By model; each has the model's outputs on the base.
    scores : sequence of PoolScore
    read : callable
        Returns the outputs on a set of a model, both given by name.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.SCORES`.
    """
    rows: list[dict[str, Any]] = []
    of_base: dict[ClassRule, Agreements] = {}
    for member in suite.members:
        sides = {
            model: reader.sides(member, read(member.dataset, model))
            for model, reader in readers.items()
        }
        rule = next(iter(readers.values())).rule_of(member)
        if rule not in of_base:
            of_base[rule] = _agreements([base for base, _ in sides.values()])
        known = of_base[rule]
        target = _agreements([target for _, target in sides.values()]).target
        for score in scores:
            values, reason = _compute(score, Agreements(target, known.target, known.accuracy))
            for (model, (of_set, on_set)), value in zip(sides.items(), values, strict=True):
                rows.append(
                    {
                        **set_columns(model, suite, base, member),
                        "method": score.method, "variant": score.variant, "seed": 0, "view": WHOLE,
                        "score": value, "n": len(on_set), "n_base": len(of_set),
                        "accuracy_base": of_set.accuracy, "accuracy": on_set.accuracy,
                        "reason": reason or ("" if np.isfinite(value) else _UNDETERMINED),
                    }
                )  # fmt: skip
    return pd.DataFrame(rows, columns=SCORES.names)


_UNDETERMINED = "the agreements of its pairs do not determine it"


def _agreements(models: Sequence[Outputs]) -> Agreements:
    predicted = np.stack([one.predicted.astype(np.int16) for one in models])
    accuracy = np.array([one.accuracy for one in models])
    return Agreements(agreement(predicted), accuracy=accuracy)


def _compute(score: PoolScore, agreements: Agreements) -> tuple[Sequence[float], str]:
    try:
        return list(score.compute(agreements)), ""
    except InputError as error:
        return [float("nan")] * len(agreements.target), str(error)
