"""Scores of confidences and entropies, over the classes that count and not normalised again.

A confidence is the largest probability of a class that counts, an entropy is in nats.

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

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from numpy.polynomial.chebyshev import chebder, chebfit, chebpts1, chebval

from matcheval.accuracy_prediction.scores import outputs
from matcheval.accuracy_prediction.scores.outputs import Classes, Floats, Outputs
from matcheval.accuracy_prediction.scores.score import Data, Noted, Predicts, Scores, Sides, Sources
from matcheval.io.terminal import tracked

SCORES = Scores()
THRESHOLDS = (0.7, 0.8, 0.9)  # P2, Table 2
BRACKET = (0.05, 50.0)
_BLOCK = 1 << 20  # logits in work at a time, 8 MiB: what fits into a processor's cache
_REACH = 0.1  # of log temperatures of resamples, around that of the data, to begin with
_SMOOTH = 0.5  # losses are analytic in the log temperature up to this imaginary part
_LABELS = (Data.BASE_LABELS,)


@SCORES.add(
    "base_accuracy", "Base Acc", Predicts.ACCURACY, 0, needs=_LABELS, source="P1, section 5"
)
def base_accuracy(sides: Sides) -> float:
    """Return the accuracy on the base."""
    return sides.base.accuracy


@SCORES.add("ac", "AC", Predicts.ACCURACY, 1, source="P1, equation 5", of_confidences=True)
def average_confidence(sides: Sides) -> float:
    """Return the mean confidence on the target."""
    return float(sides.target.confidences.mean())


@SCORES.add(
    "doc", "DoC", Predicts.GAP, -1, needs=_LABELS, source="P1, equation 6", of_confidences=True
)  # fmt: skip
def difference_of_confidences(sides: Sides) -> float:
    """Return the mean confidence on the base minus that on the target (DoC)."""
    return float(sides.base.confidences.mean() - sides.target.confidences.mean())


@SCORES.add(
    "doc_feat", "DoC-Feat", Predicts.ACCURACY, 0, needs=_LABELS, of_confidences=True,
    source="P1, Table 3: DoC with slope 1 and intercept 0",
)  # fmt: skip
def accuracy_less_difference(sides: Sides) -> float:
    """Return the accuracy on the base minus the difference of confidences (DoC)."""
    return sides.base.accuracy - difference_of_confidences(sides)


def share_above(threshold: float, sides: Sides) -> float:
    """Return the share of the target's confidences that exceed a threshold."""
    return float((sides.target.confidences > threshold).mean())


for _threshold in THRESHOLDS:
    SCORES.add(
        f"prediction_score_{_threshold}", f"Pred. score ({_threshold})", Predicts.BY_REGRESSION, 1,
        source="P2, Table 2; a strict inequality (ours: P2 has no formula)", of_confidences=True,
    )(partial(share_above, _threshold))  # fmt: skip


