"""Which rows are the same datapoint: in files of several models, as copies, or in a group.

Files are aligned by `index` or by a key, such as file names. Groups, such as writers or videos, are
a column of prediction files, or a CSV file. Images that are there several times are told by scores
of all classes that are equal to the last bit: confidences alone are no evidence, as thousands of
them are 1, or equal when they are rounded.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.column_names import KEYS, snake_case
from matcheval.predictions.records import Predictions

GROUP = "group"
Texts = npt.NDArray[np.str_]
Numbers = npt.NDArray[np.int64]

_LEAST_SHARE = 0.01  # of the rows: fewer copies change no interval
_LEAST_SCORES, _MOST_SCORES = 3, 16  # least that are not rounded, of those that are looked at
_SATURATED = 0.999


@dataclass
class Alignment:
    """Aligns files that name their datapoints by keys, such as file names, with the first file."""

    _first: npt.NDArray[Any] | None = None
    _file: object = None
    _name: str = ""
    _names: list[str] = field(default_factory=list)

    def place(self, predictions: Predictions, file: object) -> Predictions:
        """Return predictions whose `index` holds their keys' positions in the first file."""
        keys = predictions.keys
        if keys is None:
            return predictions
        if self._first is None:
            self._first, self._file, self._name = keys, file, predictions.key_name
        elif not self._is_shared(self._first, keys, predictions.key_name):
            return replace(predictions, keys=None)  # a comment, or the like, unlike in all rows
        placed = replace(predictions, is_identified=True)
        if np.array_equal(keys, self._first):
            return placed
        if not self._names:
            _check_unique_keys(self._first, self._file)
            self._names = keys_as_texts(self._first)
        _check_unique_keys(keys, file)
        fold, how = choose_key_fold(self._names, keys_as_texts(keys))
        positions = {fold(key): row for row, key in enumerate(self._names)}
        index = list[int]()
        for key in keys_as_texts(keys):
            if (name := fold(key)) not in positions:
                positions[name] = len(positions)
                self._names.append(key)
            index.append(positions[name])
        if how:
            notes = (*placed.notes, f"datapoints are joined by their names{how}")
            placed = replace(placed, notes=notes)
        return _select_rows(replace(placed, index=np.array(index, np.int32)), np.argsort(index))

    def _is_shared(self, ours: npt.NDArray[Any], theirs: npt.NDArray[Any], name: str) -> bool:
        """Whether keys are like the first file's: by names of keys, or by one name and values."""
        if snake_case(self._name) in KEYS and snake_case(name) in KEYS:
            return True
        our_texts, their_texts = {*keys_as_texts(ours)}, {*keys_as_texts(theirs)}
        n_least = min(len(our_texts), len(their_texts))
        return self._name == name and 2 * len(our_texts & their_texts) >= n_least


def keys_as_texts(keys: npt.NDArray[Any] | Sequence[Any]) -> list[str]:
    """Convert keys to texts; 12.0, as in a column of numbers with gaps, becomes 12."""
    values = keys.tolist() if isinstance(keys, np.ndarray) else keys
    return [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in values]


def _file_name(key: str) -> str:
    return key.replace("\\", "/").rpartition("/")[2]


def _file_stem(key: str) -> str:
    """Return a file name in lower case without its extension, which may not be a number."""
    stem, dot, suffix = _file_name(key).rpartition(".")
    return (stem if dot and not suffix.isdecimal() else _file_name(key)).casefold()


_FOLDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str, ""),
    (lambda key: key.replace("\\", "/"), ", with / for \\"),
    (_file_name, " without folders"),
    (_file_stem, " without folders and extensions"),
    (lambda key: _file_stem(key).lstrip("0") or "0", " without leading zeros"),
)


def choose_key_fold(ours: Sequence[str], theirs: Sequence[str]) -> tuple[Callable[[str], str], str]:
    """Return the shortening of keys (e.g. to stems) that matches most, and what it leaves out."""
    best, most = _FOLDS[0], -1
    for fold, how in _FOLDS:
        our_folds, their_folds = ({*map(fold, keys)} for keys in (ours, theirs))
        n_shared = len(our_folds & their_folds)
        is_one_to_one = len(our_folds) == len({*ours}) and len(their_folds) == len({*theirs})
        if is_one_to_one and n_shared > most:
            best, most = (fold, how), n_shared
    return best


def _check_unique_keys(keys: npt.NDArray[Any], file: object) -> None:
    counts = Counter(keys_as_texts(keys))
    key, n = counts.most_common(1)[0]
    if n > 1:
        raise InputError(
            f"'{key:.100}' occurs {n} times ({len(keys) - len(counts):,} rows repeat another's), "
            "so that files in another order cannot be aligned", file=file,
            remedy="Give each datapoint one row and a name of its own, or all files the same order",
        )  # fmt: skip


def shared_datapoints(sets: Mapping[str, Predictions]) -> tuple[dict[str, Predictions], list[str]]:
    """Keep the datapoints that all have, or all if none or not identified; also return warnings."""
    parts = list(sets.values())
    are_same = all(np.array_equal(part.index, parts[0].index) for part in parts[1:])
    if are_same or not all(part.is_identified for part in parts):
        return dict(sets), []
    common = parts[0].index
    for part in parts[1:]:
        common = np.intersect1d(common, part.index)
    if not len(common):
        return dict(sets), []  # which the caller refuses
    kept = {name: _select_rows(part, np.isin(part.index, common)) for name, part in sets.items()}
    warnings = [
        f"{name}: {left:,} of {len(part):,} datapoints are left out, which not all files have"
        for name, part in sets.items()
        if (left := len(part) - len(common)) > 0
    ]
    return kept, warnings


