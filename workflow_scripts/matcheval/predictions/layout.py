"""How a person's prediction file is laid out: the names of its columns, its classes, its labels.

Class names of all columns and files that are compared have one vocabulary, however they are spelt.
"""

import difflib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.label_spaces import LABEL_SPACES, checked_labels
from matcheval.errors import CALLER, Caller, InputError, listed, suggest
from matcheval.io.delimited_text import is_number
from matcheval.io.files import readable
from matcheval.names import PREDICTIONS_KIND
from matcheval.predictions.column_names import COLUMNS, standard_name

if TYPE_CHECKING:
    from matcheval.datasets.kinds import DatasetSpec


@dataclass(frozen=True)
class Layout:
    """How a user describes a prediction file: its columns, classes and labels."""

    # Names of the file's columns by ours; with `*`, what those of all classes begin with.
    columns: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None  # in the order of their labels
    first_label: int = 0
    labels_file: str | None = None  # of the true classes, in place of those in the file
    labels_are_true: bool = False  # although all predictions equal them
    n_classes: int | None = None  # where it is given without names
    # Names that were taken for another spelling of a class, with the one that it goes by.
    merged: Mapping[str, str] = field(default_factory=dict, compare=False)
    # False if the classes are those that occur, sorted: no number is known to mean one of them.
    order_is_known: bool = field(default=True, compare=False)
    caller: Caller = field(default_factory=CALLER.get, compare=False)  # whose options messages name

    @property
    def notes(self) -> list[str]:
        """Sentences on classes that were inferred from files, and on merged spellings."""
        notes = [
            f"classes: '{other}' is taken for another spelling of '{name}'"
            for other, name in self.merged.items()
        ]
        if self.classes is None or self.order_is_known:
            return notes
        return [
            f"classes: the {len(self.classes)} names that occur in the files, sorted: "
            f"{listed(self.classes)} ({self.say('classes')} gives others, or another order)",
            *notes,
        ]

    def say(self, option: str, **columns: str) -> str:
        """Write an option as the caller would (Python, command or study), for a message."""
        values = {"columns": columns, "classes": ["..."], "first_label": 1, "labels_are_true": True}
        value: Any = values[option]
        if self.caller == "python":
            return f"{option}={value!r}".replace("'...'", "...")
        if self.caller == "study":
            return f"`{option}` of the dataset" + (
                f", {json.dumps(value)}".replace('"', "") if option == "columns" else ""
            )
        texts = {
            "columns": " ".join(f"{k}={v}" for k, v in columns.items()), "classes": "FILE",
            "labels_are_true": "",
        }  # fmt: skip
        return f"--{option.replace('_', '-')} {texts.get(option, value)}".rstrip()

    def labels(self, values: npt.NDArray[Any], file: object, field: str) -> npt.NDArray[Any]:
        """Convert class names, or numbers counted from `first_label`, to labels from 0."""
        wrong = partial(InputError, file=file, field=field)
        classes, kind, first = self.classes, values.dtype.kind, self.first_label
        if kind in "iu" and classes and all(map(_is_integer, classes)):
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
        texts = _stripped_texts(values, file, field)
        if classes is None:
            raise wrong(
                f"has dtype object: it holds names such as '{texts[0]:.60}'",
                remedy="Give classes as whole numbers, 0, 1, ..., or the names of all classes in "
                f"the order of the labels: {self.say('classes')}",
            )
        # A study that lists its classes says how they are spelt.
        fold = str.casefold if self.caller == "study" else folded
        position = Vocabulary(classes, fold).position
        labels = {text: position(text) for text in set(texts)}
        if None in labels.values():
            row = next(row for row, text in enumerate(texts) if labels[text] is None)
            near = difflib.get_close_matches(texts[row], classes, n=1)
            remedy = f"The nearest is '{near[0]}': correct the one that is misspelt" if near else ""
            raise wrong(
                f"row {row} (from 0): '{texts[row]:.60}' is none of the {len(classes)} classes",
                remedy=remedy or suggest(texts[row], classes),
            )
        return np.array([labels[text] for text in texts], np.int64)


def class_name(layout: Layout, label: int) -> str:
    """Return the name of a label's class, or its number as the user counts it."""
    classes = layout.classes or ()
    return classes[label] if label < len(classes) else str(label + layout.first_label)


