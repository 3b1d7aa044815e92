"""All scores, by name, in the order of tables.

To add a score: a function and its `Score` in one of the modules below, or a module of its own.
"""

from matcheval.accuracy_prediction.scores import (
    agreement,
    confidence,
    features,
    probabilities,
    prototypes,
    rotation,
)
from matcheval.accuracy_prediction.scores.agreement import PoolScore
from matcheval.accuracy_prediction.scores.score import Score

_ALL = (
    *confidence.SCORES_TEMPERATURE,
    *confidence.SCORES_TEMPERATURE,
    *confidence.SCORES_TEMPERATURE,
    *features.SCORES_DISCRIMINATORS,
    *features.SCORES_DISCRIMINATORS,
    *probabilities.SCORES_NUCLEAR_NORM,
    *probabilities.SCORES_NUCLEAR_NORM,
    *prototypes.SCORES,
    *rotation.SCORES,
)

# Computed from one model's outputs; and from the predictions of all models.
SCORES: dict[str, Score] = {score.name: score for score in _ALL}
POOL_SCORES: dict[str, PoolScore] = {score.name: score for score in agreement.POOL_SCORES}
AnyScore = Score | PoolScore
ALL_SCORES: dict[str, AnyScore] = {**SCORES, **POOL_SCORES}