def datapoint_names(predictions: Predictions) -> list[str]:
    """Return the names of the datapoints, shape (n,): their keys in the file, or their indices."""
    return keys_as_texts(predictions.index if predictions.keys is None else predictions.keys)


def _select_rows(predictions: Predictions, rows: npt.NDArray[Any]) -> Predictions:
    """Return the predictions of some rows only."""
    arrays = ("index", "label", "prediction", "probability", "keys", "groups", "copies")
    whole: dict[str, Any] = {name: getattr(predictions, name) for name in arrays}
    some: dict[str, Any] = {n: None if v is None else v[rows] for n, v in whole.items()}
    return replace(predictions, **some)


# --- groups


def groups_of(predictions: Predictions, file: object) -> Texts | None:
    """Return the group of each datapoint as text; None if the prediction file has no groups."""
    return None if predictions.groups is None else _check_groups(list(predictions.groups), file)


def read_group_file(
    path: Path, index: npt.NDArray[np.int32], names: Sequence[str] | None = None
) -> Texts:
    """Read the group of each datapoint from a CSV file, by its `index` or its image's `name`."""
    rows = read_csv_rows(path, (GROUP,))
    key = "index" if rows and "index" in rows[0] else "name"
    if rows and key not in rows[0]:
        raise InputError(
            "has neither a column 'index' nor 'name'", file=path,
            remedy="Name every datapoint by its position or, if it is an image, by its name",
        )  # fmt: skip
    if key == "name" and names is None:
        raise InputError(
            "names images, but the set consists of predictions", file=path, field="name",
            remedy="Give a column 'index' with the positions of the datapoints",
        )  # fmt: skip
    groups: dict[str, str] = {}
    for row in rows:
        if row[key] in groups:
            raise InputError(f"'{row[key]}' has two rows", file=path, field=key)
        groups[row[key]] = row[GROUP]
    wanted = [str(i) if key == "index" or names is None else names[i] for i in index.tolist()]
    if missing := [datapoint for datapoint in wanted if datapoint not in groups]:
        raise InputError(
            f"has no row of '{missing[0]}' (and {len(missing) - 1} more)", file=path, field=key,
            remedy="Give every datapoint a group; a datapoint alone is a group of its own",
        )  # fmt: skip
    return _check_groups([groups[datapoint] for datapoint in wanted], path)


def _check_groups(groups: Sequence[object], file: object) -> Texts:
    """Convert groups to texts; refuse empty ones."""
    filled = ["" if group is None or group != group else group for group in groups]
    texts = [text.strip() for text in keys_as_texts(filled)]
    if not all(texts):
        raise InputError(f"row {texts.index('')} (from 0) is empty", file=file, field=GROUP)
    return np.array(texts)


# --- copies


def copied_rows(scores: npt.NDArray[Any], *, are_probabilities: bool) -> Numbers | None:
    """Return, for each row, the first row with the same scores; None if scores cannot tell copies.

    It is `~row` (negative) where scores may be equal by chance, as those that are rounded or
    saturated; everywhere if fewer than 1 % of the rows are copies.
    """
    n = len(scores)
    if scores.dtype.kind != "f" or scores.dtype.itemsize < 4 or scores.shape[1] < _LEAST_SCORES:
        return None
    some = scores[:, :: max(1, scores.shape[1] // _MOST_SCORES)]
    if len(np.unique(some)) < n / 10:  # shares of a few votes, as of nearest neighbours
        return None
    digits = 6 if are_probabilities else 4
    tells = (some != np.round(some, digits)).sum(axis=1) >= _LEAST_SCORES
    if are_probabilities:
        tells &= scores.max(axis=1, initial=0) < _SATURATED
    _, which, counts = np.unique(scores[:, 0], return_inverse=True, return_counts=True)
    first, seen = np.arange(n), dict[int, int]()
    for row in np.flatnonzero(counts[which] > 1).tolist():
        first[row] = seen.setdefault(hash(scores[row].tobytes()), row)
    n_copies = (tells & (first != np.arange(n))).sum()
    return np.where(tells & (n_copies >= max(2, _LEAST_SHARE * n)), first, ~first)


def copies_warning(copies: Numbers) -> list[str]:
    """Return a warning of how many rows have the scores of an earlier row; empty if none has."""
    n = int(((copies >= 0) & (copies != np.arange(len(copies)))).sum())
    return [
        f"{n:,} of {len(copies):,} rows have the scores of an earlier one, to the last bit: are "
        "images there several times? Where no groups are given, rows that are equal for all models "
        "count as one group in intervals"
    ] if n else []  # fmt: skip


def common_copies(models: Sequence[Predictions]) -> Numbers | None:
    """Return, for each datapoint, the first datapoint of which it is a copy for all models.

    The scores of one model at least have to be evidence; a model without any has to have the same
    prediction and confidence. None if there are no copies.
    """
    n, sizes = len(models[0]), {len(model) for model in models}
    is_evidence = (model.copies is not None and (model.copies >= 0).any() for model in models)
    if len(sizes) > 1 or not any(is_evidence):  # unequal sizes are refused by the caller
        return None
    shown, numbers, first = np.zeros(n, np.bool_), np.zeros(n, np.int64), np.arange(n)
    for model in models:
        ours: npt.NDArray[Any] = 2.0 * model.prediction + model.probability
        if model.copies is not None:
            ours, shown = model.copies, shown | (model.copies >= 0)
        which = np.unique(ours, return_inverse=True)[1]
        _, first, numbers = np.unique(n * numbers + which, return_index=True, return_inverse=True)
    copies = np.where(shown, first[numbers], np.arange(n))
    return copies if (copies != np.arange(n)).any() else None
