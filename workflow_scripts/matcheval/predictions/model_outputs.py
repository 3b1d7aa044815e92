"""One model's outputs on one dataset, as far as a file holds them; labels may be unknown."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.files import Contents, ScoreMatrix, find_matrix, read_contents, values_of
from matcheval.predictions.formats import RawFile
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import LabelRule, check_columns

# A stored prediction may be another class than that of the highest score by no more than this, as
# a probability: rounding in half precision can make the two highest scores equal.
_ROUNDING = 1e-2


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """Checked outputs of one model on one dataset, in dataset order.

    Attributes
    ----------
    index : int32 array, shape (n,)
        Positions in the dataset, strictly increasing.
    labels : int16 array, shape (n,), or None
        True classes, from 0; None if the file has none.
    predicted : int16 array, shape (n,)
        Predicted classes.
    confidences : float64 array, shape (n,)
        Probability of the predicted class: the largest of `probabilities`, or as on file.
    logits : float array, shape (n, n_classes), or None
        As on file.
    probabilities : float64 array, shape (n, n_classes), or None
        The softmax of the logits, or as on file.
    metadata : mapping of str to str
        Provenance.
    """

    index: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int16] | None
    predicted: npt.NDArray[np.int16]
    confidences: npt.NDArray[np.float64]
    logits: npt.NDArray[Any] | None = None
    probabilities: npt.NDArray[np.float64] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.index)


def read_scores(
    path: str | os.PathLike[str],
    *,
    labels: LabelRule = "required",
    n_classes: int | None = None,
    layout: Layout = Layout(),  # noqa: B008 (immutable)
) -> ModelOutputs:
    """Read a prediction file with all that it says about every class."""
    found = read_contents(path, scores=True, labels=labels, layout=layout)
    return outputs_of(found, file=path, n_classes=n_classes)


def outputs_of(found: Contents, *, file: object, n_classes: int | None = None) -> ModelOutputs:
    """Check the contents of a prediction file, or of a table in memory."""
    checked = check_columns(found.columns, file=file, n_classes=n_classes, metadata=found.metadata)
    outputs = ModelOutputs(
        index=checked["index"],
        labels=checked.get("label"),
        predicted=checked["prediction"],
        confidences=checked["probability"].astype(np.float64),
        metadata=found.metadata,
    )
    if found.scores is None:
        return outputs
    values = found.scores.values
    if len(values) != len(outputs):
        raise InputError(
            f"has {len(values)} rows, the other columns {len(outputs)}",
            file=file,
            field=found.scores.kind,
        )
    if "index" in found.columns:
        values = values[np.argsort(found.columns["index"], kind="stable")]
    return with_scores(outputs, ScoreMatrix(found.scores.kind, values), file)


def with_scores(outputs: ModelOutputs, scores: ScoreMatrix, file: object) -> ModelOutputs:
    """Return outputs with the scores of all classes, and the confidences that follow from them."""
    is_logits = scores.kind == "logits"
    probabilities = scores.values.astype(np.float64)
    if is_logits:
        probabilities = np.exp(probabilities - probabilities.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
    highest = probabilities.max(axis=1)
    predicted = outputs.predicted.astype(np.int64)
    bad = predicted >= probabilities.shape[1]
    bad |= (
        probabilities[np.arange(len(predicted)), np.where(bad, 0, predicted)] < highest - _ROUNDING
    )
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"datapoint {outputs.index[row]}: the highest score is that of class "
            f"{probabilities[row].argmax()}, the predicted class is {predicted[row]}",
            file=file,
            field=scores.kind,
            remedy="Scores and predictions must come from the same model",
        )
    return replace(
        outputs,
        confidences=np.minimum(highest, 1),
        logits=scores.values if is_logits else None,
        probabilities=probabilities,
    )


@dataclass(frozen=True, eq=False)
class RankedClasses:
    """Predicted classes, most probable first."""

    classes: npt.NDArray[Any]
    n_classes: int | None


def ranked_classes(raw: RawFile, layout: Layout, top: int) -> RankedClasses:
    """Return the predicted classes of a file or table that may lack probabilities."""
    given = values_of(raw, "prediction", layout) if "prediction" in raw.columns else None
    if given is not None and (top == 1 or given.ndim > 1):
        return RankedClasses(given, None)
    matrix = find_matrix(raw.columns, layout, raw.file)
    if matrix is None:
        if given is not None:
            return RankedClasses(given, None)
        raise InputError(
            f"predicted classes missing; found {raw.shown}",
            file=raw.file,
            remedy="Give 'prediction', or the scores of all classes",
        )
    ranked = np.argsort(-matrix.values, axis=1, kind="stable")[:, :top]
    return RankedClasses(ranked, matrix.values.shape[1])


def labels_of(raw: RawFile, layout: Layout) -> npt.NDArray[Any]:
    """Return the true classes of a file or table, not checked further."""
    if "label" not in raw.columns:
        raise InputError(
            f"column label missing; found {raw.shown}",
            file=raw.file,
            remedy="If it has another name, say which: columns={'label': 'target'}",
        )
    return values_of(raw, "label", layout)
