"""How a person's prediction file is laid out: the names of its columns, its classes, its labels."""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.label_spaces import label_space, resolve_classes
from matcheval.errors import CALLER, Caller, InputError, listed, suggest
from matcheval.io.files import readable
from matcheval.names import PREDICTIONS_KIND
from matcheval.predictions.class_names import Vocabulary, folded
from matcheval.predictions.column_names import COLUMNS, our_name

if TYPE_CHECKING:
    from matcheval.datasets.kinds import DatasetSpec


@dataclass(frozen=True)
class Layout:
    """What a person says of a prediction file; the rest follows from its columns (`recognition`).

    Attributes
    ----------
    columns : mapping of str to str
        Names of the file's columns by ours; with `*`, what those of all classes begin with.
    classes : tuple of str, optional
        Names of the classes in the order of their labels.
    first_label : int
        The number of the first class, 0 or 1.
    labels_file : str, optional
        File of the true classes, in place of those in the file.
    labels_are_true : bool
        Whether labels that all predictions equal are the truth all the same.
    merged : mapping of str to str
        Names that were taken for another spelling of a class, with the one that it goes by.
    order_is_known : bool
        False if the classes are those that occur, sorted: no number is known to mean one of them.
    caller : str
        Whose options messages name.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    first_label: int = 0
    labels_file: str | None = None
    labels_are_true: bool = False
    merged: Mapping[str, str] = field(default_factory=dict, compare=False)
    order_is_known: bool = field(default=True, compare=False)
    caller: Caller = field(default_factory=CALLER.get, compare=False)

    @property
    def notes(self) -> list[str]:
        """What was recognised as classes that nobody named, in sentences."""
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
        """Return how the caller gives an option such as `columns` or `classes`, for a message."""
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
                f"the order of the labels: {self.say('classes')}",
            )
        # A study that lists its classes says how they are spelt.
        fold = str.casefold if self.caller == "study" else folded
        position = Vocabulary(classes, fold).position
        at = {text: position(text) for text in set(texts)}
        found = [at[text] for text in texts]
        if "" in at:
            raise wrong(
                f"{texts.count(''):,} of {len(texts):,} cells are empty",
                remedy="Leave out the rows that have no class, or fill them in",
            )
        if None in found:
            row = found.index(None)
            near = difflib.get_close_matches(texts[row], classes, n=1)
            remedy = f"The nearest is '{near[0]}': correct the one that is misspelt" if near else ""
            raise wrong(
                f"row {row} (from 0): '{texts[row]:.60}' is none of the {len(classes)} classes",
                remedy=remedy or suggest(texts[row], classes),
            )
        return np.array(found, np.int64)


def class_name(layout: Layout, label: int) -> str:
    """Return what the caller calls a class: its name, or its number from `first_label`."""
    classes = layout.classes or ()
    return classes[label] if label < len(classes) else str(label + layout.first_label)


def class_names(layout: Layout, labels: npt.NDArray[Any]) -> list[str]:
    """Return what the caller calls the classes of labels."""
    return [class_name(layout, label) for label in labels.tolist()]


def layout_of(spec: "DatasetSpec") -> Layout:
    """Return how the prediction files of a dataset are laid out."""
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


def columns_given(columns: Mapping[str, str], file: object, field: str) -> dict[str, str]:
    """Check the names of columns that a person gave, and return them by ours."""
    by_ours = {our_name(name): theirs for name, theirs in columns.items()}
    unknown = [name for name in by_ours if name not in COLUMNS]
    if unknown or len(by_ours) < len(columns):
        remedy = f"Name {', '.join(COLUMNS)}, as in label=target"
        twice = f"{', '.join(columns)} name a column twice"
        problem = f"there is no column '{unknown[0]}'" if unknown else twice
        raise InputError(problem, file=file, field=field, remedy=remedy)
    theirs = list(columns.values())
    repeated = [name for name in theirs if not name or theirs.count(name) > 1]
    if repeated:
        raise InputError(f"'{repeated[0]}' is given twice or empty", file=file, field=field)
    return by_ours


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
    # Hugging Face's, of classes without names, and tensors that were printed.
    if all(found := [re.fullmatch(r"LABEL_(\d+)|tensor\((\d+).*\)", one) for one in texts]):
        texts = [one[1] or one[2] for one in found if one]
    if not all(_is_whole(text) and len(text) < 19 and str(int(text)) == text for text in texts):
        return values
    return np.array(list(map(int, texts)), np.int64)
