"""What looks wrong about valid predictions: mistakes that would spoil a study unnoticed."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.records import Predictions
from matcheval.predictions.softmax import TIED

# Keys of the metadata in which predictions that are compared must agree, and what they mean.
_KEYS = {
    "model": "the model",
    "n_classes": "the number of classes",
    "classes": "the classes",
    "weights_sha256": "the SHA-256 of the model's weights",
    "transform": "the transform of the images",
    "dtype": "the precision of the model",
}
_PIXEL_RANGE = re.compile(r"uint8 / \d+")  # that of a dataset, which may differ


def check_same_model(
    ours: Mapping[str, str], theirs: Mapping[str, str], names: tuple[str, str], file: object
) -> None:
    """Check that two files are of one model, run in the same way, where both tell."""
    for key, meaning in _KEYS.items():
        if key in ours and key in theirs:
            one, other = (_PIXEL_RANGE.sub("uint8", told[key]) for told in (ours, theirs))
            if one != other:
                raise InputError(
                    f"{meaning} is {ours[key]:.200} in {names[0]}, and {theirs[key]:.200} in "
                    f"{names[1]}", file=file, field=key,
                    remedy="Both must come from the same model and label space: predict both sets "
                    "again with one model; two models on one set are no pair of sets",
                )  # fmt: skip


@dataclass
class SameModels:
    """Checks that the files of every model, on several datasets, are of one model."""

    _first: dict[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def check(self, model: str, dataset: str, metadata: Mapping[str, str]) -> None:
        """Compare a file of a model with the first one that was checked."""
        first, theirs = self._first.setdefault(model, (dataset, metadata))
        names = (f"the predictions on {first}", f"those on {dataset}")
        check_same_model(theirs, metadata, names, model)


@dataclass
class SameScores:
    """Checks that no two models have the same scores on a dataset, as a file and its copy do."""

    dataset: str
    _first: dict[str, str] = field(default_factory=dict)

    def check(self, model: str, file: object, found: Predictions) -> None:
        """Compare a model's predictions with those of the models before it."""
        p = found.probability
        if len(np.unique(p[p < 1])) < _MIN_ROWS:
            return  # rounded or saturated scores may agree by chance
        digest = hashlib.sha256(found.prediction.tobytes() + p.tobytes()).hexdigest()
        other = self._first.setdefault(digest, model)
        if other != model:
            raise InputError(
                f"models '{other}' and '{model}' have the same {len(found):,} predictions and "
                f"probabilities on {self.dataset}", file=file,
                remedy="One of the files is a copy: replace it, or leave the model out of the "
                "catalogue",
            )  # fmt: skip


_MIN_ROWS = 50  # with fewer datapoints, all of this may be chance
_SHIFTED = 0.3  # least share of predictions one off the label that is told
_MAX_DIGITS = 18  # that are read of a count in the metadata, which may be of a foreign file
_CHANCE = 1e-4  # probability of so few correct predictions by guessing, below which it is told


def suspicions(
    labels: npt.NDArray[np.integer] | None,
    predicted: npt.NDArray[np.integer],
    confidences: npt.NDArray[np.floating],
    metadata: Mapping[str, str],
) -> list[str]:
    """Say what looks wrong about one model's predictions on one dataset.

    Parameters
    ----------
    labels : int array, shape (n,), or None
        True classes, if they are known.
    predicted : int array, shape (n,)
        Predicted classes.
    confidences : float array, shape (n,)
        Probabilities of these, in [0, 1].
    metadata : mapping of str to str
        Of the file: the number of classes and of rows with equal scores, if they are known.

    Returns
    -------
    list of str
        Sentences without a period; for fewer than 50 datapoints, only on equal scores.
    """
    n = len(predicted)
    ties, told = [], metadata.get(TIED, "")
    if told.isdecimal() and 0 < (n_tied := int(told[:_MAX_DIGITS])) <= n:
        ties = [
            f"{n_tied:,} of {n:,} row{'s have' if n > 1 else ' has'} two equal highest scores; the "
            "lowest of these classes is the prediction"
        ]
    if n < _MIN_ROWS or labels is None:
        return ties
    accuracy = float(np.mean(predicted == labels))
    found = [*_one_off(labels, predicted, accuracy)]
    n_classes = int(metadata.get("n_classes") or 0)
    if n_classes > 1:
        from scipy.stats import binom

        n_correct = round(accuracy * n)
        if not found and binom.cdf(n_correct, n, 1 / n_classes) < _CHANCE:
            found.append(
                f"the accuracy, {100 * accuracy:.2g} %, is below chance, {100 / n_classes:.2g} % "
                "for so many classes: are labels and predictions in the same order?"
            )
        largest = math.e / (math.e + n_classes - 1)  # a softmax of a distribution is never above
        highest = float(confidences.max())
        if highest <= largest + 1e-6 and accuracy > 1.5 * largest:
            found.append(
                f"no probability is above {highest:.3g}, with an accuracy of "
                f"{100 * accuracy:.3g} %: was the softmax taken twice?"
            )
    return found + ties


def _one_off(
    labels: npt.NDArray[np.integer], predicted: npt.NDArray[np.integer], accuracy: float
) -> list[str]:
    difference = labels - predicted.astype(np.int64)
    for sign, later, other in (("+", "labels", "predictions"), ("-", "predictions", "labels")):
        share = float(np.mean(difference == (1 if sign == "+" else -1)))
        if share >= _SHIFTED and share > 3 * accuracy:
            return [
                f"{100 * share:.3g} % of the labels are the prediction {sign} 1, and "
                f"{100 * accuracy:.2g} % the prediction: are {later} counted from 1, and {other} "
                "from 0?"
            ]
    return []
