"""How often two models predict the same class: the loop behind `agreement`."""

import numpy as np

from matcheval.accuracy_prediction.outputs.model_outputs import Classes, Predictions
from matcheval.jit import compiled


@compiled()
def equal_counts(first: Predictions, second: Predictions, symmetric: bool) -> Classes:
    """Count equal predictions of each model of `first` and each of `second`."""
    counts = np.empty((len(first), len(second)), np.int64)
    for i in range(len(first)):
        for j in range(i if symmetric else 0, len(second)):
            count = np.int32(0)  # narrow, so that more comparisons fit into a vector register
            for k in range(first.shape[1]):
                count += np.int32(first[i, k] == second[j, k])
            counts[i, j] = count
            if symmetric:
                counts[j, i] = count
    return counts
