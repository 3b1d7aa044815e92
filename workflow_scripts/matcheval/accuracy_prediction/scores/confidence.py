"""Scores of confidences: means and shares of the probability of the predicted class."""

from typing import Any

from matcheval.accuracy_prediction.scores.score import Need, Predicts, Score, Sides


def _base_accuracy(_: Any, sides: Sides) -> float:
    return sides.base.accuracy


def _average_confidence(_: Any, sides: Sides) -> float:
    return float(sides.target.confidences.mean())


def _difference_of_confidences(_: Any, sides: Sides) -> float:
    return float(sides.base.confidences.mean() - sides.target.confidences.mean())


SCORES = (
    Score(
        "base_accuracy", "Base Acc", (Need.BASE_LABELS,), Predicts.ACCURACY, 0, _base_accuracy,
        source="P1, section 5",
    ),
    Score("ac", "AC", (), Predicts.ACCURACY, 1, _average_confidence, source="P1, equation 5"),
    Score(
        "doc", "DoC", (Need.BASE_LABELS,), Predicts.GAP, -1, _difference_of_confidences,
        source="P1, equation 6",
    ),
)  # fmt: skip
