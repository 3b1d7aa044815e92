"""The scores that accuracy is predicted from: pure functions, in a module for each family.

To add a score: a function with the decorator `score` in the module of its family. A new module is
imported here, in the order of tables.
"""

from matcheval.accuracy_prediction.scores import (
    confidence,  # noqa: F401
    features,  # noqa: F401
    probabilities,  # noqa: F401
    prototypes,  # noqa: F401
    rotation,  # noqa: F401
)
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES, PoolScore
from matcheval.accuracy_prediction.scores.score import SCORES, Score

__all__ = ["ALL_SCORES", "POOL_SCORES", "SCORES", "AnyScore"]

AnyScore = Score | PoolScore
ALL_SCORES: dict[str, AnyScore] = {**SCORES, **POOL_SCORES}  # by name, in the order of tables
