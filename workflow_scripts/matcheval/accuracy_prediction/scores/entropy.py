"""Scores of entropies, in nats, over the classes that count and without normalising again."""

from typing import Any

from matcheval.accuracy_prediction.scores.score import Need, Predicts, Score, Sides


def _mean_entropy(_: Any, sides: Sides) -> float:
    return float(sides.target.entropies.mean())


def _difference_of_entropies(_: Any, sides: Sides) -> float:
    return float(sides.base.entropies.mean() - sides.target.entropies.mean())


SCORES = (
    Score(
        "doe", "DoE", (Need.BASE_LABELS, Need.PROBABILITIES), Predicts.GAP, 1,
        _difference_of_entropies, source="P1, equation 7",
    ),
    Score(
        "entropy", "Entropy", (Need.PROBABILITIES,), Predicts.BY_REGRESSION, -1, _mean_entropy,
        source="P2",
    ),
)  # fmt: skip
