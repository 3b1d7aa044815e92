"""What a model gives on a dataset, as far as it is on file: all that scores are computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError, listed, unknown_name_error
from matcheval.inference.outputs import FeatureStatistics
from matcheval.predictions.softmax import softmax

Floats = npt.NDArray[np.float64]

_ROWS = 8192  # converted to float64 at a time


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of features.

    With fewer datapoints than features, `deviations` is D, a row per datapoint, such that Dᵀ D is
    the covariance.
    """

    n: int
    mean: Floats
    covariance: Floats
    deviations: Floats | None = None

    @cached_property
    def root(self) -> Floats:
        """A matrix R, shape (n_features, rank), such that R Rᵀ is the covariance."""
        deviations, directions = self._principal
        return directions * deviations

    @property
    def whitening(self) -> Floats:
        """A matrix W of the same shape such that W Wᵀ is the (pseudo-)inverse covariance."""
        deviations, directions = self._principal
        return directions / deviations

    @cached_property
    def _principal(self) -> tuple[Floats, Floats]:
        """Standard deviations in the principal directions with a variance, and these directions."""
        values, vectors = np.linalg.eigh(self.covariance)
        kept = values > eigenvalue_floor(values)
        return np.sqrt(values[kept]), vectors[:, kept]


def moments_of_features(features: npt.NDArray[np.float32]) -> Moments:
    """Compute mean and covariance of features in float64, in two passes and bounded memory."""
    n, width = features.shape
    mean: Floats = features.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((width, width))
    for start in range(0, n, _ROWS):
        centred = features[start : start + _ROWS] - mean
        scatter += centred.T @ centred
    deviations = (features - mean) / np.sqrt(n - 1) if 1 < n < width else None
    return Moments(n, mean, scatter / (n - 1 if n > 1 else np.nan), deviations)


def eigenvalue_floor(values: npt.NDArray[Any]) -> float:
    """Return the threshold up to which eigenvalues are taken for rounding errors of zero."""
    return float(len(values) * np.finfo(np.float64).eps * values.max(initial=0.0))


Classes = npt.NDArray[np.int64]
Predictions = npt.NDArray[np.integer]  # predicted classes, fastest in a narrow dtype

_BLOCK = 1 << 22  # probabilities whose entropies are computed at a time, 32 MiB


# Attributes of `Outputs` that have a row per datapoint.
_BY_DATAPOINT = (
    "labels", "predicted", "confidences", "logits", "probabilities", "features", "orientations",
    "index",
)  # fmt: skip


@dataclass(frozen=True)
class ClassRule:
    """Which classes of the base count on a set, and how the prediction is made from them."""

    columns: tuple[tuple[int, ...], ...] = ()
    renormalise: bool = False
    restrict_argmax: bool = True

    @property
    def classes(self) -> Classes:
        """Indices of the classes that count, group after group."""
        return np.array([k for group in self.columns for k in group], np.int64)


