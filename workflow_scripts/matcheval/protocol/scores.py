"""What datapoints are matched on: uncertainty scores, higher for a more confident prediction.

A score is one entry of `Score`: its name, what readers call it, and the function that measures it
on both sets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matcheval.predictions.records import Predictions

# Ranks differ by 0.005 of the pooled datapoints at most, as confidences do by 0.005, but always by
# this many: in small sets, fewer points would be within reach than on confidence.
MIN_RANKS = 10
# Ranks are multiples of 1/2 and exact; a bound such as 0.005 N is rounded.
_RANK_ROUNDING = 1e-9


@dataclass(frozen=True)
class MeasuredScores:
    """A score of the datapoints of both sets."""

    source: npt.NDArray[Any]
    target: npt.NDArray[Any]
    largest_difference: float


Measure = Callable[["Predictions", "Predictions", float], MeasuredScores]


def _confidence(source: "Predictions", target: "Predictions", epsilon: float) -> MeasuredScores:
    """Take the confidences as stored, float32."""
    return MeasuredScores(source.probability, target.probability, epsilon)


def _confidence_rank(
    source: "Predictions", target: "Predictions", epsilon: float
) -> MeasuredScores:
    return pooled_ranks(source.probability, target.probability, epsilon)


def pooled_ranks(
    source: npt.NDArray[Any], target: npt.NDArray[Any], epsilon: float
) -> MeasuredScores:
    """Rank the scores of both sets together."""
    _, which, counts = np.unique(
        np.concatenate([source, target]), return_inverse=True, return_counts=True
    )
    last = np.cumsum(counts)  # the highest rank of each distinct score
    ranks = (last - (counts - 1) / 2)[which]
    bound = max(epsilon * len(ranks), MIN_RANKS) + _RANK_ROUNDING
    return MeasuredScores(ranks[: len(source)], ranks[len(source) :], bound)


class Score(StrEnum):
    """What two datapoints are compared by.

    `CONFIDENCE`: the maximum of the softmax, as in the paper. `CONFIDENCE_RANK`: its rank among
    the confidences of both sets, which no increasing transform of the confidences changes.

    Attributes
    ----------
    label : str
        What readers call it.
    measure : callable
        Takes the predictions on source and target and ε, and returns `MeasuredScores`.
    """

    label: str
    measure: Measure

    def __new__(cls, value: str, label: str, measure: Measure) -> "Score":
        """Create a member with its attributes."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        member.measure = measure
        return member

    CONFIDENCE = "confidence", "confidence", _confidence
    CONFIDENCE_RANK = "confidence_rank", "pooled ranks of the confidence", _confidence_rank
