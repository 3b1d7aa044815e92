"""All scores, by name: those computed from one model's outputs, in the order of tables.

To add a score: a function and its `Score` in one of the modules below, or a module of its own.
"""

from matcheval.accuracy_prediction.scores import (
    confidence,
    discriminators,
    distances,
    prototypes,
)
from matcheval.accuracy_prediction.scores.score import Score

SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        *confidence.SCORES,
        *distances.SCORES,
        *discriminators.SCORES,
        *prototypes.SCORES,
    )
}
