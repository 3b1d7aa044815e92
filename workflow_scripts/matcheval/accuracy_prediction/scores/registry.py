"""All scores, by name, in the order of tables.

To add a score: a function and its `Score` in one of the modules below, or a module of its own.
"""

from collections.abc import Iterable

from matcheval.accuracy_prediction.scores import (
    agreement,
    atc,
    confidence,
    discriminators,
    distances,
    entropy,
    nuclear_norm,
    prototypes,
    rotation,
    temperature,
)
from matcheval.accuracy_prediction.scores.agreement import PoolScore
from matcheval.accuracy_prediction.scores.score import Score
from matcheval.errors import unknown_name_error

_ALL = (
    *confidence.SCORES,
    *temperature.SCORES,
    *entropy.SCORES,
    *distances.SCORES,
    *discriminators.SCORES,
    *atc.SCORES,
    *nuclear_norm.SCORES,
    *prototypes.SCORES,
    *rotation.SCORES,
)

# Computed from one model's outputs; and from the predictions of all models.
SCORES: dict[str, Score] = {score.name: score for score in _ALL}
POOL_SCORES: dict[str, PoolScore] = {score.name: score for score in agreement.POOL_SCORES}
AnyScore = Score | PoolScore
ALL_SCORES: dict[str, AnyScore] = {**SCORES, **POOL_SCORES}


def check_names(names: Iterable[str], field: str) -> None:
    """Check names of methods, or of variants as `method:variant`.

    Parameters
    ----------
    names : iterable of str
    field : str
        The key of the configuration that gives them.

    Raises
    ------
    InputError
        If one is unknown.
    """
    for name in names:
        if name not in ALL_SCORES:
            raise unknown_name_error("method", name, ALL_SCORES, file="configuration", field=field)
