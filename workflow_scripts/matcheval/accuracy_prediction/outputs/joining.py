"""Outputs on several sets as those on one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from matcheval.accuracy_prediction.outputs.model_outputs import Outputs
from matcheval.inference.statistics import FeatureStatistics


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Return the outputs of a model on all datapoints of several sets, one set after the other."""
    if len(parts) == 1:
        return parts[0]

    def together(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if any(array is None for array in arrays) else np.concatenate(arrays)

    known = [part.statistics for part in parts if part.statistics is not None]
    return Outputs(
        labels=together("labels"), predicted=together("predicted"),
        confidences=together("confidences"), logits=together("logits"),
        probabilities=together("probabilities"), features=together("features"),
        statistics=pooled(known) if len(known) == len(parts) else None,
    )  # fmt: skip


def pooled(parts: Sequence[FeatureStatistics]) -> FeatureStatistics:
    """Return the statistics of all datapoints of several sets."""
    n = np.array([part.n for part in parts], np.float64)

    def mean_of(name: str) -> Any:
        values = np.stack([getattr(part, name) for part in parts])
        return np.tensordot(n, values, axes=1) / n.sum()

    mean = mean_of("feature_mean")
    scatter = np.zeros((len(mean), len(mean)))
    for part in parts:
        shift = part.feature_mean - mean
        scatter += part.n * np.outer(shift, shift)
        if part.n > 1:  # a single datapoint has no covariance
            scatter += (part.n - 1) * part.feature_covariance
    return FeatureStatistics(
        int(n.sum()), mean, scatter / (n.sum() - 1), mean_of("softmax_mean"),
        mean_of("softmax_gram"),
    )  # fmt: skip
