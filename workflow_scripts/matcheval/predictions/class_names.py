"""One vocabulary of class names for all columns and files that are compared."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.datasets.label_spaces import checked_labels
from matcheval.errors import InputError
from matcheval.io.delimited_text import is_number

_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")
_ABSENT = ("na", "n/a", "none", "null", "missing")  # what tools write where nothing is known
_MIN_ROWS = 20


def folded(name: str) -> str:
    """Return a name without what spellings differ in: accents' form, spaces, case, `_` and `-`."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", name))
    return " ".join(re.sub(r"(?<=\w)[_-]+(?=\w)|_", " ", text).split()).casefold() or name


class Vocabulary:
    """Positions of class names, however they are spelt: alike are names of equal `fold`."""

    def __init__(self, classes: Iterable[str], fold: Callable[[str], str] = folded) -> None:
        names, self._fold = list(classes), fold
        spellings = [fold(name) for name in names]
        self._at = {spelling: at for at, spelling in enumerate(spellings)}
        if len(self._at) < len(names):  # spellings that two classes share tell neither
            self._at = {s: at for s, at in self._at.items() if spellings.count(s) == 1}
        self._exact = {name: at for at, name in enumerate(names)}

    def position(self, name: str) -> int | None:
        """Return the position of the class of a name; None if there is none."""
        return self._exact.get(name, self._at.get(self._fold(name)))


@dataclass(frozen=True)
class NamedColumn:
    """The class names in a column of labels or predictions, or those of columns of scores."""

    role: str
    names: frozenset[str]
    n_rows: int
    file: object


def names_in(role: str, values: npt.NDArray[np.object_], file: object) -> NamedColumn:
    """Return the names in a column, none of which may be empty or a number among names."""
    cells = [value if isinstance(value, str) else "" for value in values.tolist()]
    texts = [_INVISIBLE.sub("", cell).strip() for cell in cells]
    names = frozenset(texts)
    if "" in names:
        raise InputError(
            f"{texts.count(''):,} of {len(texts):,} cells are empty", file=file, field=role,
            remedy="Leave out the rows that have no class, or fill them in",
        )  # fmt: skip
    numbers = sorted(filter(is_number, names))
    if numbers and len(numbers) < len(names):
        name = min(names.difference(numbers))
        raise InputError(
            f"holds numbers such as {numbers[0]:.60} and texts such as '{name:.60}' as classes",
            file=file, remedy="Correct them; if all are names, give the names of all classes",
        )  # fmt: skip
    return NamedColumn(role, names, len(texts), file)


def one_vocabulary(
    columns: Sequence[NamedColumn], option: str
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the classes that occur in columns, sorted, and those that are spelt in several ways.

    Raises
    ------
    InputError
        If names are not of classes, or if nobody can tell whether two spellings are one class;
        `option` is how the caller names all classes.
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
        is_unlike = not {folded(n) for n in column.names} & {folded(n) for n in by_role["label"]}
        are_unique = len(column.names) > 0.9 * column.n_rows >= _MIN_ROWS
        if column.role == "prediction" and is_unlike and are_unique and by_role["label"]:
            raise InputError(
                f"holds {len(column.names):,} texts in {column.n_rows:,} rows, such as "
                f"'{min(column.names):.40}': names of images, not predicted classes",
                file=column.file, field="prediction", remedy="Name the column of the predictions",
            )  # fmt: skip
    spellings = defaultdict[str, set[str]](set)
    for name in set[str]().union(*by_role.values()):
        spellings[folded(name)].add(name)
    classes, merged = list[str](), dict[str, str]()
    found_in = {
        spelling: [(one, one.names & names) for one in columns if one.names & names]
        for spelling, names in spellings.items()
    }
    # Where two spellings are two classes, such as letters, others are not taken for one.
    tells = any(len(s) > 1 and _are_classes(s, found_in[key]) for key, s in spellings.items())
    for spelling, names in spellings.items():
        of_columns = found_in[spelling]
        if len(names) == 1 or tells or _are_classes(names, of_columns):
            classes += names
        elif all(len(found) == 1 for _, found in of_columns):
            first, *others = sorted(names)
            classes.append(first)
            merged |= dict.fromkeys(others, first)
        else:
            first, second, *_ = sorted(names)
            column, _ = next(one for one in of_columns if len(one[1]) > 1)
            raise InputError(
                f"'{first}' and '{second}' may be one class or two", file=column.file,
                field=column.role,
                remedy=f"Spell a class in one way everywhere. If they are two: {option}",
            )  # fmt: skip
    truths, guesses = ({*by_role[role]} for role in ("label", "prediction"))
    bare = {re.sub(r"\W|_", "", folded(one)): one for one in guesses if folded(one) not in
            {*map(folded, truths)}}  # fmt: skip
    for one in sorted(truths):
        other = bare.get(re.sub(r"\W|_", "", folded(one)), one)
        if folded(one) not in predicted and folded(other) != folded(one):
            raise InputError(
                f"'{one}' is a label only, and '{other}' a prediction only", field="label",
                file=next(column.file for column in columns if one in column.names),
                remedy=f"Spell a class in one way everywhere. If they are two: {option}",
            )  # fmt: skip
    return tuple(sorted(classes)), merged


def _are_classes(names: set[str], of_columns: Sequence[tuple[NamedColumn, frozenset[str]]]) -> bool:
    """Whether spellings are classes of their own: all columns have all, or columns of scores do."""
    has_scores = any(one.role == "scores" and found == names for one, found in of_columns)
    return has_scores or all(found == names for _, found in of_columns)