@dataclass(frozen=True, eq=False)
class Outputs:
    """One model's outputs on the datapoints of one dataset, in dataset order.

    What is not on file is None; scores that need it are not available then. `restrict`
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
        For each image rotated counter-clockwise by 0, 90, 180 and 270 degrees the logits of these
        orientations, from a classifier of features (see `scores.features`).
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
        """Return the number of datapoints that the model predicted."""
        return len(self.predicted)

    @property
    def n_classes(self) -> int:
        """Number of classes that logits or else probabilities are of; 0 if neither are on file."""
        matrix = self.probabilities if self.logits is None else self.logits
        return 0 if matrix is None else int(matrix.shape[1])

    @property
    def label_rows(self) -> Classes:
        """The labels as a matrix, a column for each label of a datapoint; they have to be known."""
        assert self.labels is not None
        return self.labels if self.labels.ndim == 2 else self.labels[:, None]

    @cached_property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether each prediction is a label of its datapoint; the labels have to be known."""
        return np.asarray((self.predicted[:, None] == self.label_rows).any(axis=1))

    @cached_property
    def entropies(self) -> Floats:
        """Entropy -Σ p log p of each prediction over the scored classes, in nats, shape (n,)."""
        from scipy.special import entr

        assert self.probabilities is not None
        entropies = np.empty(len(self))
        rows = max(1, _BLOCK // max(1, self.probabilities.shape[1]))
        for start in range(0, len(self), rows):
            part = slice(start, start + rows)
            entropies[part] = entr(self.probabilities[part]).sum(axis=1)
        return entropies

    @property
    def accuracy(self) -> float:
        """Accuracy, a fraction; NaN if the labels are unknown or the set is empty."""
        is_known = self.labels is not None and len(self)
        return float(self.correct.mean()) if is_known else float("nan")

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of the features; None without features and their statistics."""
        if self.features is not None:
            return moments_of_features(self.features) if len(self) else None
        if (statistics := self.statistics) is None:
            return None
        return Moments(statistics.n, statistics.feature_mean, statistics.feature_covariance)

    def rows(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "Outputs":
        """Return the outputs on the chosen datapoints, without the statistics, which are of all."""
        arrays = {name: getattr(self, name) for name in _BY_DATAPOINT}
        cut: dict[str, Any] = {n: None if a is None else a[chosen] for n, a in arrays.items()}
        outputs = replace(self, statistics=None, **cut)
        # What was computed of every datapoint is kept: entropies of 1,000 classes take long.
        for name in ("correct", "entropies"):
            if name in self.__dict__:
                outputs.__dict__[name] = self.__dict__[name][chosen]
        return outputs


def from_logits(
    logits: npt.NDArray[Any], labels: Sequence[int] | Classes | None = None, **others: object
) -> Outputs:
    """Return outputs with the predictions, confidences and probabilities that logits give."""
    probabilities = softmax(logits)
    return Outputs(
        labels=None if labels is None else np.asarray(labels, np.int64),
        predicted=np.asarray(logits).argmax(axis=1),
        confidences=probabilities.max(axis=1),
        logits=logits,
        probabilities=probabilities,
        **others,  # type: ignore[arg-type]
    )


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Concatenate a model's outputs on several sets; None where a set lacks an array."""
    if len(parts) == 1:
        return parts[0]

    def concatenated(attribute: str) -> Any:
        arrays = [getattr(part, attribute) for part in parts]
        return None if any(array is None for array in arrays) else np.concatenate(arrays)

    known_statistics = [part.statistics for part in parts if part.statistics is not None]
    statistics = pooled(known_statistics) if len(known_statistics) == len(parts) else None
    names = [name for name in _BY_DATAPOINT if name != "index"]
    return Outputs(statistics=statistics, **{name: concatenated(name) for name in names})


def pooled(parts: Sequence[FeatureStatistics]) -> FeatureStatistics:
    """Combine the feature statistics of several sets into those of all their datapoints."""
    n = np.array([part.n for part in parts], np.float64)

    def weighted_mean(attribute: str) -> Any:
        values = np.stack([getattr(part, attribute) for part in parts])
        return np.tensordot(n, values, axes=1) / n.sum()

    mean = weighted_mean("feature_mean")
    scatter = np.zeros((len(mean), len(mean)))
    for part in parts:
        shift = part.feature_mean - mean
        scatter += part.n * np.outer(shift, shift)
        if part.n > 1:  # a single datapoint has no covariance
            scatter += (part.n - 1) * part.feature_covariance
    return FeatureStatistics(
        int(n.sum()), mean, scatter / (n.sum() - 1), weighted_mean("softmax_mean"),
        weighted_mean("softmax_gram"),
    )  # fmt: skip


def class_rule(
    base: Sequence[str], target: Sequence[str] | Mapping[str, Sequence[str]],
    rule: ClassRule = ClassRule(),
) -> ClassRule:  # fmt: skip
    """Return the rule that counts only classes of base and target, or groups of the base's."""
    position = {name: k for k, name in enumerate(base)}
    if isinstance(target, Mapping):
        for name in (name for group in target.values() for name in group):
            if name not in position:
                raise unknown_name_error("class of the base set", name, position, field="groups")
        groups = (tuple(position[name] for name in group) for group in target.values())
        columns = tuple(group for group in groups if group)
    else:
        columns = tuple((k,) for k, name in enumerate(base) if name in set(target))
    if not columns:
        raise InputError(
            f"no class in common: the base set has {listed(base, 5)}, "
            f"the target {listed(target, 5)}",
            field="classes",
            remedy="Name the target's classes as the base's, or give groups of the base's classes",
        )
    return replace(rule, columns=() if columns == _all_columns(len(base)) else columns)


def restrict(outputs: Outputs, rule: ClassRule, is_base: bool) -> Outputs:
    """Restrict outputs to the datapoints and the classes that count by a rule."""
    side, labels = "base set" if is_base else "target", outputs.labels
    if outputs.n_classes and rule.columns == _all_columns(outputs.n_classes):
        rule = ClassRule()
    if rule.columns:
        if is_base and labels is None:
            raise InputError(
                f"the {side} has no labels to tell which datapoints are of the classes that count",
                remedy="Give a base set with labels",
            )
        if not outputs.n_classes:
            raise InputError(
                f"the {side} has the probability of the predicted class only; a part of the "
                "classes needs the others",
                remedy="Switch on inference.outputs: [logits]",
            )
        if labels is not None:
            labels = _label_columns(labels, rule, outputs.n_classes, side)
    counts: npt.NDArray[np.bool_] = np.ones(len(outputs), bool)
    if labels is not None:
        counts = np.asarray(labels >= 0 if labels.ndim == 1 else (labels >= 0).any(axis=1))
    if not counts.any():
        raise InputError(
            f"no datapoint of the {side} is of a class that counts",
            remedy="Compare the classes of the base set and of the target",
        )
    chosen = None if counts.all() else counts
    if rule.columns:
        return _cut(outputs, rule, chosen, labels)
    return outputs if chosen is None else outputs.rows(chosen)


def class_probabilities(
    logits: npt.NDArray[Any], rule: ClassRule, temperature: float = 1.0
) -> Floats:
    """Compute the probabilities of each class that counts from the logits of all classes."""
    if not rule.columns:
        return softmax(logits, temperature)
    if rule.renormalise:  # the same as dividing by their sum, which may underflow
        return softmax(np.take(logits, rule.classes, axis=1), temperature)
    return np.take(softmax(logits, temperature), rule.classes, axis=1)


def scaled_probabilities(outputs: Outputs, temperature: float) -> Floats:
    """Return the probabilities of the classes, or the largest of each group, at a temperature."""
    assert outputs.logits is not None
    rule = outputs.rule
    return _group_maxima(class_probabilities(outputs.logits, rule, temperature), rule)


def _cut(
    outputs: Outputs, rule: ClassRule, chosen: npt.NDArray[np.bool_] | None, labels: Classes | None
) -> Outputs:
    """Restrict outputs to the classes of a rule, and to the chosen datapoints (None: all)."""
    cut = replace(outputs, probabilities=None, labels=labels)
    cut = cut if chosen is None else cut.rows(chosen)
    classes, all_probabilities = rule.classes, outputs.probabilities
    if all_probabilities is None or (rule.renormalise and cut.logits is not None):
        assert cut.logits is not None
        probabilities = class_probabilities(cut.logits, rule)
    else:
        if chosen is None:
            probabilities = np.take(all_probabilities, classes, axis=1)
        else:
            probabilities = all_probabilities[np.ix_(np.flatnonzero(chosen), classes)]
        if rule.renormalise:
            sums = probabilities.sum(axis=1, keepdims=True)
            if zero := int((sums == 0).sum()):
                raise InputError(
                    f"on {zero} of {len(sums)} datapoints the probabilities of the classes that "
                    "count add up to 0 and cannot be normalised", field="renormalise",
                    remedy="Give logits instead of probabilities, or set renormalise: false",
                )  # fmt: skip
            probabilities /= sums
    if not rule.restrict_argmax:
        others = len(rule.columns) + np.arange(outputs.n_classes)
        predicted = _column_lookup(rule, others)[cut.predicted]
    elif cut.logits is not None:  # no ties by underflow
        predicted = _group_maxima(np.take(cut.logits, classes, axis=1), rule).argmax(axis=1)
    else:
        predicted = _group_maxima(probabilities, rule).argmax(axis=1)
    return replace(
        cut, predicted=predicted, confidences=probabilities.max(axis=1),
        probabilities=probabilities, rule=rule,
    )  # fmt: skip


def _group_maxima(values: npt.NDArray[Any], rule: ClassRule) -> npt.NDArray[Any]:
    """Return the largest value in each group of classes, a column per group."""
    sizes = np.array([len(group) for group in rule.columns])
    if (sizes == 1).all():
        return values
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    return np.maximum.reduceat(values, starts, axis=1)


def _label_columns(labels: Classes, rule: ClassRule, n_classes: int, side: str) -> Classes:
    """Return each label's column by a rule, -1 if it does not count; refuse unknown labels."""
    for label in (labels.min(initial=0), labels.max(initial=0)):
        if not -1 <= label < n_classes:
            raise InputError(
                f"label {label} of the {side} is out of range: there are {n_classes} classes",
                remedy="Labels are positions in the base's label space, from 0, or -1",
            )
    return _column_lookup(rule, np.full(n_classes, -1))[labels]


def _column_lookup(rule: ClassRule, others: Classes) -> Classes:
    """Return an array from class to column of a rule, or else entry of `others`; -1 at the end."""
    positions = np.append(others, -1)
    for position, group in enumerate(rule.columns):
        positions[list(group)] = position
    return positions


def _all_columns(n_classes: int) -> tuple[tuple[int, ...], ...]:
    """Return the columns of a rule by which every class counts by itself."""
    return tuple((k,) for k in range(n_classes))
