"""Average thresholded confidence (ATC): the share of datapoints as confident as a threshold.

The threshold is chosen on the base so that the share is the accuracy there. ATC-MC thresholds the
largest probability, ATC-NE the negative entropy. Two publications' code computes something else;
both are variants with names of their own, for comparisons with their numbers:

- `garg_code` (ATC_helper.py of Garg et al.): one order statistic too low, so that it predicts 1/n
  too much on its own source; without errors on the source the threshold is 0, below all
  confidences (as it should be) but above all negative entropies, and ATC-NE predicts 0.
- `autoeval_baselines` (atc.py of CIFAR-10-Warehouse's baselines): of negative entropies, although
  P2 names MC; the threshold is the quantile of the accuracy instead of the error, and the share of
  those *below* is returned. It is another statistic than ATC and no estimate of an accuracy; it
  falls as accuracy rises; with a source accuracy of 1 it is undefined (its code stops).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from matcheval.accuracy_prediction.scores.outputs import FloatsModelOutputs as Floats
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.accuracy_prediction.scores.score import Need, Predicts, Score, Sides, with_spread

Confidence = Callable[[Outputs], Floats]


def threshold(scores: Floats, errors: int) -> float:
    """Choose the threshold that leaves as many scores below it as there are errors."""
    if errors == 0:
        return -np.inf
    return np.inf if errors == len(scores) else _order_statistic(scores, errors)


def garg_threshold(scores: Floats, errors: int) -> float:
    """Choose the threshold as the code published with ATC does; see the module's docstring."""
    return 0.0 if errors == 0 else _order_statistic(scores, errors - 1)


def accuracy_quantile(scores: Floats, errors: int) -> float:
    """Choose the threshold as CIFAR-10-Warehouse's baselines do; see the module's docstring."""
    return np.nan if errors == 0 else _order_statistic(scores, len(scores) - errors)


def _order_statistic(scores: Floats, k: int) -> float:
    return float(np.partition(scores, k)[k])


def _confidences(outputs: Outputs) -> Floats:
    return outputs.confidences


def _negative_entropies(outputs: Outputs) -> Floats:
    return -outputs.entropies


def _atc(of: Confidence, choose: Callable[[Floats, int], float]) -> Callable[[Any, Sides], float]:
    def compute(_: Any, sides: Sides) -> float:
        wrong = int((~sides.base.correct).sum())
        return float((of(sides.target) >= choose(of(sides.base), wrong)).mean())

    return with_spread(compute)


def _share_below(_: Any, sides: Sides) -> float:
    wrong = int((~sides.base.correct).sum())
    limit = accuracy_quantile(_negative_entropies(sides.base), wrong)
    if np.isnan(limit):
        return np.nan
    return float((_negative_entropies(sides.target) < limit).mean())


_MC, _NE = (Need.BASE_LABELS,), (Need.BASE_LABELS, Need.PROBABILITIES)

SCORES = (
    Score(
        "atc_mc", "ATC-MC", _MC, Predicts.ACCURACY, 1, _atc(_confidences, threshold),
        source="Garg et al. (2022); P2",
    ),
    Score(
        "atc_ne", "ATC-NE", _NE, Predicts.ACCURACY, 1, _atc(_negative_entropies, threshold),
        source="Garg et al. (2022)",
    ),
    Score(
        "atc_mc", "ATC-MC", _MC, Predicts.ACCURACY, 1, _atc(_confidences, garg_threshold),
        variant="garg_code", source="ATC_helper.py published with Garg et al. (2022)",
    ),
    Score(
        "atc_ne", "ATC-NE", _NE, Predicts.ACCURACY, 1, _atc(_negative_entropies, garg_threshold),
        variant="garg_code", source="ATC_helper.py published with Garg et al. (2022)",
    ),
    Score(
        "atc_ne", "ATC-NE", _NE, Predicts.BY_REGRESSION, -1,
        with_spread(_share_below),
        variant="autoeval_baselines", source="atc.py of the baselines that P2 refers to",
    ),
)  # fmt: skip


def nuclear_norm(probabilities: Floats) -> float:
    """Compute the normalised nuclear norm of a matrix P of probabilities."""
    n, n_classes = probabilities.shape
    p = probabilities if n >= n_classes else probabilities.T  # the smaller of the two products
    return _from_gram(p.T @ p, n, n_classes)


def _from_gram(gram: Floats, n: int, n_classes: int) -> float:
    """Compute the norm from Pᵀ P or P Pᵀ."""
    eigenvalues = np.linalg.eigvalsh(gram)
    floor = len(gram) * np.finfo(np.float64).eps * eigenvalues[-1]
    singular = np.sqrt(eigenvalues[eigenvalues > floor])
    return float(singular.sum() / np.sqrt(min(n, n_classes) * n))


def _of_outputs(outputs: Outputs) -> float:
    if outputs.probabilities is not None:
        return nuclear_norm(outputs.probabilities)
    # Statistics of a forward pass: products of the softmax in single precision, summed in double.
    assert outputs.statistics is not None
    statistics = outputs.statistics
    gram = statistics.softmax_gram * statistics.n
    return _from_gram(gram, statistics.n, len(gram))


def _compute(_: Any, sides: Sides) -> float:
    return _of_outputs(sides.target)


SCORES_NUCLEAR_NORM = (
    Score(
        "nuclear_norm", "Nuclear norm", (Need.GRAM,), Predicts.BY_REGRESSION, 1, _compute,
        source="P2; Deng et al. (2023)",
    ),
)  # fmt: skip
