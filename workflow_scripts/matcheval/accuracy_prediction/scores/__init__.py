"""The scores that accuracy is predicted from, by name and in the order of tables.

To add a score: a function with the decorator `add` of the family's `SCORES`, in its module.
"""

from matcheval.accuracy_prediction.scores import confidence, features, probabilities
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES, PoolScore
from matcheval.accuracy_prediction.scores.score import Score

AnyScore = Score | PoolScore

SCORES: dict[str, Score] = {
    **confidence.SCORES,
    **features.SCORES,
    **confidence.ATC,
    **probabilities.SCORES,
    **features.PROTOTYPES,
    **features.ROTATION,
    **probabilities.TRANSPORT,
    **probabilities.MANO,
    **features.DISPERSION,
    **probabilities.CLASSWISE,
}
ALL_SCORES: dict[str, AnyScore] = {**SCORES, **POOL_SCORES}
