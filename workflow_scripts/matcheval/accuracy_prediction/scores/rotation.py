"""Rotation: how well a model's features say by how much an image was rotated.

A linear classifier of four orientations on frozen features is fitted on the base, once per model
(P1); its accuracy on all images of a target, all four orientations of each, is the score.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores import score
from matcheval.accuracy_prediction.scores.features import LinearClassifier, cut_in_three, fit_linear
from matcheval.errors import InputError
from matcheval.predictions.softmax import softmax

SCORES = score.Scores()
_ORIENTATIONS = np.arange(4)
_FEWEST = 10  # images: one to tune on


def fit_rotation_head(features: npt.NDArray[np.float32], seed: int) -> LinearClassifier:
    """Fit a classifier of orientations on 40 % of the images, its penalty tuned on 10 %."""
    if len(features) < _FEWEST:
        raise InputError(
            f"{len(features)} images are too few to fit a classifier of orientations",
            field="rotation", remedy=f"Give a base of at least {_FEWEST} images",
        )  # fmt: skip
    if not np.isfinite(features).all():
        raise InputError("features of the base are not finite numbers", field="rotation")
    train, tune, _ = (
        (features[rows].reshape(-1, features.shape[2]), np.tile(_ORIENTATIONS, len(rows)))
        for rows in cut_in_three(len(features), seed)
    )
    return fit_linear(train, tune)


def orientation_logits(
    head: LinearClassifier, features: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Classify the orientations of rotated images."""
    logits = head.decide(features.reshape(-1, features.shape[-1])).astype(np.float32)
    return logits.reshape(*features.shape[:-1], len(_ORIENTATIONS))


def orientation_accuracy(logits: npt.NDArray[Any]) -> float:
    """Return the share of rotated images whose orientation is recognised."""
    return float((logits.argmax(axis=2) == _ORIENTATIONS).mean())


def orientation_auc(logits: npt.NDArray[Any]) -> float:
    """Return the area under the ROC curve of one orientation against the rest, mean over the four.

    Parameters
    ----------
    logits : float array, shape (n, 4, 4)
        As returned by `orientation_logits`; images are ordered by the softmax.
    """
    from sklearn.metrics import roc_auc_score

    true = np.tile(_ORIENTATIONS, len(logits))
    return float(roc_auc_score(true, softmax(logits.reshape(-1, 4)), multi_class="ovr"))


def _of_target(measure: Callable[[npt.NDArray[Any]], float], sides: score.Sides) -> float:
    logits = sides.target.orientations
    assert logits is not None  # as `missing_inputs` makes sure
    if not len(logits):
        raise score.NotAvailableError("there are no datapoints")
    if not np.isfinite(logits).all():
        raise score.NotAvailableError("features are not finite numbers")
    return measure(logits)


for _variant, _measure in (("", orientation_accuracy), ("auc", orientation_auc)):
    SCORES.add(
        "rotation", "Rotation", score.Predicts.GAP, 1, variant=_variant, needs=(score.Need.IMAGES,),
        source="P1, Table 3",
    )(partial(_of_target, _measure))  # fmt: skip