def fit_temperature(logits: npt.NDArray[np.float32] | Floats, labels: Classes) -> float:
    """Fit the temperature of the softmax by maximum likelihood (Guo et al. 2017, section 4.2).

    The likelihood is log-concave in 1 / temperature, so that there is one optimum in `BRACKET`. If
    all predictions are correct, it is the lower end.
    """
    from scipy.optimize import minimize_scalar

    optimum = minimize_scalar(
        lambda log: mean_loss(logits, labels, float(np.exp(log))),
        bounds=tuple(np.log(BRACKET)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(optimum.x))


def mean_loss(
    logits: npt.NDArray[np.float32] | Floats, labels: Classes, temperature: float
) -> float:
    """Compute the mean negative log-likelihood of labels at a temperature, in nats."""
    total = 0.0
    rows = max(1, _BLOCK // logits.shape[1])
    for start in range(0, len(logits), rows):
        wide = logits[start : start + rows].astype(np.float64)
        indices, top = np.arange(len(wide)), wide.argmax(axis=1)
        wide -= wide[indices, top][:, None]
        wide /= temperature
        true = wide[indices, labels[start : start + rows]].sum()
        np.exp(wide, out=wide)
        wide[indices, top] = 0  # not 1 with a logarithm below, which loses the smallest losses
        total += float(np.log1p(wide.sum(axis=1)).sum() - true)
    return total / len(logits)


# Losses and confidences are smooth in the logarithm of the temperature: polynomials through their
# values at a few temperatures give those of all resamples at any other, without further passes over
# the logits.
Draws = Callable[[], Iterable[Classes]]  # the rows of each resample


def resampled_temperatures(
    logits: npt.NDArray[np.float32] | Floats, labels: Classes, draws: Draws, near: float,
    *, progress: bool = False,
) -> Floats:  # fmt: skip
    """Return the log temperature fitted to each bootstrap resample, searched for around `near`."""
    first, last = np.log(BRACKET)
    reach, is_inside = _REACH, False
    while not is_inside:
        low, high = max(first, near - reach), min(last, near + reach)
        losses = _resampled_means(logits, labels, draws, low, high, progress, lambda loss: loss)
        slopes = chebder(losses)
        is_inside = (low == first or bool((chebval(-1.0, slopes) < 0).all())) and (
            high == last or bool((chebval(1.0, slopes) > 0).all())
        )
        reach *= 4
    left, right = -np.ones(slopes.shape[1]), np.ones(slopes.shape[1])
    for _ in range(50):
        middle = (left + right) / 2
        rises = chebval(middle, slopes, tensor=False) > 0
        left, right = np.where(rises, left, middle), np.where(rises, middle, right)
    return np.asarray(low + (left + 1) / 2 * (high - low))


def resampled_confidences(
    logits: npt.NDArray[np.float32] | Floats, draws: Draws, temperatures: Floats,
    *, progress: bool = False,
) -> Floats:  # fmt: skip
    """Return the mean confidence of each resample at its own temperature, given as a logarithm."""
    low, high = temperatures.min() - 1e-3, temperatures.max() + 1e-3
    predicted = logits.argmax(axis=1)
    means = _resampled_means(logits, predicted, draws, low, high, progress, lambda x: np.exp(-x))
    positions = 2 * (temperatures - low) / (high - low) - 1
    return np.asarray(chebval(positions, means, tensor=False))


def _resampled_means(
    logits: npt.NDArray[Any], classes: Classes, draws: Draws, low: float, high: float,
    progress: bool, function: Callable[[Floats], Floats],
) -> Floats:  # fmt: skip
    """Return each resample's mean of a function of the loss, as a series in the log temperature.

    The result is Chebyshev coefficients between `low` and `high`, shape (n_points, n_resamples).
    """
    # Coefficients fall by the half axes of the ellipse in which the function is analytic.
    n_points = int(np.ceil(20 / np.log1p(2 * _SMOOTH / (high - low))))
    points = chebpts1(n_points)
    inverse = np.exp(-(low + (points + 1) / 2 * (high - low)))
    values = np.empty((len(logits), n_points))
    rows = max(1, _BLOCK // logits.shape[1])
    for start in tracked(range(0, len(logits), rows), "temperatures", progress=progress):
        part = slice(start, start + rows)
        wide = logits[part].astype(np.float64)
        indices, top = np.arange(len(wide)), wide.argmax(axis=1)
        wide -= wide[indices, top][:, None]
        true = wide[indices, classes[part]]
        wide[indices, top] = -np.inf  # its 1 is added by the logarithm
        scaled = np.empty_like(wide)
        for k, factor in enumerate(inverse):
            np.exp(np.multiply(wide, factor, out=scaled), out=scaled)
            values[part, k] = function(np.log1p(scaled.sum(axis=1)) - factor * true)
    n = len(values)
    means = [np.bincount(chosen, minlength=n) @ values / n for chosen in draws()]
    return np.asarray(chebfit(points, np.stack(means, axis=1), n_points - 1))


_TEMPERATURES = WeakKeyDictionary[outputs.Outputs, float]()  # while a base is in use


def temperature_of_base(sources: Sources) -> float:
    """Return the temperature fitted to the base; it is fitted once and shared by all scores."""
    base = sources.base
    if base not in _TEMPERATURES:
        assert base.logits is not None
        assert base.labels is not None
        _TEMPERATURES[base] = fit_temperature(base.logits, base.labels)
    return _TEMPERATURES[base]


@SCORES.add(
    "ac_temperature", "AC TempScaling", Predicts.ACCURACY, 1,
    needs=(Data.BASE_LABELS, Data.LOGITS), fit=temperature_of_base,
    source="P1, with Guo et al. (2017)",
)  # fmt: skip
def scaled_confidence(sides: Sides, temperature: float) -> float:
    """Return the mean confidence on the target after temperature scaling."""
    target = sides.target
    assert target.logits is not None
    scaled = outputs.class_probabilities(target.logits, target.rule, temperature)
    return float(scaled.max(axis=1).mean())


@SCORES.add(
    "doe", "DoE", Predicts.GAP, 1, needs=(Data.BASE_LABELS, Data.PROBABILITIES),
    source="P1, equation 7",
)  # fmt: skip
def difference_of_entropies(sides: Sides) -> float:
    """Return the mean entropy on the base minus that on the target."""
    return float(sides.base.entropies.mean() - sides.target.entropies.mean())


@SCORES.add(
    "entropy", "Entropy", Predicts.BY_REGRESSION, -1, needs=(Data.PROBABILITIES,), source="P2"
)  # fmt: skip
def mean_entropy(sides: Sides) -> float:
    """Return the mean entropy on the target."""
    return float(sides.target.entropies.mean())


# --- ATC (Garg et al. 2022)

ATC = Scores()


def threshold(scores: Floats, errors: int) -> float:
    """Return ATC's threshold: as many scores are below it as there are errors."""
    if errors == 0:
        return -np.inf
    return np.inf if errors == len(scores) else _order_statistic(scores, errors)


def garg_threshold(scores: Floats, errors: int) -> float:
    """Return the threshold of ATC's published code: one order statistic lower, 0 without errors."""
    return 0.0 if errors == 0 else _order_statistic(scores, errors - 1)


def accuracy_quantile(scores: Floats, errors: int) -> float:
    """Return the quantile of the scores at the accuracy, as CIFAR-10-Warehouse's baselines do."""
    return np.nan if errors == 0 else _order_statistic(scores, len(scores) - errors)


def _order_statistic(scores: Floats, k: int) -> float:
    """Return the k-th smallest score, counted from 0."""
    return float(np.partition(scores, k)[k])


def _confidences(outputs: Outputs) -> Floats:
    return outputs.confidences


def _negative_entropies(outputs: Outputs) -> Floats:
    return -outputs.entropies


_ScoreOf = Callable[[Outputs], Floats]
_Choose = Callable[[Floats, int], float]


def _base_threshold(score_of: _ScoreOf, choose: _Choose, base: Outputs) -> float:
    """Choose the threshold from the scores and the number of errors on the base."""
    return choose(score_of(base), int((~base.correct).sum()))


def _share_above_base_threshold(score_of: _ScoreOf, choose: _Choose, sides: Sides) -> float:
    """Return ATC: the share of the target's scores that reach the threshold chosen on the base."""
    limit = _base_threshold(score_of, choose, sides.base)
    share = float((score_of(sides.target) >= limit).mean())
    return Noted(share, NO_THRESHOLD * (sides.base.accuracy in (0, 1)))


NO_THRESHOLD = "all of the base is right, or all wrong: no threshold"
_NEEDS = (Data.BASE_LABELS, Data.PROBABILITIES)
_HELPER = "ATC_helper.py published with Garg et al. (2022)"
for _variant, _choose, _sources in (
    ("", threshold, ("Garg et al. (2022); P2", "Garg et al. (2022)")),
    ("garg_code", garg_threshold, (_HELPER, _HELPER)),
):
    for _score_of, _name, _n_needs, _source in (
        (_confidences, "MC", 1, _sources[0]), (_negative_entropies, "NE", 2, _sources[1]),
    ):  # fmt: skip
        ATC.add(
            f"atc_{_name.lower()}", f"ATC-{_name}", Predicts.ACCURACY, 1, variant=_variant,
            needs=_NEEDS[:_n_needs], source=_source, of_confidences=True,
        )(partial(_share_above_base_threshold, _score_of, _choose))  # fmt: skip


@ATC.add(
    "atc_ne", "ATC-NE", Predicts.BY_REGRESSION, -1, variant="autoeval_baselines", needs=_NEEDS,
    source="atc.py of the baselines that P2 refers to", of_confidences=True,
)  # fmt: skip
def share_below(sides: Sides) -> float:
    """Return the share of the target's -entropies below the base's quantile; NaN without errors."""
    limit = _base_threshold(_negative_entropies, accuracy_quantile, sides.base)
    below = float((_negative_entropies(sides.target) < limit).mean())
    return np.nan if np.isnan(limit) else below
