"""Average thresholded confidence (ATC), and the nuclear norm of the matrix of probabilities.

ATC is the share of datapoints as confident as a threshold, chosen on the base so that the share is
the accuracy there. ATC-MC thresholds the largest probability, ATC-NE the negative entropy. Two
publications' code computes something else; both are variants with names of their own, for
comparisons with their numbers:

- `garg_code` (ATC_helper.py of Garg et al.): one order statistic too low, so that it predicts 1/n
  too much on its own source; without errors on the source the threshold is 0, below all
  confidences (as it should be) but above all negative entropies, and ATC-NE predicts 0.
- `autoeval_baselines` (atc.py of CIFAR-10-Warehouse's baselines): of negative entropies, although
  P2 names MC; the threshold is the quantile of the accuracy instead of the error, and the share of
  those *below* is returned. It is another statistic than ATC and no estimate of an accuracy; it
  falls as accuracy rises; with a source accuracy of 1 it is undefined (its code stops).
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from matcheval.accuracy_prediction.scores.outputs import Floats, Outputs
from matcheval.accuracy_prediction.scores.score import Need, Noted, Predicts, Scores, Sides

SCORES = Scores()


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


_Of = Callable[[Outputs], Floats]
_Choose = Callable[[Floats, int], float]


def _limit(of: _Of, choose: _Choose, base: Outputs) -> float:
    return choose(of(base), int((~base.correct).sum()))


def _share_at_least(of: _Of, choose: _Choose, sides: Sides) -> float:
    found = float((of(sides.target) >= _limit(of, choose, sides.base)).mean())
    return Noted(found, NO_THRESHOLD * (sides.base.accuracy in (0, 1)))


NO_THRESHOLD = "all of the base is right, or all wrong: no threshold"
_NEEDS = (Need.BASE_LABELS, Need.PROBABILITIES)
_HELPER = "ATC_helper.py published with Garg et al. (2022)"
for _variant, _choose, _sources in (
    ("", threshold, ("Garg et al. (2022); P2", "Garg et al. (2022)")),
    ("garg_code", garg_threshold, (_HELPER, _HELPER)),
):
    for _of, _name, _n_needs, _source in (
        (_confidences, "MC", 1, _sources[0]), (_negative_entropies, "NE", 2, _sources[1]),
    ):  # fmt: skip
        SCORES.add(
            f"atc_{_name.lower()}", f"ATC-{_name}", Predicts.ACCURACY, 1, variant=_variant,
            needs=_NEEDS[:_n_needs], source=_source, of_confidences=True,
        )(partial(_share_at_least, _of, _choose))  # fmt: skip


@SCORES.add(
    "atc_ne", "ATC-NE", Predicts.BY_REGRESSION, -1, variant="autoeval_baselines", needs=_NEEDS,
    source="atc.py of the baselines that P2 refers to", of_confidences=True,
)  # fmt: skip
def share_below(sides: Sides) -> float:
    """Return the share of negative entropies below the baselines' threshold; NaN without errors."""
    limit = _limit(_negative_entropies, accuracy_quantile, sides.base)
    below = float((_negative_entropies(sides.target) < limit).mean())
    return np.nan if np.isnan(limit) else below


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


@SCORES.add(
    "nuclear_norm", "Nuclear norm", Predicts.BY_REGRESSION, 1, needs=(Need.GRAM,),
    source="P2; Deng et al. (2023)",
)  # fmt: skip
def nuclear_norm_of_target(sides: Sides) -> float:
    """Compute the norm on the target: confident and evenly spread predictions raise it."""
    target = sides.target
    if target.probabilities is not None:
        return nuclear_norm(target.probabilities)
    assert target.statistics is not None
    gram = target.statistics.softmax_gram * target.statistics.n
    return _from_gram(gram, target.statistics.n, len(gram))
