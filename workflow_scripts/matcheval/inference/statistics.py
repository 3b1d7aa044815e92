"""Statistics of a forward pass that are kept instead of its features.

Batches are merged in float64 by the pairwise update of Chan, Golub & LeVeque (1983), which avoids
the cancellation that plain sums of squares suffer from.
"""

import json
import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.io.files import readable
from matcheval.io.self_digests import DAMAGED, verify_file

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureStatistics:
    """Statistics of one model's pass over one dataset: of features, and of the softmax P."""

    n: int
    feature_mean: Array
    feature_covariance: Array
    softmax_mean: Array
    softmax_gram: Array


class RunningStatistics:
    """Accumulate statistics over rows; the memory does not depend on their number."""

    def __init__(self) -> None:
        self._n = 0

    def add(self, features: npt.NDArray[np.float32], softmax: Array) -> None:
        """Add datapoints."""
        wide, p = features.astype(np.float64), softmax
        mean = wide.mean(axis=0)
        wide -= mean
        if self._n == 0:
            self._mean = np.zeros_like(mean)
            self._scatter = np.zeros((len(mean), len(mean)))
            self._p_sum = np.zeros(p.shape[1])
            self._gram = np.zeros((p.shape[1], p.shape[1]))
        total = self._n + len(wide)
        shift = mean - self._mean
        self._scatter += wide.T @ wide
        self._scatter += np.outer(shift, shift) * (self._n * len(wide) / total)
        self._mean = self._mean + shift * (len(wide) / total)
        self._p_sum += p.sum(axis=0)
        self._gram += p.T @ p
        self._n = total

    def result(self) -> FeatureStatistics:
        """Return the statistics of all rows so far, at least one."""
        denominator = self._n - 1 if self._n > 1 else np.nan
        covariance, p_mean = self._scatter / denominator, self._p_sum / self._n
        return FeatureStatistics(self._n, self._mean, covariance, p_mean, self._gram / self._n)


def read_statistics(path: str | os.PathLike[str]) -> tuple[FeatureStatistics, dict[str, str]]:
    """Read a file of statistics and its provenance."""
    with readable(path, "a readable file of statistics", KeyError, EOFError, remedy=DAMAGED):
        verify_file(path)
        with np.load(path, allow_pickle=False) as archive:
            metadata = dict(json.loads(str(archive["metadata"])))
            names = ("feature_mean", "feature_covariance", "softmax_mean", "softmax_gram")
            found = FeatureStatistics(int(archive["n"]), *(archive[name] for name in names))
    return found, metadata
