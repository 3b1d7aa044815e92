"""Scores of confidences: means and shares of the largest probability of a class that counts."""

from functools import partial
from typing import Any

from matcheval.accuracy_prediction.scores.score import (
    Need,
    Predicts,
    Score,
    Sides,
    with_spread,
)

THRESHOLDS = (0.7, 0.8, 0.9)  # P2, Table 2


def _base_accuracy(_: Any, sides: Sides) -> float:
    return sides.base.accuracy


def _average_confidence(_: Any, sides: Sides) -> float:
    return float(sides.target.confidences.mean())


def _difference_of_confidences(_: Any, sides: Sides) -> float:
    return float(sides.base.confidences.mean() - sides.target.confidences.mean())


def _accuracy_less_difference(_: Any, sides: Sides) -> float:
    return sides.base.accuracy - _difference_of_confidences(_, sides)


def _share_above(threshold: float, _: Any, sides: Sides) -> float:
    return float((sides.target.confidences > threshold).mean())


SCORES = (
    Score(
        "base_accuracy", "Base Acc", (Need.BASE_LABELS,), Predicts.ACCURACY, 0, _base_accuracy,
        source="P1, section 5",
    ),
    Score(
        "ac", "AC", (), Predicts.ACCURACY, 1, with_spread(_average_confidence),
        source="P1, equation 5",
    ),
    Score(
        "doc", "DoC", (Need.BASE_LABELS,), Predicts.GAP, -1,
        with_spread(_difference_of_confidences),
        source="P1, equation 6",
    ),
    Score(
        "doc_feat", "DoC-Feat", (Need.BASE_LABELS,), Predicts.ACCURACY, 0,
        with_spread(_accuracy_less_difference),
        source="P1, Table 3: DoC with slope 1 and intercept 0",
    ),
    *(
        Score(
            f"prediction_score_{threshold}", f"Pred. score ({threshold})", (),
            Predicts.BY_REGRESSION, 1, with_spread(partial(_share_above, threshold)),
            source="P2, Table 2; a strict inequality (ours: P2 has no formula)",
        )
        for threshold in THRESHOLDS
    ),
)  # fmt: skip
