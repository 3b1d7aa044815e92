"""Audited labels: the classes that a later look at the images found in each, if any.

Published audits have an address in `downloads/sources.yaml`, and a format of their own; people's
own are CSV files.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.array_archives import UNREADABLE
from matcheval.io.files import readable
from matcheval.io.user_files import check_columns, read_numbered_rows
from matcheval.predictions.records import MAX_CLASSES, Predictions

PUBLISHED = {  # files by the name of the audit
    "cifar10h": "cifar10h-counts.npy",  # Peterson et al. 2019, arXiv 1908.07086
    "cifar10-label-errors": "cifar10_mturk.json",  # Northcutt et al. 2021, arXiv 2103.14749
    "real": "real.json",  # Beyer et al. 2020, arXiv 2006.07159
}
SUFFIXES = (".csv", ".json", ".npy")
_FORMATS = (
    "Give all images' counts of each class (.npy) or lists of right classes (.json), or a row per "
    "image and right class (.csv)"
)
_NUMBERED = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG$")
_CLASSES = range(MAX_CLASSES)
_LEAST_KEPT = 0.5  # of given labels; fewer say that the order is another one

Found = Iterable[tuple[int, Sequence[int]]]  # position of an image, and its classes


@dataclass(frozen=True)
class AuditedLabels:
    """Which classes are right for each datapoint of a set; none if the audit did not decide.

    Attributes
    ----------
    is_right : bool array, shape (n, n_classes)
    """

    is_right: npt.NDArray[np.bool_]

    @cached_property
    def decided(self) -> npt.NDArray[np.bool_]:
        """Whether a datapoint has a class, shape (n,)."""
        return np.asarray(self.is_right.any(axis=1))

    def accept(self, classes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return whether one class per datapoint is right, shape (n,)."""
        known = classes < self.is_right.shape[1]
        return known & self.is_right[np.arange(len(classes)), np.where(known, classes, 0)]


def read_audit(
    path: Path, predictions: Predictions, names: Sequence[str] | None = None
) -> AuditedLabels:
    """Read the audited labels of the datapoints of some predictions.

    Parameters
    ----------
    path : Path
        `.npy`: how many annotators chose each class, a row per image; classes with the most are
        right. `.json`: a list with the classes of each image, or of images that five people
        compared with their label and another. `.csv`: columns `label`, and `index` or `name`; a row
        per class of an image, and an empty label if it shows none; others keep their label.
        A list is in the order of positions; of ImageNet's validation set, of the numbers in names.
    predictions : Predictions
    names : sequence of str, optional
        Names of all images of the dataset, by position.

    Raises
    ------
    InputError
        If the file is unreadable, has no row of a datapoint, or accepts few of the given labels.
    """
    errors = (*UNREADABLE, LookupError, AttributeError)
    with readable(path, f"an audit as {path.suffix}", *errors, remedy=_FORMATS):
        if path.suffix == ".csv":
            found, keeps = _of_rows(path, names), True
        elif path.suffix == ".npy":
            with path.open("rb") as file:
                found, keeps = _of_counts(np.lib.format.read_array(file)), False
        else:
            entries = json.loads(path.read_bytes())
            if not isinstance(entries, list) or not entries:
                raise ValueError("no list of images")
            keeps = isinstance(entries[0], dict)
            found = _of_votes(entries, predictions) if keeps else _of_lists(entries, names)
        classes = dict(found)
        is_right = _masked(predictions, classes, keeps)
    audit = AuditedLabels(is_right)
    kept = audit.accept(predictions.label)[audit.decided]
    if not len(kept) or kept.mean() < _LEAST_KEPT:
        raise InputError(
            f"accepts the given label of {kept.sum():,} of the {len(kept):,} datapoints it decides",
            file=path, remedy="Is it of this dataset, and in its order?",
        )  # fmt: skip
    return audit


