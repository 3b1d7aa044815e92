"""What a model gives on a dataset, as far as it is on file: all that scores are computed from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.outputs.moments import (
    Moments,
    moments_of_features,
    moments_of_statistics,
)
from matcheval.inference.statistics import FeatureStatistics

Floats = npt.NDArray[np.float64]
Classes = npt.NDArray[np.int64]
Predictions = npt.NDArray[np.integer]  # predicted classes, fastest in a narrow dtype

_BLOCK = 1 << 22  # probabilities whose entropies are computed at a time, 32 MiB


class Members(StrEnum):
    """How the probability of a class follows from those of the classes that it groups."""

    MAX = "max"
    MEAN = "mean"
    SUM = "sum"


@dataclass(frozen=True)
class ClassRule:
    """Which classes of the base count on a set, and how the prediction is made from them."""

    columns: tuple[tuple[int, ...], ...] = ()
    renormalise: bool = False
    restrict_argmax: bool = True
    members: Members = Members.MAX


@dataclass(frozen=True, eq=False)
class Outputs:
    """One model's outputs on the datapoints of one dataset, in dataset order.

    What is not on file is None; scores that need it are not available then. `subsets.restrict`
    cuts outputs to the classes of a rule; what an attribute is then follows "Cut:".

    Attributes
    ----------
    labels : int64 array, shape (n,) or (n, n_labels), or None
        True classes of the base's label space, from 0; -1 for a class that the base does not have,
        and after the last label of a datapoint that has fewer than others. Cut: positions in
        `rule.columns`.
    predicted : int64 array, shape (n,)
        Predicted classes: the argmax over all classes. Cut: positions in `rule.columns`; a class
        of the base that does not count has its number plus the number of positions.
    confidences : float64 array, shape (n,)
        Probability of the predicted class. Cut: largest probability of the classes that count.
    logits : float array, shape (n, n_classes), or None
        Computed with in float64, whatever is stored. Cut: still those of all classes.
    probabilities : float64 array, shape (n, n_classes), or None
        The softmax of the logits, or as given where there are no logits. Cut: a column for every
        member of `rule.columns`, in that order.
    features : float32 array, shape (n, n_features), or None
        Input of the last linear layer.
    statistics : FeatureStatistics or None
        Mean and covariance of the features of all datapoints, and those of all probabilities.
    orientations : float32 array, shape (n, 4, 4), or None
        For each image turned counter-clockwise by 0, 90, 180 and 270 degrees the logits of these
        orientations, from a classifier of features (see `scores.rotation`).
    rule : ClassRule
        What the outputs were cut to.
    index : int array, shape (n,), or None
        Positions of the datapoints in the dataset; None if they are not known.
    """

    labels: Classes | None
    predicted: Classes
    confidences: Floats
    logits: npt.NDArray[np.float32] | Floats | None = None
    probabilities: Floats | None = None
    features: npt.NDArray[np.float32] | None = None
    statistics: FeatureStatistics | None = None
    orientations: npt.NDArray[np.float32] | None = None
    rule: ClassRule = ClassRule()
    index: npt.NDArray[np.integer] | None = None

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.predicted)

    @cached_property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether the prediction equals the label, shape (n,); the labels have to be known."""
        assert self.labels is not None
        if self.labels.ndim == 1:
            return np.equal(self.predicted, self.labels)
        among: npt.NDArray[np.bool_] = (self.predicted[:, None] == self.labels).any(axis=1)
        return among

    @cached_property
    def entropies(self) -> Floats:
        """Entropies -Σ p log p over the classes that count, in nats, shape (n,); 0 log 0 is 0."""
        from scipy.special import entr

        assert self.probabilities is not None
        found = np.empty(len(self))
        rows = max(1, _BLOCK // max(1, self.probabilities.shape[1]))
        for start in range(0, len(self), rows):
            found[start : start + rows] = entr(self.probabilities[start : start + rows]).sum(axis=1)
        return found

    @property
    def accuracy(self) -> float:
        """Share of correct predictions; NaN where labels are unknown or there are no datapoints."""
        known = self.labels is not None and len(self)
        return float(self.correct.mean()) if known else float("nan")

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of the features; None if neither they nor statistics are known."""
        if self.features is not None:
            return moments_of_features(self.features) if len(self) else None
        return None if self.statistics is None else moments_of_statistics(self.statistics)

    def rows(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "Outputs":
        """Return the outputs on some of the datapoints.

        Parameters
        ----------
        chosen : bool array, shape (n,), or int64 array
            Rows. Statistics are dropped: they are those of all datapoints.
        """

        def cut(array: npt.NDArray[Any] | None) -> Any:
            return None if array is None else array[chosen]

        found = replace(
            self, labels=cut(self.labels), predicted=self.predicted[chosen],
            confidences=self.confidences[chosen], logits=cut(self.logits),
            probabilities=cut(self.probabilities), features=cut(self.features), statistics=None,
            orientations=cut(self.orientations), index=cut(self.index),
        )  # fmt: skip
        # What was computed of every datapoint is kept: entropies of 1,000 classes take long.
        for name in ("correct", "entropies"):
            if name in self.__dict__:
                found.__dict__[name] = self.__dict__[name][chosen]
        return found


def softmax(logits: npt.NDArray[Any], temperature: float = 1.0) -> Floats:
    """Compute the softmax over classes in float64, the maximum subtracted."""
    wide: Floats = np.array(logits, np.float64, order="C")
    wide -= wide.max(axis=1, keepdims=True)
    wide /= temperature
    np.exp(wide, out=wide)
    wide /= wide.sum(axis=1, keepdims=True)
    return wide


def from_logits(
    logits: npt.NDArray[Any], labels: Sequence[int] | Classes | None = None, **others: object
) -> Outputs:
    """Return the outputs of a model of which the logits are known."""
    probabilities = softmax(logits)
    return Outputs(
        labels=None if labels is None else np.asarray(labels, np.int64),
        predicted=np.asarray(logits).argmax(axis=1),
        confidences=probabilities.max(axis=1),
        logits=logits,
        probabilities=probabilities,
        **others,  # type: ignore[arg-type]
    )
