"""Small prediction sets for tests."""

import numpy as np

from matcheval.predictions.records import Predictions, check_predictions


def predictions(probability, prediction=None, label=None, **further) -> Predictions:
    """A prediction set; predictions default to class 0 and labels to the predictions."""
    probability = np.asarray(probability, dtype=np.float64)
    prediction = np.zeros(len(probability), int) if prediction is None else np.asarray(prediction)
    label = prediction if label is None else np.asarray(label)
    return check_predictions(
        {"label": label, "prediction": prediction, "probability": probability, **further}
    )


def simulate(n, n_classes, seed, *, accuracy=0.9, label=None) -> Predictions:
    """Predictions as of a confident classifier: many probabilities near, and at, 1."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_classes, n) if label is None else label
    wrong = rng.random(n) > accuracy
    prediction = np.where(wrong, rng.integers(0, n_classes, n), label)
    logit = rng.normal(np.where(wrong, 1.0, 4.0), 2.5)
    probability = 1 / n_classes + (1 - 1 / n_classes) / (1 + np.exp(-logit))
    probability = np.where(rng.random(n) < 0.2, 1.0, probability)
    return predictions(probability, prediction, label)
