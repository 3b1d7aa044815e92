"""The same datapoints in files of several models, in any order: aligned by `index` or by a key."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.column_names import KEYS, plain
from matcheval.predictions.records import Predictions


@dataclass
class Alignment:
    """Gives datapoints that files name by keys, as file names, the positions of the first file.

    Files without keys, or with those of the first file in its order, stay as they are.
    """

    _first: npt.NDArray[Any] | None = None
    _file: object = None
    _name: str = ""
    _names: list[str] = field(default_factory=list)

    def place(self, found: Predictions, file: object) -> Predictions:
        """Return predictions with such positions as `index`, in increasing order."""
        keys = found.keys
        if keys is None:
            return found
        if self._first is None:
            self._first, self._file, self._name = keys, file, found.key_name
        elif not self._is_shared(found):
            return replace(found, keys=None)  # a comment, or the like, that is unlike in all rows
        placed = replace(found, is_identified=True)
        if np.array_equal(keys, self._first):
            return placed
        if not self._names:
            _check_unique(self._first, self._file)
            self._names = key_texts(self._first)
        _check_unique(keys, file)
        fold, how = common_fold(self._names, key_texts(keys))
        positions = {fold(key): row for row, key in enumerate(self._names)}
        index = list[int]()
        for key in key_texts(keys):
            if (name := fold(key)) not in positions:
                positions[name] = len(positions)
                self._names.append(key)
            index.append(positions[name])
        told = (*found.told, f"datapoints are joined by their names{how}") if how else found.told
        placed = replace(placed, index=np.array(index, np.int32), told=told)
        return _taken(placed, np.argsort(index))

    def _is_shared(self, found: Predictions) -> bool:
        """Whether both files have a key, by its usual name or by equal names and values."""
        names = (self._name, found.key_name)
        if all(plain(name) in KEYS for name in names):
            return True
        ours, theirs = ({*key_texts(one)} for one in (self._first, found.keys) if one is not None)
        return names[0] == names[1] and 2 * len(ours & theirs) >= min(len(ours), len(theirs))


def key_texts(keys: npt.NDArray[Any] | Sequence[Any]) -> list[str]:
    """Return keys as texts: 12.0, as numbers in a column with gaps are written, is 12."""
    values = keys.tolist() if isinstance(keys, np.ndarray) else keys
    whole = (isinstance(one, float) and one.is_integer() for one in values)
    return [str(int(one) if is_whole else one) for one, is_whole in zip(values, whole, strict=True)]


def _base(key: str) -> str:
    return key.replace("\\", "/").rpartition("/")[2]


def _stem(key: str) -> str:
    stem, dot, suffix = _base(key).rpartition(".")
    return (stem if dot and not suffix.isdecimal() else _base(key)).casefold()


_FOLDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str, ""),
    (lambda key: key.replace("\\", "/"), ", with / for \\"),
    (_base, " without folders"),
    (_stem, " without folders and extensions"),
    (lambda key: _stem(key).lstrip("0") or "0", " without leading zeros"),
)


def common_fold(ours: Sequence[str], theirs: Sequence[str]) -> tuple[Callable[[str], str], str]:
    """Return how keys are shortened so that most are in both files, and that in words.

    Keys of one file stay different; of equally good ways, the first is taken.
    """
    best, most = _FOLDS[0], -1
    for fold, how in _FOLDS:
        one, other = ({*map(fold, keys)} for keys in (ours, theirs))
        is_one_to_one = len(one) == len({*ours}) and len(other) == len({*theirs})
        if is_one_to_one and len(one & other) > most:
            best, most = (fold, how), len(one & other)
    return best


def _check_unique(keys: npt.NDArray[Any], file: object) -> None:
    seen = Counter(key_texts(keys))
    repeated = [key for key, n in seen.items() if n > 1]
    if repeated:
        raise InputError(
            f"'{repeated[0]:.100}' occurs {seen[repeated[0]]} times ({len(keys) - len(seen):,} "
            "rows repeat another's), so that files in another order cannot be aligned", file=file,
            remedy="Give each datapoint one row and a name of its own, or all files the same order",
        )  # fmt: skip


def shared_datapoints(
    found: Mapping[str, Predictions],
) -> tuple[dict[str, Predictions], list[str]]:
    """Keep the datapoints that all models, or sets, have, and say how many are left out."""
    parts = list(found.values())
    are_same = all(np.array_equal(one.index, parts[0].index) for one in parts[1:])
    if are_same or not all(one.is_identified for one in parts):
        return dict(found), []
    common = parts[0].index
    for one in parts[1:]:
        common = np.intersect1d(common, one.index)
    if not len(common):
        return dict(found), []  # which the caller refuses
    kept = {name: _taken(one, np.isin(one.index, common)) for name, one in found.items()}
    told = [
        f"{name}: {left:,} of {len(one):,} datapoints are left out, which not all files have"
        for name, one in found.items()
        if (left := len(one) - len(common)) > 0
    ]
    return kept, told


def datapoint_names(found: Predictions) -> list[str]:
    """Return what datapoints are called, shape (n,): by their file, or by their index."""
    return key_texts(found.index if found.keys is None else found.keys)


def _taken(found: Predictions, rows: npt.NDArray[Any] | Sequence[int]) -> Predictions:
    """Return some rows of predictions."""
    arrays = ("index", "label", "prediction", "probability", "keys", "groups", "copies")
    whole: dict[str, Any] = {name: getattr(found, name) for name in arrays}
    some: dict[str, Any] = {n: None if v is None else v[rows] for n, v in whole.items()}
    return replace(found, **some)
