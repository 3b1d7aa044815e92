"""What looks wrong about valid predictions: mistakes that would spoil a study unnoticed."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.predictions.softmax import TIED

WARNINGS = "noticed"  # key of the metadata for what looked wrong when a file was read, by line
Integers = npt.NDArray[np.integer]

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
    """Refuse two files whose metadata differ in the model or how it was run, where both say it."""
    for key in (key for key in _KEYS if key in ours and key in theirs):
        first, second = (_PIXEL_RANGE.sub("uint8", metadata[key]) for metadata in (ours, theirs))
        if first != second:
            raise InputError(
                f"{_KEYS[key]} is {ours[key]:.200} in {names[0]}, and {theirs[key]:.200} in "
                f"{names[1]}", file=file, field=key,
                remedy="Both must come from the same model and label space: predict both sets "
                "again with one model; two models on one set are not a pair of sets",
            )  # fmt: skip


@dataclass
class SameModels:
    """Checks that the files named after a model, on several datasets, are of the same model."""

    _first: dict[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def check(self, model: str, dataset: str, metadata: Mapping[str, str]) -> None:
        """Compare a file's metadata with those of the first file of this model."""
        first, theirs = self._first.setdefault(model, (dataset, metadata))
        names = (f"the predictions on {first}", f"those on {dataset}")
        check_same_model(theirs, metadata, names, model)


@dataclass
class SameScores:
    """Checks that no two models have the same predictions on a dataset, as copied files would."""

    dataset: str
    _first: dict[str, str] = field(default_factory=dict)

    def check(self, model: str, file: object, predictions: Predictions) -> None:
        """Refuse predictions that equal those of another model checked before."""
        p = predictions.probability
        if len(np.unique(p[p < 1])) < _MIN_ROWS:
            return  # rounded or saturated scores may agree by chance
        digest = hashlib.sha256(predictions.prediction.tobytes() + p.tobytes()).hexdigest()
        other = self._first.setdefault(digest, model)
        if other != model:
            raise InputError(
                f"models '{other}' and '{model}' have the same {len(p):,} predictions and "
                f"probabilities on {self.dataset}", file=file,
                remedy="One of the files is a copy: replace it, or leave the model out of the "
                "catalogue",
            )  # fmt: skip


_MIN_ROWS = 50  # with fewer datapoints, all of this may be chance
_MANY_ROWS = 100  # of which a model rarely has all right
_FEW_ROWS = 10
_SHIFTED = 0.3  # least share of predictions one off the label that is warned of
_RENUMBERED = 0.5  # least share of rows that another numbering of the classes has right
_MAX_DIGITS = 18  # that are read of a count in the metadata, which may be of a foreign file
_ROUNDING = 6e-3  # of confidences with two decimals
_FEW_CLASSES, _MANY_EACH = 12, 10  # classes, or datapoints of each: few further ones are likely
_LIKELY = 5  # datapoints that a class has to be expected with, to be missed


def check_truth(
    right: Sequence[npt.NDArray[np.bool_]], layout: Layout, file: object
) -> list[str]:  # fmt: skip
    """Refuse labels that equal the predictions everywhere; return warnings if this is less sure."""
    n = max(map(len, right))
    if layout.labels_are_true or n < _FEW_ROWS:
        return []
    if not all(of_file.all() for of_file in right):
        n_perfect = sum(len(of_file) >= _MANY_ROWS and bool(of_file.all()) for of_file in right)
        least = min(float(of_file.mean()) for of_file in right)
        return [] if not n_perfect or least > 0.99 else [
            f"of {n_perfect} of {len(right)} files, labels equal the predicted class in all rows, "
            f"of another in {100 * least:.0f} %: are they predictions, or a training set?"
        ]  # fmt: skip
    problem = "the labels equal the predicted class in all rows: they look like predictions"
    if n < _MANY_ROWS:
        return [f"{problem}, not the truth"]
    raise InputError(
        problem, file=file, field="label",
        remedy="Give the true classes, in a column 'label' or in a file beside such as labels.csv. "
        f"If these are the truth: {layout.say('labels_are_true')}",
    )  # fmt: skip


def suspicions(
    labels: Integers | None,
    predicted: Integers,
    confidences: npt.NDArray[np.floating],
    metadata: Mapping[str, str],
) -> list[str]:
    """Return warnings of what looks wrong about a file's predictions, and those in its metadata.

    For fewer than 50 datapoints, or without labels, only what its metadata says: its warnings, and
    how many rows have equal highest scores.
    """
    n = len(predicted)
    warnings = [line for line in metadata.get(WARNINGS, "").split("\n") if line]
    ties, n_tied = [], _read_count(metadata, TIED)
    if 0 < n_tied <= n:
        ties = [
            f"{n_tied:,} of {n:,} row{'s have' if n > 1 else ' has'} two equal highest scores; the "
            "lowest of these classes is the prediction"
        ]
    if n < _MIN_ROWS or labels is None:
        return warnings + ties
    n_classes = _read_count(metadata, "n_classes")
    if n_classes < 2:  # those that occur: of many, the model may have others
        occurring = len(np.union1d(labels, predicted))
        n_classes = occurring if occurring <= max(_FEW_CLASSES, n / _MANY_EACH) else 0
    warnings += (
        [*_labels_shifted_by_one(labels, predicted)]
        or [*_renumbered_classes(labels, predicted)]
        or [*_no_better_than_chance(labels, predicted)]
    )
    warnings += _inverted_confidences(labels == predicted, confidences)
    if n_classes > 1:
        warnings += _unlike_confidences(labels, predicted, confidences, n_classes)
    return warnings + ties


