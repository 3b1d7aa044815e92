"""How a person's prediction file is laid out: the names of its columns, its classes, its labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from matcheval.datasets.kinds import PREDICTIONS_KIND, DatasetSpec
from matcheval.errors import InputError

Kind = Literal["logits", "probabilities"]
KINDS: tuple[Kind, Kind] = ("logits", "probabilities")
COLUMNS = ("index", "label", "prediction", "probability", *KINDS)

# Columns of single classes begin with one of these, and end with the number or name of the class;
# after `p_` comes a number, since a column such as `p_value` is no class.
_PREFIXES: dict[Kind, tuple[str, ...]] = {
    "logits": ("logit_",),
    "probabilities": ("prob_", "p_"),
}
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

    def renamed(self, names: Sequence[str], file: object) -> list[tuple[int, str]]:
        """Find the columns of a file by the names that they have here."""
        given: dict[int, str] = {}
        for ours, theirs in self.columns.items():
            if not theirs.endswith("*"):
                given[_position(names, theirs, ours, file)] = ours
        ours_given = set(given.values())
        taken = {n for n in names if n in COLUMNS} | ours_given
        found = []
        for position, name in enumerate(names):
            if position in given:
                found.append((position, given[position]))
                continue
            known = name if name in COLUMNS else self._known(name, taken)
            if known not in ours_given:
                found.append((position, known))
        return found

    def _known(self, name: str, taken: set[str]) -> str:
        """Return our name of a column in other case, or its own."""
        small = name.casefold().strip()
        known = _ALIASES.get(small, small)
        if known in COLUMNS and known not in taken:
            return known
        for prefix in (one for kind in KINDS for one in self.prefixes(kind)):
            if small.startswith(prefix.casefold()):
                return prefix + name.strip()[len(prefix) :]
        return name

    def prefixes(self, kind: Kind) -> tuple[str, ...]:
        """Return what the names of a column per class begin with."""
        given = self.columns.get(kind, "")
        return (given.removesuffix("*"),) if given.endswith("*") else _PREFIXES[kind]

    def class_columns(self, names: Sequence[str], kind: Kind) -> ClassColumns | None:
        """Find the columns that hold the scores of one class each."""
        for prefix in self.prefixes(kind):
            found = {n.removeprefix(prefix): n for n in names if n.startswith(prefix)}
            found.pop("", None)
            numbers = {key: name for key, name in found.items() if key.isdecimal()}
            if numbers and set(numbers) != set(self.classes or ()):
                return ClassColumns(numbers, True, prefix)
            if len(found) > 1 and prefix != _NUMBERED_ONLY:
                return ClassColumns(found, False, prefix)
        return None


def layout_of(spec: DatasetSpec) -> Layout:
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
        raise InputError(
            f"there is no column '{unknown[0]}'",
            file=file,
            field=field,
            remedy=f"Name {', '.join(COLUMNS)}, as in label=target",
        )
    theirs = list(columns.values())
    twice = [name for name in theirs if not name or theirs.count(name) > 1]
    if twice:
        raise InputError(f"'{twice[0]}' is given twice or empty", file=file, field=field)


def _position(names: Sequence[str], theirs: str, ours: str, file: object) -> int:
    """Return where a column is that a person named."""
    found = [at for at, name in enumerate(names) if name == theirs]
    found = found or [
        at for at, name in enumerate(names) if name.strip().casefold() == theirs.casefold()
    ]
    if len(found) != 1:
        raise InputError(
            f"{'no column' if not found else 'several columns'} '{theirs}', which was named as "
            f"'{ours}'; found {', '.join(names) or 'none'}",
            file=file,
        )
    return found[0]
