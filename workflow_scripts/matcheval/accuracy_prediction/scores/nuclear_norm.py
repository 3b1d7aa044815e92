"""Nuclear norm of the matrix of probabilities: confident and evenly spread predictions raise it."""

from typing import Any

import numpy as np

from matcheval.accuracy_prediction.outputs.model_outputs import Floats, Outputs
from matcheval.accuracy_prediction.scores.score import Need, Predicts, Score, Sides


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


SCORES = (
    Score(
        "nuclear_norm", "Nuclear norm", (Need.GRAM,), Predicts.BY_REGRESSION, 1, _compute,
        source="P2; Deng et al. (2023)",
    ),
)  # fmt: skip