def class_names(layout: Layout, labels: npt.NDArray[Any]) -> list[str]:
    """Return `class_name` of each label."""
    return [class_name(layout, label) for label in labels.tolist()]


def layout_of(spec: "DatasetSpec") -> Layout:
    """Return the layout of the prediction files of a study's dataset."""
    if spec.kind != PREDICTIONS_KIND:
        return Layout()
    return Layout(
        caller="study",
        columns=dict(spec.options.get("columns", {})),
        classes=spec.settings.known_classes,
        first_label=int(spec.options.get("first_label", 0)),
        labels_file=spec.options.get("labels"),
        labels_are_true=bool(spec.options.get("labels_are_true", False)),
    )


def check_column_names(columns: Mapping[str, str], file: object, field: str) -> dict[str, str]:
    """Check a user's column names, and return them by our standard names."""
    by_ours = {standard_name(name): theirs for name, theirs in columns.items()}
    unknown = [name for name in by_ours if name not in COLUMNS]
    if unknown or len(by_ours) < len(columns):
        twice = f"{', '.join(columns)} name a column twice"
        problem = f"there is no column '{unknown[0]}'" if unknown else twice
        remedy = f"Name {', '.join(COLUMNS)}, as in label=target"
        raise InputError(problem, file=file, field=field, remedy=remedy)
    theirs = list(columns.values())
    if repeated := [name for name in theirs if not name or theirs.count(name) > 1]:
        raise InputError(f"'{repeated[0]}' is given twice or empty", file=file, field=field)
    return by_ours


def read_classes(text: str) -> tuple[str, ...] | int | str:
    """Parse the option `--classes`: a number, a known set of classes, or a file of names."""
    if _is_integer(text):
        return int(text) if len(text) < 19 else np.iinfo(np.int64).max
    if text in LABEL_SPACES:
        return text
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
    return tuple(map(str, names))


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def as_numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert texts to integers if all are whole numbers, such as `3` or `LABEL_3`; else keep."""
    texts = [value if isinstance(value, str) else "" for value in values.tolist()]
    # Hugging Face's, of classes without names, and tensors that were printed.
    if all(matches := [re.fullmatch(r"LABEL_(\d+)|tensor\((\d+).*\)", text) for text in texts]):
        texts = [match[1] or match[2] for match in matches if match]
    if not all(_is_integer(text) and len(text) < 19 and str(int(text)) == text for text in texts):
        return values
    return np.array(list(map(int, texts)), np.int64)


# --- names of classes, however they are spelt

_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")
_ABSENT = ("na", "n/a", "none", "null", "missing")  # what tools write where nothing is known
_MIN_ROWS = 20


def folded(name: str) -> str:
    """Normalise a name's Unicode form, spaces, case, `_` and `-`, in which spellings differ."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", name))
    return " ".join(re.sub(r"(?<=\w)[_-]+(?=\w)|_", " ", text).split()).casefold() or name


class Vocabulary:
    """Finds the positions of class names in a list of classes, whatever their spelling."""

    def __init__(self, classes: Iterable[str], fold: Callable[[str], str] = folded) -> None:
        names, self._fold = list(classes), fold
        spellings = [fold(name) for name in names]
        self._at = {spelling: at for at, spelling in enumerate(spellings)}
        if len(self._at) < len(names):  # spellings that two classes share tell neither
            self._at = {s: at for s, at in self._at.items() if spellings.count(s) == 1}
        self._exact = {name: at for at, name in enumerate(names)}

    def position(self, name: str) -> int | None:
        """Return the position of a class by its name in any spelling; None if unknown."""
        return self._exact.get(name, self._at.get(self._fold(name)))


@dataclass(frozen=True)
class NamedColumn:
    """The class names in a column of labels or predictions, or in the names of score columns."""

    role: str
    names: frozenset[str]
    n_rows: int
    file: object


def names_in(role: str, values: npt.NDArray[np.object_], file: object) -> NamedColumn:
    """Collect the class names in a column; refuse empty cells, and numbers beside texts."""
    texts = _stripped_texts(values, file, role)
    names = frozenset(_INVISIBLE.sub("", text).strip() for text in {*texts})
    numbers = sorted(filter(is_number, names))
    if numbers and len(numbers) < len(names):
        name = min(names.difference(numbers))
        raise InputError(
            f"holds numbers such as {numbers[0]:.60} and texts such as '{name:.60}' as classes",
            file=file, remedy="Correct them; if all are names, give the names of all classes",
        )  # fmt: skip
    return NamedColumn(role, names, len(texts), file)


