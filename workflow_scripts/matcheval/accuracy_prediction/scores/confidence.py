"""Scores of confidences: means and shares of the largest probability of a class that counts."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import (
    Classes,
    class_probabilities,
    largest_probability,
)
from matcheval.accuracy_prediction.scores.outputs import FloatsModelOutputs as Floats
from matcheval.accuracy_prediction.scores.score import (
    Need,
    Predicts,
    Score,
    Sides,
    Sources,
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


BRACKET = (0.05, 50.0)
_BLOCK = 1 << 20  # logits in work at a time, 8 MiB: what fits into a processor's cache


def fit_temperature(logits: npt.NDArray[np.float32] | Floats, labels: Classes) -> float:
    """Fit the temperature of the softmax by maximum likelihood.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
    labels : int64 array, shape (n,)

    Returns
    -------
    float
        The temperature in `BRACKET` with the least mean negative log-likelihood, to a relative
        1e-6. The likelihood is log-concave in 1 / temperature, so that there is one optimum. If all
        predictions are correct, it is the lower end of the bracket.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, section 4.2.
    """
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log: mean_loss(logits, labels, float(np.exp(log))),
        bounds=tuple(np.log(BRACKET)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(found.x))


def mean_loss(
    logits: npt.NDArray[np.float32] | Floats, labels: Classes, temperature: float
) -> float:
    """Compute the mean negative log-likelihood of labels at a temperature, in nats."""
    total = 0.0
    rows = max(1, _BLOCK // logits.shape[1])
    for start in range(0, len(logits), rows):
        wide = logits[start : start + rows].astype(np.float64)
        each, top = np.arange(len(wide)), wide.argmax(axis=1)
        wide -= wide[each, top][:, None]
        wide /= temperature
        true = wide[each, labels[start : start + rows]].sum()
        np.exp(wide, out=wide)
        wide[each, top] = 0  # not 1 with a logarithm below, which loses the smallest losses
        total += float(np.log1p(wide.sum(axis=1)).sum() - true)
    return total / len(logits)


def _fit(sources: Sources) -> float:
    base = sources.base
    assert base.logits is not None
    assert base.labels is not None
    return fit_temperature(base.logits, base.labels)


def _scaled_confidence(temperature: float, sides: Sides) -> float:
    target = sides.target
    assert target.logits is not None
    scaled = class_probabilities(target.logits, target.rule, temperature)
    return float(largest_probability(scaled, target.rule).mean())


SCORES_TEMPERATURE = (
    Score(
        "ac_temperature", "AC TempScaling", (Need.BASE_LABELS, Need.LOGITS), Predicts.ACCURACY, 1,
        _scaled_confidence, _fit, source="P1, with Guo et al. (2017)",
    ),
)  # fmt: skip


def _mean_entropy(_: Any, sides: Sides) -> float:
    return float(sides.target.entropies.mean())


def _difference_of_entropies(_: Any, sides: Sides) -> float:
    return float(sides.base.entropies.mean() - sides.target.entropies.mean())


SCORES_ENTROPY = (
    Score(
        "doe", "DoE", (Need.BASE_LABELS, Need.PROBABILITIES), Predicts.GAP, 1,
        _difference_of_entropies, source="P1, equation 7",
    ),
    Score(
        "entropy", "Entropy", (Need.PROBABILITIES,), Predicts.BY_REGRESSION, -1, _mean_entropy,
        source="P2",
    ),
)  # fmt: skip
