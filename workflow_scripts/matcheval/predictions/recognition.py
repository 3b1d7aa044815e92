"""Which column of a prediction file is what, by the rules of docs/cli.md ("Which column is what").

Rules are tried in order; a column that one rule has taken is not looked at by later ones. Where a
rule fits two columns with different values, the file is refused with the option that decides.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError, listed
from matcheval.predictions.column_names import (
    ACCURACIES,
    COLUMNS,
    EITHER,
    KEYS,
    KINDS,
    MATRICES,
    OF_CLASS_1,
    POOLED,
    PREFIXES,
    SYNONYMS,
    Kind,
    is_known_column,
    snake_case,
    split_prefix,
    standard_name,
)
from matcheval.predictions.formats import Column, Form, Loaded
from matcheval.predictions.layout import Layout, folded

_SHOWN = 3  # columns that a message names
_LEAST_DISTINCT = 0.2  # share of distinct values in a key; others name classes, videos, folders


@dataclass(frozen=True)
class ClassColumns:
    """Columns with the scores of one class each, by the number or name of the class."""

    kind: Kind | None  # None where values tell it
    prefix: str
    columns: Mapping[str, Column]

    @property
    def numbered(self) -> bool:
        """Whether all classes are named by numbers."""
        return all(key.isdecimal() for key in self.columns)


@dataclass(frozen=True, eq=False)
class RawFile:
    """The recognised but unchecked columns of a prediction file or table, by our standard names."""

    file: object
    layout: Layout
    # By the names `COLUMNS`; `scores` are those of all classes, of a kind that values tell, and
    # `class_1` is the probability of class 1 of two.
    columns: Mapping[str, Column]
    names: Mapping[str, str]  # what these are called in the file
    shown: str  # the first columns of the file with their types, for messages
    metadata: Mapping[str, str]
    classes: ClassColumns | None
    key: tuple[str, npt.NDArray[Any]] | None  # what tells datapoints apart, with its name
    groups: npt.NDArray[Any] | None
    either: str | None  # the column that was taken for the prediction, and may be the truth
    accuracy: tuple[str, float] | None  # a single number in the file, with its name
    notes: Sequence[str]  # what was recognised by other names than the standard ones
    warnings: Sequence[str]  # what looks as if the rows were not of one model and one set


def recognise(loaded: Loaded, layout: Layout) -> RawFile:
    """Find out which columns of a file are labels, predictions, scores, keys and so on."""
    return _Recognition(loaded, layout).result()


@dataclass
class _Recognition:
    """The columns of one file, and the roles that the rules have assigned to them so far."""

    loaded: Loaded
    layout: Layout
    roles: dict[str, str] = field(default_factory=dict)  # names in the file by our names
    columns: dict[str, Column] = field(default_factory=dict)

    def result(self) -> RawFile:
        """Apply all rules in order, and return what they found."""
        names = self.loaded.names
        for ours, theirs in self.layout.columns.items():
            if not theirs.endswith("*"):
                self.roles[ours] = self._find_named(theirs, ours)
        wanted = [name for name in dict.fromkeys(names) if self._may_be_read(name)]
        if not wanted and len(names) <= _SHOWN:
            wanted = list(names)  # for the message that says what there is
        self.columns = dict(self.loaded.read(wanted))
        self._read_lists_in_text()
        self._split_rankings()
        self._take_standard_names()
        self._take_other_names()
        classes = None
        if not self._take_ranking():
            self._take_matrix()
            has_matrix = bool({*KINDS, "scores"} & {*self.roles})
            classes = self._find_class_columns(has_matrix=has_matrix)
            if classes is None and not has_matrix and "probability" not in self.roles:
                self._take_probability_of_class_1()
        either = self._take_ambiguous_label(has_scores=classes is not None)
        key = self._find_key()
        group = next((name for name in names if name.casefold().strip() == "group"), None)
        return RawFile(
            file=self.loaded.file, layout=self.layout,
            columns={ours: self.columns[theirs] for ours, theirs in self.roles.items()},
            names=self.roles, shown=self._describe(), metadata=self.loaded.metadata,
            classes=classes, key=None if key is None else (key, self.columns[key].values),
            groups=None if group is None else self.loaded.read([group])[group].values,
            either=either, accuracy=self._find_accuracy(), notes=self._notes(classes, key),
            warnings=self._warn_of_pooled_rows(),
        )  # fmt: skip

    def _find_named(self, theirs: str, ours: str) -> str:
        """Find the column that the user named for a role, if need be whatever its case."""
        names = self.loaded.names
        same = [name for name in names if name.strip().casefold() == theirs.strip().casefold()]
        matches = [name for name in names if name == theirs] or same
        if len(matches) != 1:
            raise InputError(
                f"{'several columns' if matches else 'no column'} '{theirs}', which was named as "
                f"'{ours}'; found {', '.join(names[:20]) or 'none'}", file=self.loaded.file,
            )  # fmt: skip
        return matches[0]

    def _may_be_read(self, name: str) -> bool:
        if name in self.roles.values() or not self.loaded.is_arrays:
            return True
        return is_known_column(name) or any(map(name.startswith, self._wildcards.values()))

    @property
    def _wildcards(self) -> dict[Kind, str]:
        """Prefixes of score columns that the user gave, as `logit_*`, by kind of score."""
        named = {kind: self.layout.columns.get(kind, "") for kind in KINDS}
        return {kind: name.removesuffix("*") for kind, name in named.items() if name.endswith("*")}

    def _unused(self) -> list[str]:
        """Return the columns that have no role yet."""
        return [name for name in self.columns if name not in self.roles.values()]

    def _fits_role(self, name: str, role: str) -> bool:
        """Whether a column's type and values allow a role."""
        values, form = self.columns[name].values, self.columns[name].form
        if role in (*KINDS, "scores"):
            return form == "matrix"
        if role == "prediction" and form == "float":  # fractions are a probability
            return not (((values >= 0) & (values <= 1)).all() and (values % 1 != 0).any())
        if form != "matrix" or not self.loaded.is_arrays:
            return form != "matrix" or role not in ("prediction", "probability")
        kinds = {"prediction": "iu", "label": "iuf"}.get(role, "")  # top k classes; one-hot labels
        return values.shape[1:] == (1,) or values.dtype.kind in kinds

    def _read_lists_in_text(self) -> None:
        """Parse score columns of texts such as `[0.1, 0.9]` to matrices, if all cells fit."""
        for name, column in self.columns.items():
            texts = column.values if column.form == "text" and snake_case(name) in MATRICES else ()
            if len(texts) and all(text is not None and text.startswith("[") for text in texts):
                rows = [text.strip("[] ").replace(",", " ").split() for text in texts]
                with contextlib.suppress(ValueError):  # which stay texts
                    self.columns[name] = Column(np.array(rows, np.float64), "matrix", "lists")

    def _split_rankings(self) -> None:
        """Keep only the best of timm's lists of ranked classes and of their probabilities."""
        names = {snake_case(name): name for name in self._unused()}
        lists = {key: name for key, name in names.items() if self._form(name) == "matrix"}
        best = lists.get("label", lists.get("index"))
        if best is None or not ("prob" in lists and {"filename", "key"} & names.keys()):
            return
        classes, ranked = self.columns[best].values, self.columns[lists["prob"]].values
        is_one_hot = "label" in lists and classes.dtype != object  # numbers are `index`
        are_alike = ranked.dtype.kind == "f" and ranked.shape == classes.shape
        if is_one_hot or not are_alike or not (np.diff(ranked) <= 0).all():
            return
        for name in [lists[key] for key in ("label", "index", "prob") if key in lists]:
            column = self.columns.pop(name)
            first = column.values[:, 0]
            form: Form = "text" if first.dtype == object else "whole"
            form = "float" if first.dtype.kind == "f" else form
            self.columns[f"{name}[0]"] = Column(first, form, column.type)

    def _take_standard_names(self) -> None:
        """Assign roles to columns that have our standard names, whatever their case."""
        for role in COLUMNS:
            if role in self.roles or role in self._wildcards:
                continue
            alike = [name for name in self.loaded.names if name.casefold().strip() == role]
            exact = [name for name in alike if name == role]
            if len(exact) > 1 or (not exact and len(alike) > 1):
                raise InputError("occurs twice", file=self.loaded.file, field=role)
            name = next(iter(exact or alike), "")
            if name in self._unused() and (role == "logits" or self._fits_role(name, role)):
                self.roles[role] = name

    def _take_other_names(self) -> None:
        """Assign the remaining roles to columns that have synonyms of their names."""
        for role in SYNONYMS:
            if role not in self.roles and (names := self._candidates(role)):
                self.roles[role] = self._first_if_equal(names, role)

    def _candidates(self, role: str) -> list[str]:
        """Return columns that are synonyms of a role; else the first ambiguous one, if any."""
        free = [name for name in self._unused() if self._fits_role(name, role)]
        named = [name for synonym in SYNONYMS[role] for name in free if snake_case(name) == synonym]
        return [name for name in named if snake_case(name) not in EITHER] or named[:1]

    def _first_if_equal(self, names: Sequence[str], role: str) -> str:
        """Return the first of columns for one role; refuse others with other values."""
        first, values = names[0], self.columns[names[0]].values
        others = (n for n in names[1:] if not np.array_equal(values, self.columns[n].values))
        if (other := next(others, None)) is not None:
            options = [self.layout.say("columns", **{role: name}) for name in (first, other)]
            raise InputError(
                f"'{first}' and '{other}' may both be the {role}; found {self._describe()}",
                file=self.loaded.file, remedy=f"Say which: {options[0]} or {options[1]}",
            )  # fmt: skip
        return first

    def _form(self, name: str) -> str:
        return self.columns[name].form

    def _take_ranking(self) -> bool:
        """Use the first of timm's ranked classes as the prediction: `label_0` with `prob_0`.

        Where another column is the prediction, the first probability is not that of its class.
        """
        own = ("prediction", "probability")
        others = {name for role, name in self.roles.items() if role not in own}
        names = {snake_case(name): name for name in self.columns if name not in others}
        best = names.get("label_0", names.get("index_0"))
        if best is None or "prob_0" not in names or not {"filename", "key"} & names.keys():
            return False
        if {*KINDS} & self.layout.columns.keys():
            return False
        if self.roles.setdefault("prediction", best) == best:
            self.roles.setdefault("probability", names["prob_0"])
        return True

    def _take_matrix(self) -> None:
        """Assign the role of logits, probabilities or scores to a list or matrix column."""
        if {*KINDS} & {*self.roles} or self._wildcards:
            return
        free = [name for name in self._unused() if self._fits_role(name, "scores")]
        for kind in (*KINDS, None):
            names = [
                n for m, of in MATRICES.items() for n in free if of == kind and snake_case(n) == m
            ]
            if names and (kind is not None or not {*KINDS} & {*self.roles}):
                self.roles[kind or "scores"] = self._first_if_equal(names, kind or "logits")

    def _find_class_columns(self, *, has_matrix: bool) -> ClassColumns | None:
        """Find the columns with the scores of one class each, by prefix or by class names."""
        if self._wildcards:
            return self._find_columns_by_wildcard(*next(iter(self._wildcards.items())))
        groups: dict[str, dict[str, str]] = {prefix: {} for prefix in PREFIXES}
        for name in self._unused():
            split = split_prefix(name)
            if split and snake_case(name) not in KEYS and standard_name(name) not in SYNONYMS:
                groups[split[0]][split[1]] = name
        classes, candidates = self._known_class_names(), list[ClassColumns]()
        for prefix, keys in groups.items():
            kind = PREFIXES[prefix]
            is_sure = kind is not None and prefix != "p"
            named_so = bool(classes) and classes <= {*map(folded, keys)}
            numbers = {key: name for key, name in keys.items() if key.isdecimal()}
            if numbers and set(numbers) != set(self.layout.classes or ()):
                candidates.append(self._make_class_columns(kind, f"{prefix}_", numbers))
            elif len(keys) > 1 and (is_sure or (named_so and not has_matrix)):
                candidates.append(self._make_class_columns(kind, f"{prefix}_", keys))
        if len(candidates) > 1 and "probability" not in self.roles:
            first, second = candidates[0].prefix, candidates[1].prefix
            option = {str(candidates[0].kind or KINDS[1]): f"{first}*"}
            raise InputError(
                f"holds columns {first}... and {second}...: either may be the scores of classes",
                file=self.loaded.file,
                remedy=f"Say which: {self.layout.say('columns', **option)}",
            )
        if candidates or has_matrix:
            return candidates[0] if candidates else None
        return self._find_columns_named_as_classes(classes)

    def _find_columns_by_wildcard(self, kind: Kind, prefix: str) -> ClassColumns:
        """Find the score columns that begin with a prefix the user gave; refuse a file without."""
        names = {
            key: name
            for name in self._unused()
            if name.startswith(prefix) and (key := name[len(prefix) :].lstrip("_-. "))
            and self._form(name) not in ("text", "matrix")
            and snake_case(name) not in (*KEYS, *EITHER)
        }  # fmt: skip
        numbers = {key: name for key, name in names.items() if key.isdecimal()}
        if not names:
            raise InputError(
                f"no column begins with '{prefix}', which was named as '{kind}'; "
                f"found {self._describe()}", file=self.loaded.file,
            )  # fmt: skip
        return self._make_class_columns(kind, prefix, numbers or names)

    def _find_columns_named_as_classes(self, classes: set[str]) -> ClassColumns | None:
        """Find score columns whose whole names are the numbers or names of classes."""
        free = [n for n in self._unused() if self._form(n) == "float" and not is_known_column(n)]
        numbers = {name.strip(): name for name in free if name.strip().isdecimal()}
        if len(numbers) > 1:
            return self._make_class_columns(None, "", numbers)
        names = {name.strip(): name for name in free}
        of_classes = {key: name for key, name in names.items() if folded(key) in classes}
        for some in (of_classes, names):
            if len(some) < 2 or not classes <= {*map(folded, some)}:
                continue
            columns = self._make_class_columns(None, "", some)
            is_given = self.layout.classes is not None and self.layout.order_is_known
            are_all = len(some) == len(of_classes) and (is_given or len(some) == len(names))
            if are_all or _sum_to_1(columns):
                return columns
        return None

    def _known_class_names(self) -> set[str]:
        """Return the normalised class names, as given or as in labels and predictions."""
        if self.layout.classes is not None and self.layout.order_is_known:
            return {*map(folded, self.layout.classes)}
        names: set[str] = set()
        for role in {"label", "prediction"} & {*self.roles}:
            column = self.columns[self.roles[role]]
            if column.form == "text":
                names |= {folded(text) for text in {*column.values} if text}
        return names

    def _make_class_columns(
        self, kind: Kind | None, prefix: str, keys: Mapping[str, str]
    ) -> ClassColumns:
        """Return columns as `ClassColumns`, by the classes in `keys`; refuse repeated ones."""
        names = list(self.loaded.names)
        if twice := [name for name in keys.values() if names.count(name) > 1]:
            remedy = "Give the classes names that differ"
            raise InputError("occurs twice", file=self.loaded.file, field=twice[0], remedy=remedy)
        return ClassColumns(kind, prefix, {key: self.columns[name] for key, name in keys.items()})

    def _take_probability_of_class_1(self) -> None:
        for name in self._unused():
            if snake_case(name) in OF_CLASS_1 and self._form(name) in ("float", "whole"):
                self.roles.setdefault("class_1", name)

    def _take_ambiguous_label(self, *, has_scores: bool) -> str | None:
        """Use `label`, beside a probability, as the prediction if there is no other.

        So write timm and pipelines of Hugging Face, whose true classes are in another column, or in
        a file beside; without these, the name is needed to say that it may be the truth.
        """
        name = self.roles.get("label", "")
        is_named = "label" in self.layout.columns or snake_case(name) not in EITHER
        needed = not has_scores and "prediction" not in self.roles and "probability" in self.roles
        if is_named or not needed or {*KINDS, "scores"} & {*self.roles}:
            return None
        self.roles["prediction"] = self.roles.pop("label")
        if "index" in self.roles and any(snake_case(n) in KEYS for n in self._unused()):
            del self.roles["index"]  # in the output of timm it is the number of the class
        truths = [synonym for synonym in SYNONYMS["label"] if synonym not in EITHER]
        others = [n for synonym in truths for n in self._unused() if snake_case(n) == synonym]
        if not others:
            return name
        self.roles["label"] = others[0]
        return None

    def _find_key(self) -> str | None:
        """Find the column that identifies datapoints, such as file names, if there is no index."""
        if "index" in self.roles:
            return None
        free = [name for name in self._unused() if self._form(name) in ("text", "whole", "float")]
        named = [name for key in KEYS for name in free if snake_case(name) == key]
        others = [name for name in free if self._form(name) == "text" and name not in named]
        for name in (*named, *others):
            if self._distinctness(name) == 1:
                return name
        # In it, some rows may be repeated.
        best = max(named, key=self._distinctness, default=None)
        return best if best is not None and self._distinctness(best) >= _LEAST_DISTINCT else None

    def _distinctness(self, name: str) -> float:
        """Return the share of distinct values in a column; 0 with gaps or fractions."""
        values = self.columns[name].values.tolist()
        if len(values) < 2 or any(value in (None, "") for value in values):
            return 0.0
        if self._form(name) == "float" and any(value % 1 != 0 for value in values):
            return 0.0
        return len(set(values)) / len(values)

    def _find_accuracy(self) -> tuple[str, float] | None:
        """Return the name and value of an array that states the accuracy as one number."""
        for name, column in self.columns.items() if self.loaded.is_arrays else ():
            is_single = column.form == "float" and column.values.size == 1
            if is_single and snake_case(name) in ACCURACIES:
                return name, float(column.values.item())
        return None

    def _warn_of_pooled_rows(self) -> list[str]:
        """Warn of columns that suggest rows of several models, parts or epochs."""
        warnings = []
        for name in (
            n for n in self._unused() if snake_case(n) in POOLED and self._form(n) != "matrix"
        ):
            values = {*map(str, self.columns[name].values.tolist())}
            if 1 < len(values) <= 0.5 * len(self.columns[name].values):
                shown = f"{', '.join(sorted(values)[:3])}{', ...' * (len(values) > 3)}"
                warnings.append(
                    f"column `{name}` has {len(values)} values ({shown:.80}): are all rows of one "
                    "model and one set?"
                )
        return warnings

    def _describe(self) -> str:
        """List the first columns of the file with their types, for messages."""
        parts = [
            f"{name} ({self.columns[name].type})" if name in self.columns else name
            for name in self.loaded.names
        ]
        return listed(parts, _SHOWN) or "none"

    def _notes(self, classes: ClassColumns | None, key: str | None) -> list[str]:
        """Say which columns were recognised by other than our standard names."""
        notes = []
        for ours in (*COLUMNS, "scores", "class_1"):
            theirs = self.roles.get(ours, ours)
            is_usual = theirs.casefold().strip() in (ours, f"{ours}s")
            if not is_usual and ours not in self.layout.columns:
                what = "probability of class 1" if ours == "class_1" else ours
                notes.append(f"{what} = `{theirs}`")
        if classes is not None and "probability" not in self.roles:
            notes.append(f"{classes.kind or 'scores'} = {len(classes.columns)} class columns")
        if notes and key is not None:
            notes.append(f"datapoints = `{key}`")
        return [*notes, *self.loaded.notes]


def _sum_to_1(columns: ClassColumns) -> bool:
    values = [column.values for column in columns.columns.values()]
    return bool(len(values[0]) and are_distributions(np.stack(values, axis=1)).all())


def are_distributions(matrix: npt.NDArray[Any], rounding: float = 1e-2) -> npt.NDArray[np.bool_]:
    """Return whether each row of `matrix` is a probability distribution up to rounding: (n,)."""
    totals = matrix.sum(axis=1, dtype=np.float64)
    inside = ((matrix >= 0) & (matrix <= 1 + 1e-6)).all(axis=1)
    return np.asarray(inside & (abs(totals - 1) <= rounding))