def _stripped_texts(values: npt.NDArray[Any], file: object, field: str) -> list[str]:
    """Return a column's texts without surrounding spaces; refuse empty ones."""
    texts = [(value or "").strip() for value in values.tolist()]
    if n_empty := sum(not _INVISIBLE.sub("", text).strip() for text in texts):
        problem = f"{n_empty:,} of {len(texts):,} cells are empty"
        remedy = "Leave out the rows that have no class, or fill them in"
        raise InputError(problem, file=file, field=field, remedy=remedy)
    return texts


def merge_spellings(
    columns: Sequence[NamedColumn], option: str
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the classes that occur, sorted, and a mapping of other spellings to them.

    Refused is what may be one class or two; `option` is how the caller names all classes.
    """
    by_role = defaultdict[str, set[str]](set)
    for column in columns:
        by_role[column.role] |= frozenset(checked_labels(sorted(column.names), column.file))
    predicted = {folded(name) for role in ("prediction", "scores") for name in by_role[role]}
    for column in columns:
        absent = [n for n in column.names if n.casefold() in _ABSENT and folded(n) not in predicted]
        if column.role == "label" and absent and predicted:
            raise InputError(
                f"'{absent[0]}' is never predicted", file=column.file, field="label",
                remedy="If it says that the true class is not known, leave these rows out. If it "
                f"is a class, name all classes: {option}",
            )  # fmt: skip
        is_unlike = not {*map(folded, column.names)} & {*map(folded, by_role["label"])}
        are_unique = len(column.names) > 0.9 * column.n_rows >= _MIN_ROWS
        if column.role == "prediction" and is_unlike and are_unique and by_role["label"]:
            raise InputError(
                f"holds {len(column.names):,} texts in {column.n_rows:,} rows, such as "
                f"'{min(column.names):.40}': names of images, not predicted classes",
                file=column.file, field="prediction", remedy="Name the column of the predictions",
            )  # fmt: skip
    every = set[str]().union(*by_role.values())
    spellings = defaultdict[str, set[str]](set)
    for name in every:
        spellings[folded(name)].add(name)
    by_column = [
        [(column, column.names & names) for column in columns if column.names & names]
        for names in spellings.values()
        if len(names) > 1
    ]
    merged = dict[str, str]()
    # Where two spellings are two classes, such as letters, others are not taken for one.
    for parts in [] if any(map(_are_distinct_classes, by_column)) else by_column:
        first, *others = sorted(set[str]().union(*(names for _, names in parts)))
        if both := [column for column, names in parts if len(names) > 1]:
            raise InputError(
                f"'{first}' and '{others[0]}' may be one class or two", file=both[0].file,
                field=both[0].role,
                remedy=f"Spell a class in one way everywhere. If they are two: {option}",
            )  # fmt: skip
        merged |= dict.fromkeys(others, first)
    labels = {*map(folded, by_role["label"])}
    bare = {_compact(name): name for name in by_role["prediction"] if folded(name) not in labels}
    for name in sorted(by_role["label"]):
        other = bare.get(_compact(name), name)
        if folded(name) not in predicted and folded(other) != folded(name):
            raise InputError(
                f"'{name}' is a label only, and '{other}' a prediction only", field="label",
                file=next(column.file for column in columns if name in column.names),
                remedy=f"Spell a class in one way everywhere. If they are two: {option}",
            )  # fmt: skip
    return tuple(sorted(every - merged.keys())), merged


def _compact(name: str) -> str:
    """Return a class name normalised, and without punctuation and spaces."""
    return re.sub(r"\W|_", "", folded(name))


def _are_distinct_classes(parts: Sequence[tuple[NamedColumn, frozenset[str]]]) -> bool:
    """Whether spellings are distinct classes: all columns, or columns of scores, have each."""
    every = frozenset[str]().union(*(names for _, names in parts))
    has_scores = any(column.role == "scores" and names == every for column, names in parts)
    return has_scores or all(names == every for _, names in parts)