def _masked(
    predictions: Predictions, classes: Mapping[int, Sequence[int]], keeps: bool
) -> npt.NDArray[np.bool_]:
    """Mark the classes of each datapoint; one that has no entry keeps its label, or is an error."""
    given = _labels(predictions)
    missing = [at for at in given if at not in classes]
    if missing and (not keeps or len(missing) == len(given)):
        raise ValueError(f"no entry of {len(missing):,} datapoints, such as {missing[0]}")
    rows = {at: classes.get(at, (label,)) for at, label in given.items()}
    for at, row in rows.items():
        is_list = isinstance(row, list | tuple)
        if not is_list or not all(type(one) is int and one in _CLASSES for one in row):
            raise ValueError(f"datapoint {at}: {row!r:.60} are no classes in 0..{_CLASSES[-1]}")
    n_classes = 1 + max(max(row, default=0) for row in rows.values())
    is_right = np.zeros((len(rows), n_classes), np.bool_)
    for mask, row in zip(is_right, rows.values(), strict=True):
        mask[list(row)] = True
    return is_right


def _labels(predictions: Predictions) -> dict[int, int]:
    return dict(zip(predictions.index.tolist(), predictions.label.tolist(), strict=True))


def _of_counts(counts: npt.NDArray[Any]) -> Found:
    """Return the classes that most annotators chose: of ties all, without votes none."""
    if counts.ndim != 2 or counts.dtype.kind not in "iuf":
        raise ValueError(f"shape {counts.shape} and type {counts.dtype}, not counts of classes")
    bad = ~(counts >= 0).all(axis=1)  # NaN, too
    if bad.any():
        raise ValueError(f"row {bad.argmax()} has counts that are negative or NaN")
    is_most = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    return enumerate(np.flatnonzero(row).tolist() for row in is_most)


def _of_lists(entries: Sequence[Sequence[int]], names: Sequence[str] | None) -> Found:
    """Give each image its classes: by position, or by the number in its name, which is from 1."""
    numbers = [_NUMBERED.search(name) for name in names or ()]
    if numbers and all(numbers):
        return enumerate(entries[int(match[1]) - 1] for match in numbers if match)
    return enumerate(entries)


def _of_votes(
    entries: Sequence[dict[str, Any]], predictions: Predictions
) -> Iterator[tuple[int, Sequence[int]]]:
    """Follow the majority of five people (Northcutt et al. 2021, section 4); none, no class."""
    labels = _labels(predictions)
    for entry in entries:
        votes, given = entry["mturk"], entry["given_original_label"]
        if labels.get(entry["id"], given) != given:  # few entries: shares say nothing of the order
            raise ValueError(
                f"image {entry['id']} had label {given}, not {labels[entry['id']]}: "
                "is it of this dataset, and in its order?"
            )
        guessed = entry["our_guessed_label"]
        classes = {"given": (given,), "guessed": (guessed,), "both": (given, guessed)}
        most = max(votes, key=votes.__getitem__)
        is_majority = 2 * votes[most] > sum(votes.values())
        yield entry["id"], classes.get(most, ()) if is_majority else ()


def _of_rows(path: Path, names: Sequence[str] | None) -> Found:
    """Read the user's own file."""
    header, rows = read_numbered_rows(path)
    check_columns(header, ("label",), path)
    key = "index" if "index" in header else "name"
    if key not in header or (key == "name" and names is None):
        raise InputError(
            "has no column 'index'" + ("" if names is None else ", nor 'name'"), file=path,
            remedy="Name datapoints by their position or, if they are images, by their name",
        )  # fmt: skip
    positions = range(len(names) if names else np.iinfo(np.int32).max)
    at = {name: position for position, name in enumerate(names or ())}
    found: dict[int, list[int]] = {}
    for number, row in rows:
        here, label = row[key], row["label"]
        try:
            position = positions.index(int(here)) if key == "index" else at[here]
            found.setdefault(position, []).extend([_CLASSES.index(int(label))] if label else [])
            if len(row) > len(header) or label is None:
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            more = " and more" * (len(row) > len(header))
            problem = f"line {number}: '{here!s:.60}' with label '{label!s:.60}'{more}"
            remedy = "Give an image of the dataset, and one class as a number from 0, or nothing"
            raise InputError(problem, file=path, remedy=remedy) from error
    return found.items()
