"""How a person's prediction file is laid out: the names of its columns, its classes, its labels."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from matcheval.datasets.label_spaces import label_space, resolve_classes
from matcheval.errors import InputError, suggest
from matcheval.io.files import readable
from matcheval.names import PREDICTIONS_KIND

if TYPE_CHECKING:
    from matcheval.datasets.kinds import DatasetSpec

Kind = Literal["logits", "probabilities"]
KINDS: tuple[Kind, Kind] = ("logits", "probabilities")
COLUMNS = ("index", "label", "prediction", "probability", *KINDS)

# Columns of single classes begin with one of these, and end with the number or name of the class;
# after `p_` comes a number, since a column such as `p_value` is no class.
_PREFIXES: dict[Kind, tuple[str, ...]] = {"logits": ("logit_",), "probabilities": ("prob_", "p_")}
_NUMBERED_ONLY = "p_"
# Further names: of arrays in `.npz` files, and of lists in JSON files.
_ALIASES = {"labels": "label", "scores": "probabilities"}


@dataclass(frozen=True)
class ClassColumns:
    """Columns that hold the scores of one class each."""

    columns: dict[str, str]
    numbered: bool
    prefix: str


@dataclass(frozen=True)
class Layout:
    """How a prediction file is to be read."""

    columns: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    first_label: int = 0

    def positions(self, names: Sequence[str], file: object) -> dict[str, int]:
        """Find the columns of a file by our names; those that are read may occur once only."""
        given = {
            _position(names, theirs, ours, file): ours
            for ours, theirs in self.columns.items()
            if not theirs.endswith("*")
        }
        ours_given = set(given.values())
        taken = {n for n in names if n in COLUMNS} | ours_given
        found: dict[str, int] = {}
        for at, name in enumerate(names):
            ours = name if name in COLUMNS else self._our_name(name, taken)
            if at not in given and ours in ours_given:
                continue
            ours = given.get(at, ours)
            if ours in found and self.reads(ours):
                raise InputError("occurs twice", file=file, field=ours)
            found.setdefault(ours, at)
        return found

    def _our_name(self, name: str, taken: set[str]) -> str:
        """Return the standard name of a column, whatever its case; its own name if it has none."""
        small = name.casefold().strip()
        ours = _ALIASES.get(small, small)
        if ours in COLUMNS and ours not in taken:
            return ours
        for prefix in self._all_prefixes:
            if small.startswith(prefix.casefold()):
                return prefix + name.strip()[len(prefix) :]
        return name

    def _prefixes(self, kind: Kind) -> tuple[str, ...]:
        """Return the prefixes that mark a column as holding the scores of one class."""
        given = self.columns.get(kind, "")
        return (given.removesuffix("*"),) if given.endswith("*") else _PREFIXES[kind]

    @property
    def _all_prefixes(self) -> tuple[str, ...]:
        return self._prefixes("logits") + self._prefixes("probabilities")

    def reads(self, name: str) -> bool:
        """Whether a column of this name, which is ours, is read."""
        return name in COLUMNS or name.startswith(self._all_prefixes)

    def class_columns(self, names: Sequence[str], kind: Kind) -> ClassColumns | None:
        """Find the columns that hold the scores of one class each."""
        for prefix in self._prefixes(kind):
            found = {n.removeprefix(prefix): n for n in names if n.startswith(prefix)}
            found.pop("", None)
            numbers = {key: name for key, name in found.items() if key.isdecimal()}
            if numbers and set(numbers) != set(self.classes or ()):
                return ClassColumns(numbers, True, prefix)
            if len(found) > 1 and prefix != _NUMBERED_ONLY:
                return ClassColumns(found, False, prefix)
        return None

    def labels(self, values: npt.NDArray[Any], file: object, field: str) -> npt.NDArray[Any]:
        """Turn a column of class names, or of numbers counted from `first_label`, into labels."""
        wrong = partial(InputError, file=file, field=field)
        classes, kind, first = self.classes, values.dtype.kind, self.first_label
        if kind in "iu" and classes and all(map(_is_whole, classes)):
            values, kind = values.astype(str), "U"
        if values.ndim != 1 or not len(values):
            return values
        if kind in "iuf" and first:
            if (values < first).any():
                row = int((values < first).argmax())
                raise wrong(f"row {row} (from 0): {values[row]} is below {first}, the first label")
            return values.astype(np.float64 if kind == "f" else np.int64) - first
        if kind not in "OU":
            return values
        texts = [value.strip() if isinstance(value, str) else value for value in values.tolist()]
        strange = [value for value in texts if not isinstance(value, str)]
        if strange:
            raise wrong(f"holds {strange[0]!r:.60}, neither a number nor a class name")
        if classes is None:
            raise wrong(
                f"has dtype object: it holds names such as '{texts[0]:.60}'",
                remedy="Give classes as whole numbers, 0, 1, ..., or the names of all classes in "
                "the order of the labels (--classes FILE, or 'classes' of the dataset)",
            )
        number = {name: label for label, name in enumerate(classes)}
        unknown = next((row for row, text in enumerate(texts) if text not in number), None)
        if unknown is not None:
            problem = f"'{texts[unknown]:.60}' is none of the {len(classes)} classes"
            raise wrong(
                f"row {unknown} (from 0): {problem}", remedy=suggest(texts[unknown], classes)
            )
        return np.array([number[text] for text in texts], np.int64)


def layout_of(spec: "DatasetSpec") -> Layout:
    """Return how the prediction files of a dataset are laid out."""
    if spec.kind != PREDICTIONS_KIND:
        return Layout()
    return Layout(
        columns=dict(spec.options.get("columns", {})),
        classes=spec.settings.known_classes,
        first_label=int(spec.options.get("first_label", 0)),
    )


def check_columns_given(columns: Mapping[str, str], file: object, field: str) -> None:
    """Check the names of columns that a person gave."""
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        remedy = f"Name {', '.join(COLUMNS)}, as in label=target"
        problem = f"there is no column '{unknown[0]}'"
        raise InputError(problem, file=file, field=field, remedy=remedy)
    theirs = list(columns.values())
    twice = [name for name in theirs if not name or theirs.count(name) > 1]
    if twice:
        raise InputError(f"'{twice[0]}' is given twice or empty", file=file, field=field)


def _position(names: Sequence[str], theirs: str, ours: str, file: object) -> int:
    """Return where a column is that a person named."""
    same = [at for at, name in enumerate(names) if name.strip().casefold() == theirs.casefold()]
    found = [at for at, name in enumerate(names) if name == theirs] or same
    if len(found) != 1:
        raise InputError(
            f"{'several columns' if found else 'no column'} '{theirs}', which was named as "
            f"'{ours}'; found {', '.join(names) or 'none'}", file=file,
        )  # fmt: skip
    return found[0]


LABEL_SPACES = ("cifar10", "imagenet")


def read_classes(text: str) -> tuple[str, ...] | int:
    """Read what a person gave as classes on a command line."""
    if _is_whole(text):
        return int(text) if len(text) < 19 else np.iinfo(np.int64).max
    if text in LABEL_SPACES:
        return label_space(text)
    path = Path(text)
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            f"not a readable file ({error})" if isinstance(error, UnicodeError) else "no such file",
            file=text,
            remedy="--classes takes a number, cifar10, imagenet, or a file with a name per line",
        ) from error
    names: Any = [line.strip() for line in content.splitlines() if line.strip()]
    if path.suffix.lower() == ".json":
        with readable(path, "readable as JSON"):
            names = json.loads(content)
    if not isinstance(names, list) or len(names) < 2:
        raise InputError("holds no list of at least two class names", file=path)
    return resolve_classes(names)


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def as_numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return texts that are all whole numbers, as columns of JSON and Parquet may be, as numbers.

    Parameters
    ----------
    values : array of str objects, shape (n,)

    Returns
    -------
    int64 array, or `values` if one of them is something else.
    """
    texts = [value if isinstance(value, str) else "" for value in values.tolist()]
    if not all(_is_whole(text) and len(text) < 19 and str(int(text)) == text for text in texts):
        return values
    return np.array(list(map(int, texts)), np.int64)


def names_in(values: npt.NDArray[Any], file: object) -> set[str]:
    """Return the names in a column of class names."""
    names = {value.strip() for value in values.tolist() if isinstance(value, str)}
    numbers = sorted(filter(_is_number, names))
    if numbers and len(numbers) < len(names):
        name = min(names.difference(numbers))
        raise InputError(
            f"holds numbers such as {numbers[0]:.60} and texts such as '{name:.60}' as classes",
            file=file, remedy="Correct them; if all are names, give all of them (--classes FILE)",
        )  # fmt: skip
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
