"""Average confidence after temperature scaling: one temperature, fitted on the base."""

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.outputs.model_outputs import Classes, Floats
from matcheval.accuracy_prediction.outputs.subsets import class_probabilities, largest_probability
from matcheval.accuracy_prediction.scores.score import Need, Predicts, Score, Sides, Sources

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


SCORES = (
    Score(
        "ac_temperature", "AC TempScaling", (Need.BASE_LABELS, Need.LOGITS), Predicts.ACCURACY, 1,
        _scaled_confidence, _fit, source="P1, with Guo et al. (2017)",
    ),
)  # fmt: skip
