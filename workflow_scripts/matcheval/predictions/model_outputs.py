"""One model's outputs on one dataset, as far as a file holds them; labels may be unknown."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.files import ScoreMatrix, read_contents
from matcheval.predictions.formats import Source
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
    source: Source,
    *,
    labels: LabelRule = "required",
    n_classes: int | None = None,
    layout: Layout = Layout(),  # noqa: B008 (immutable)
) -> ModelOutputs:
    """Read a prediction file, or a table in memory, with all that it says about every class."""
    found = read_contents(source, layout, scores=True, labels=labels)
    columns, metadata, scores = found.columns, found.metadata, found.scores
    checked = check_columns(columns, file=source, n_classes=n_classes, metadata=metadata)
    outputs = ModelOutputs(
        checked["index"], checked.get("label"), checked["prediction"],
        checked["probability"].astype(np.float64), metadata=metadata,
    )  # fmt: skip
    if scores is None:
        return outputs
    values = scores.values
    if len(values) != len(outputs):
        problem = f"has {len(values)} rows, the other columns {len(outputs)}"
        raise InputError(problem, file=source, field=scores.kind)
    if "index" in columns:
        values = values[np.argsort(columns["index"], kind="stable")]
    return with_scores(outputs, ScoreMatrix(scores.kind, values), source)


def with_scores(outputs: ModelOutputs, scores: ScoreMatrix, file: object) -> ModelOutputs:
    """Return outputs with the scores of all classes, and the confidences that follow from them."""
    is_logits = scores.kind == "logits"
    probabilities = scores.values.astype(np.float64)
    if is_logits:
        probabilities = np.exp(probabilities - probabilities.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
    highest, rows = probabilities.max(axis=1), np.arange(len(probabilities))
    predicted = outputs.predicted.astype(np.int64)
    bad = predicted >= probabilities.shape[1]
    bad |= probabilities[rows, np.where(bad, 0, predicted)] < highest - _ROUNDING
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"datapoint {outputs.index[row]}: the highest score is that of class "
            f"{probabilities[row].argmax()}, the predicted class is {predicted[row]}",
            file=file, field=scores.kind,
            remedy="Scores and predictions must come from the same model",
        )  # fmt: skip
    logits = scores.values if is_logits else None
    confidences = np.minimum(highest, 1)
    return replace(outputs, confidences=confidences, logits=logits, probabilities=probabilities)
