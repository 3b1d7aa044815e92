"""Logistic regression on frozen features, its penalty tuned on datapoints of their own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STRENGTHS = tuple(10.0**power for power in range(-4, 3))  # scikit-learn's C
_MAX_ITER = 1000


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardisation of features."""

    mean: Floats
    deviation: Floats

    def apply(self, features: npt.NDArray[Any]) -> Floats:
        """Return standardised features."""
        scaled: Floats = features - self.mean
        scaled /= self.deviation
        return scaled


def fit_scaling(features: npt.NDArray[Any]) -> Scaling:
    """Compute mean and standard deviation of features."""
    deviation = features.std(axis=0, dtype=np.float64)
    return Scaling(features.mean(axis=0, dtype=np.float64), np.where(deviation > 0, deviation, 1.0))


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """A linear classifier of standardised features."""

    scaling: Scaling
    weights: Floats
    intercepts: Floats
    strength: float

    def decide(self, features: npt.NDArray[Any]) -> Floats:
        """Return log-odds of class 1, shape (n,), or logits of all classes, shape (n, k)."""
        logits: Floats = self.scaling.apply(features) @ self.weights + self.intercepts
        return logits[:, 0] if logits.shape[1] == 1 else logits


def fit_linear(
    train: tuple[npt.NDArray[Any], npt.NDArray[np.int64]],
    tune: tuple[npt.NDArray[Any], npt.NDArray[np.int64]],
    *,
    balanced: bool = False,
) -> LinearClassifier:
    """Fit a logistic regression with an L2 penalty on standardised features."""
    from sklearn.linear_model import LogisticRegression

    scaling = fit_scaling(train[0])
    scaled, unseen = scaling.apply(train[0]), scaling.apply(tune[0])
    # Every fit starts from that with the next stronger penalty.
    model = LogisticRegression(
        warm_start=True, max_iter=_MAX_ITER, class_weight="balanced" if balanced else None
    )
    best, lowest = None, np.inf
    for strength in STRENGTHS:
        model.set_params(C=strength).fit(scaled, train[1])
        error = error_rate(tune[1], model.predict(unseen), balanced=balanced)
        if error < lowest:
            lowest = error
            best = LinearClassifier(
                scaling, model.coef_.T.copy(), model.intercept_.copy(), strength
            )
    assert best is not None
    return best


def error_rate(
    classes: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64], *, balanced: bool = False
) -> float:
    """Return the share of wrong predictions."""
    wrong = classes != predicted
    if not balanced:
        return float(wrong.mean())
    return float(np.mean([wrong[classes == one].mean() for one in np.unique(classes)]))


def cut_in_three(n: int, seed: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Cut positions at random into 40 % to train on, 10 % to tune on and 50 % to report on."""
    order = np.random.default_rng((seed, n)).permutation(n)
    train, tune = round(0.4 * n), round(0.1 * n)
    return tuple(np.sort(part) for part in np.split(order, (train, train + tune)))
