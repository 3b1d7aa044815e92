"""All scores, by name: those computed from one model's outputs, in the order of tables.

To add a score: a function and its `Score` in one of the modules below, or a module of its own.
"""

from matcheval.accuracy_prediction.scores import (
    atc,
    confidence,
    entropy,
    nuclear_norm,
    temperature,
)
from matcheval.accuracy_prediction.scores.score import Score

_ALL = (
    *confidence.SCORES,
    *temperature.SCORES,
    *entropy.SCORES,
    *atc.SCORES,
    *nuclear_norm.SCORES,
)

SCORES: dict[str, Score] = {score.name: score for score in _ALL}