def _read_count(metadata: Mapping[str, str], key: str) -> int:
    """Return a count in the metadata; 0 if it is missing or invalid."""
    text = metadata.get(key, "")
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0


def repeats_warning(columns: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """Warn if all rows occur 2, 3 or 5 times, unless confidences are rounded."""
    p, names = columns["probability"], ("label", "prediction", "probability")
    if len(p) < _MIN_ROWS or p.dtype.kind != "f":
        return []
    if len(np.unique(p[abs(p - p.round(4)) > 1e-6])) < max(_FEW_ROWS, len(p) / 20):
        return []
    rows = [columns[name] for name in names if name in columns]
    for times in (2, 3, 5):
        blocks = (np.tile(column[: len(p) // times], times) for column in rows)
        runs = (np.repeat(column[::times], times) for column in rows)
        if any(all(map(np.array_equal, again, rows)) for again in (blocks, runs)):
            return [
                f"every row is there {times} times: were files joined twice? Intervals take rows "
                "as independent: leave out repeated rows, or give copies of an image one `group`"
            ]
    return []


def _unlike_confidences(
    labels: Integers, predicted: Integers, confidences: npt.NDArray[np.floating], n_classes: int
) -> Iterator[str]:
    """Warn if confidences cannot be the probabilities of the predicted classes."""
    right, highest = labels == predicted, float(confidences.max())
    steps = [d for d in (1, 2, 3, 4) if abs(confidences - confidences.round(d)).max() < 1e-6]
    rounding = 0.6 * 10.0 ** -steps[0] if steps else 0.005 / n_classes  # of 16 bits
    low = confidences < 1 / n_classes - rounding
    if low.sum() >= max(3, 0.0005 * len(low)):
        of_class = np.unique(predicted[low])
        if n_classes == 2 and len(of_class) == 1:
            what = f"the probability of class {1 - of_class[0]}, or a prediction by a threshold"
        elif not low[right].any() and (confidences[~right] <= 0.5 + _ROUNDING).all():
            what = "the probability of the true class"
        else:
            what = "another score, such as a margin"
        yield (
            f"{int(low.sum()):,} confidences are below {1 / n_classes:.2g}, which the most "
            f"probable of {n_classes} classes has at least: is it {what}?"
        )
    largest = math.e / (math.e + n_classes - 1)  # a softmax of a distribution is never above
    accuracy = float(right.mean())
    if highest <= largest + 1e-6 and accuracy > min(1.5 * largest, highest + 0.2):
        yield (
            f"no probability is above {highest:.3g}, with an accuracy of {100 * accuracy:.3g} %: "
            "was the softmax taken twice, or of cosine similarities without their scale?"
        )


def _inverted_confidences(
    right: npt.NDArray[np.bool_], confidences: npt.NDArray[np.floating]
) -> Iterator[str]:
    """Warn if wrong predictions are more confident than right ones, or none exceeds one half."""
    sure, unsure = (confidences[rows].astype(np.float64) for rows in (right, ~right))
    if min(len(sure), len(unsure)) < _FEW_ROWS:
        return
    error = math.hypot(*(part.std() / math.sqrt(len(part)) for part in (sure, unsure)))
    if sure.mean() < unsure.mean() - 4 * error:
        yield "right predictions are less confident than wrong ones: is it an uncertainty?"
    elif len(unsure) >= _MIN_ROWS and unsure.max() <= 0.5 < np.median(sure):
        yield "no wrong prediction has more than 0.5: is it the probability of the true class?"


def _no_better_than_chance(labels: Integers, predicted: Integers) -> Iterator[str]:
    """Warn if predictions are constant, or no more often right than in a random order."""
    n, n_right = len(labels), int((labels == predicted).sum())
    if (predicted == predicted[0]).all() and (labels != labels[0]).any():
        yield f"all predictions are class {predicted[0]}: are scores sorted by size, not by class?"
        return
    width = 1 + int(max(labels.max(), predicted.max()))
    shares = (np.bincount(classes, minlength=width) / n for classes in (labels, predicted))
    of_label, of_guess = (n * share for share in shares)
    agree = float((of_label * of_guess).sum())  # of a random order: agree / n, with this variance
    mixed = agree * n**2 + agree**2 - n * float((of_label * of_guess * (of_label + of_guess)).sum())
    variance, by_chance = max(0.0, mixed / (n**2 * (n - 1))), agree / n**2
    if (variance > 1e-9 or not agree) and n_right <= agree / n + 2 * math.sqrt(variance):
        order = " (the labels are sorted)" if (np.diff(labels) >= 0).all() else ""
        yield (
            f"the accuracy, {100 * n_right / n:.2g} %, is no better than chance, "
            f"{100 * by_chance:.2g} %: are labels and predictions in the same order{order}, and of "
            "the same classes?"
        )


def _labels_shifted_by_one(labels: Integers, predicted: Integers) -> Iterator[str]:
    """Warn if many labels are one more, or one less, than the predicted class."""
    difference, accuracy = labels - predicted.astype(np.int64), float(np.mean(labels == predicted))
    for step, later, other in ((1, "labels", "predictions"), (-1, "predictions", "labels")):
        share = float(np.mean(difference == step))
        if share >= _SHIFTED and share > 3 * accuracy:
            best = _best_renumbering(labels, predicted)
            if best is not None and best[0] > share + 0.1:
                return  # more than a shift: see `_renumbered_classes`
            yield (
                f"{100 * share:.3g} % of the labels are the prediction {'+-'[step < 0]} 1, and "
                f"{100 * accuracy:.2g} % the prediction: are {later} counted from 1, and {other} "
                "from 0?"
            )
            return


def _best_renumbering(
    labels: Integers, predicted: Integers
) -> tuple[float, list[tuple[int, int]]] | None:
    """Return the accuracy after the best renumbering of classes, and its changes, or None."""
    _, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    often = counts[which] >= 3  # a label that occurs once has one prediction anyway
    if often.sum() < max(_MIN_ROWS, 0.5 * len(labels)):
        return None
    labels, predicted = labels[often], predicted[often]
    pairs, counts = np.unique(np.stack([labels, predicted]), axis=1, return_counts=True)
    most: dict[int, tuple[int, int]] = {}
    for label, guess, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
        most[label] = max(most.get(label, (0, 0)), (count, guess))
    guesses = [guess for _, guess in most.values()]
    if len({*guesses}) < 0.9 * len(guesses):
        return None
    moved = [(label, guess) for label, (_, guess) in most.items() if label != guess]
    return sum(count for count, _ in most.values()) / len(labels), moved


def _is_another(predicted: Integers, label: int) -> bool:
    """Whether rows of a class are mostly predicted as one other class, and rarely rightly."""
    most, own = int(np.bincount(predicted).max()), int((predicted == label).sum())
    return len(predicted) >= 2 * _FEW_ROWS and most > max(len(predicted) / 2, 4 * own)


def _renumbered_classes(labels: Integers, predicted: Integers) -> Iterator[str]:
    """Warn if another numbering of all or some classes would make predictions right."""
    best, accuracy = _best_renumbering(labels, predicted), float(np.mean(labels == predicted))
    if best is None or len(best[1]) < 2 or not len(np.intersect1d(labels, predicted)):
        return  # or names of two vocabularies
    share, moved = best
    if share < max(_RENUMBERED, accuracy + 0.25):
        clear = {
            label: guess for label, guess in moved if _is_another(predicted[labels == label], label)
        }
        swapped = [a for a, guess in clear.items() if guess in clear and a in clear.values()]
        others = ~np.isin(labels, swapped)
        if swapped and others.any() and np.mean(labels[others] == predicted[others]) > 0.5:
            yield (
                f"classes {', '.join(map(str, swapped[:3]))}{', ...' * (len(swapped) > 3)} are "
                "mostly predicted for each other, and the others rightly: are they swapped?"
            )
        return
    shown = ", ".join(f"{guess} for {label}" for label, guess in moved[:3])
    yield (
        f"{100 * share:.3g} % of the predictions are right if classes are numbered in another "
        f"order ({shown}, ...), {100 * accuracy:.2g} % as they are: were folders sorted as text, "
        "or is the order of the classes another one?"
    )


def suspicions_of_sets(
    first: Predictions, second: Predictions, names: Sequence[str]
) -> list[str]:  # fmt: skip
    """Warn if two sets differ in how classes are counted, or if one lacks classes of the other."""
    if min(len(first), len(second)) < _MIN_ROWS:
        return []
    (low, high), (other_low, other_high) = (
        (int(part.label.min()), int(part.label.max())) for part in (first, second)
    )
    if abs(low - other_low) == 1 and low - other_low == high - other_high and high - low >= 2:
        later, earlier = (names[0], names[1]) if low > other_low else (names[1], names[0])
        return [f"classes are counted from {max(low, other_low)} in {later}, and from "
                f"{min(low, other_low)} in {earlier}: are they the same classes?"]  # fmt: skip
    warnings = []
    sides = ((first, second, names[0], names[1]), (second, first, names[1], names[0]))
    for other, part, other_name, name in sides:
        share = np.bincount(other.label) / len(other)
        has = np.bincount(part.label, minlength=len(share))[: len(share)] > 0
        absent = np.flatnonzero(~has & (share * len(part) >= _LIKELY))
        if len(absent):
            warnings.append(
                f"{name} has no images of {len(absent)} of the {int((share > 0).sum())} classes of "
                f"{other_name}: part of the gap is then of the mix of classes"
            )
    return warnings
