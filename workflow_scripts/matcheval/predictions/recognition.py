"""Which column of a prediction file is what: from names that tools use, types, and a few values.

A column that has a standard name is taken by it, whatever else is there. What two readings are
possible of is refused where it is needed, with the option that answers it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions import class_names
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
    is_known,
    our_name,
    plain,
    split_prefix,
)
from matcheval.predictions.formats import Column, Loaded, as_list, texts_of
from matcheval.predictions.layout import Layout

_SHOWN = 3  # columns that a message names
_LEAST_SHARE = 0.2  # of values of its own that a key has; others name classes, videos, folders
_SPACES = re.compile(r"([\d.])\s+(?=[-+\d.])")  # between the numbers of NumPy's texts


@dataclass(frozen=True)
class ClassColumns:
    """Columns that hold the scores of one class each, by the number or name of the class.

    The kind is None where values tell it.
    """

    kind: Kind | None
    prefix: str
    columns: Mapping[str, Column]

    @property
    def numbered(self) -> bool:
        """Whether classes are numbers."""
        return all(key.isdecimal() for key in self.columns)


@dataclass(frozen=True, eq=False)
class RawFile:
    """What a prediction file, or a table in memory, holds, by the names that columns have here.

    Attributes
    ----------
    columns : mapping of str to Column
        By the names `COLUMNS`; `scores` are those of all classes, of a kind that values tell, and
        `class_1` is the probability of class 1 of two.
    names : mapping of str to str
        What these are called in the file.
    classes : ClassColumns, optional
    key : tuple of str and Column, optional
        What tells datapoints apart, such as file names, with its name.
    groups : Column, optional
    either : str, optional
        A column that is the truth in some tools' files, and the prediction in others'.
    told : sequence of str
        What was recognised by other names than the standard ones.
    unused : mapping of str to str
        What the other columns hold, as `form_of` says it.
    accuracy : tuple of str and float, optional
        The model's accuracy, as a single number of the file says it, with its name.
    noticed : sequence of str
        What looks as if the rows were not of one model and one set.
    """

    file: object
    layout: Layout
    columns: Mapping[str, Column]
    names: Mapping[str, str]
    shown: str
    metadata: Mapping[str, str]
    classes: ClassColumns | None = None
    key: tuple[str, Column] | None = None
    groups: Column | None = None
    either: str | None = None
    told: Sequence[str] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    is_arrays: bool = False
    accuracy: tuple[str, float] | None = None
    noticed: Sequence[str] = ()


def recognise(loaded: Loaded, layout: Layout) -> RawFile:
    """Find out which column of a prediction file is what."""
    return _Search(loaded, layout).result()


def type_of(column: Column) -> str:
    """Return what messages call the type of a column."""
    if isinstance(column, np.ndarray):
        shape = f" {'×'.join(map(str, column.shape))}" if column.ndim > 1 else ""
        return ("text" if column.dtype.kind == "U" else str(column.dtype)) + shape
    return {"string": "text", "large_string": "text", "double": "float64"}.get(
        str(column.type), str(column.type)
    )


def form_of(column: Column) -> str:
    """Return what a column holds: `matrix`, `float`, `whole`, `text` or `other`."""
    if isinstance(column, np.ndarray):
        if column.ndim > 1:
            return "matrix"
        return {"f": "float", "i": "whole", "u": "whole", "U": "text"}.get(
            column.dtype.kind, "other"
        )
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    tests = {
        "matrix": pa.types.is_nested, "float": pa.types.is_floating, "whole": pa.types.is_integer,
        "text": lambda one: pa.types.is_string(one) or pa.types.is_large_string(one),
    }  # fmt: skip
    return next((form for form, test in tests.items() if test(kind)), "other")


def _is_list(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


@dataclass
class _Search:
    """The search for what each column of a file is; names are those of the file."""

    loaded: Loaded
    layout: Layout
    found: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)

    def result(self) -> RawFile:
        """Search in order: what the person says, standard names, other names, scores, keys."""
        names, layout = self.loaded.names, self.layout
        for ours, theirs in layout.columns.items():
            if not theirs.endswith("*"):
                self.found[ours] = self._named(theirs, ours)
        given = dict(self.found)
        needed = [n for n in dict.fromkeys(names) if self._may_be_read(n)]
        if not needed and len(names) <= _SHOWN:
            needed = list(names)  # for the message that says what was found
        self.columns = dict(self.loaded.read(needed))
        self._read_lists_in_text()
        self._take_first_of_rankings()
        self.forms = {name: form_of(column) for name, column in self.columns.items()}
        self._standard_names()
        self._other_names()
        ranked = self._ranking()
        self._scores()
        matrices = {*KINDS, "scores"} & {*self.found}
        classes = None if ranked else self._class_columns(are_others=bool(matrices))
        if not classes and not matrices and "probability" not in self.found:
            self._probability_of_class_1()
        either = self._either(has_scores=bool(classes or matrices), given=given)
        key = self._key()
        layout = self._counted(classes)
        chosen = {ours: self.columns[theirs] for ours, theirs in self.found.items()}
        group = next((n for n in names if n.casefold().strip() == "group"), None)
        return RawFile(
            self.loaded.file, layout, chosen, self.found, self._shown(), self.loaded.metadata,
            classes,
            key=None if key is None else (key, self.columns[key]),
            groups=None if group is None else self.loaded.read([group])[group],
            either=either, told=self._told(classes, key, layout),
            unused={name: self.forms[name] for name in self._free()},
            is_arrays=self.loaded.is_arrays, accuracy=self._accuracy(),
            noticed=self._pooled(),
        )  # fmt: skip

    def _pooled(self) -> list[str]:
        """Say which columns have rows of several models, parts or epochs."""
        told = []
        for name in (n for n in self._free() if plain(n) in POOLED and self.forms[n] != "matrix"):
            values = {*map(str, as_list(self.columns[name]))}
            if 1 < len(values) <= 0.5 * len(self.columns[name]):
                shown = f"{', '.join(sorted(values)[:3])}{', ...' * (len(values) > 3)}"
                told.append(
                    f"column `{name}` has {len(values)} values ({shown:.80}): are all rows of one "
                    "model and one set?"
                )
        return told

    def _accuracy(self) -> tuple[str, float] | None:
        """Return the accuracy that an array of one number says, with its name."""
        for name in (n for n in self.columns if plain(n) in ACCURACIES):
            value = self.columns[name]
            if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind == "f":
                return name, float(value.item())
        return None

    def _named(self, theirs: str, ours: str) -> str:
        """Return the column that a person named."""
        names = self.loaded.names
        same = [name for name in names if name.strip().casefold() == theirs.strip().casefold()]
        found = [name for name in names if name == theirs] or same
        if len(found) != 1:
            raise InputError(
                f"{'several columns' if found else 'no column'} '{theirs}', which was named as "
                f"'{ours}'; found {', '.join(names[:20]) or 'none'}", file=self.loaded.file,
            )  # fmt: skip
        return found[0]

    def _may_be_read(self, name: str) -> bool:
        if name in self.found.values() or not self.loaded.is_arrays:
            return True
        return is_known(name) or any(map(name.startswith, self._wildcards.values()))

    @property
    def _wildcards(self) -> dict[Kind, str]:
        """What columns of single classes begin with, as the person says, by kind."""
        given = {kind: self.layout.columns.get(kind, "") for kind in KINDS}
        return {kind: one.removesuffix("*") for kind, one in given.items() if one.endswith("*")}

    def _free(self) -> list[str]:
        return [name for name in self.columns if name not in self.found.values()]

    def _fits(self, name: str, role: str) -> bool:
        """Whether a column of a role's name can be it by its type."""
        is_matrix = self.forms[name] == "matrix"
        if role in (*KINDS, "scores"):
            return is_matrix
        if not is_matrix:
            return True
        column = self.columns[name]
        if not isinstance(column, np.ndarray):
            return role not in ("prediction", "probability")  # lists are refused as labels
        kinds = {"prediction": "iu", "label": "iuf"}.get(role, "")  # top k classes; one-hot labels
        return column.shape[1:] == (1,) or column.dtype.kind in kinds

    def _standard_names(self) -> None:
        """Take columns by our own names, whatever their case."""
        names = self.loaded.names
        for role in COLUMNS:
            if role in self.found:
                continue
            exact = [name for name in names if name == role]
            alike = [name for name in names if name.casefold().strip() == role]
            if role in self.found or role in self._wildcards:
                continue
            if len(exact) > 1 or (not exact and len(alike) > 1):
                raise InputError("occurs twice", file=self.loaded.file, field=role)
            one = next(iter(exact or alike), "")
            if role == "prediction" and one and self._form(one) == "numbers" and self._is_weka(one):
                continue
            if one in self._free() and (role == "logits" or self._fits(one, role)):
                self.found[role] = one

    def _is_weka(self, prediction: str) -> bool:
        """Whether `prediction` is a probability, and `predicted` the class, as in Weka's tables."""
        named = [n for n in self._free() if plain(n) == "predicted"]
        is_probability = self.forms[prediction] == "float" and "probability" not in self.found
        if named and is_probability:
            self.found["prediction"], self.found["probability"] = named[0], prediction
        return bool(named) and is_probability

    def _other_names(self) -> None:
        """Take columns by other names of a role; truth and prediction of one form, if there are."""
        by_role = {role: self._candidates(role) for role in SYNONYMS}
        truths, guesses = by_role["label"], by_role["prediction"]
        forms = [f for f in dict.fromkeys(map(self._form, truths)) if f in map(self._form, guesses)]
        for role in ("label", "prediction"):
            by_role[role] = [n for n in by_role[role] if not forms or self._form(n) == forms[0]]
        for role, names in by_role.items():
            if names and role not in self.found:
                self.found[role] = self._only(names, role)

    def _only(self, names: Sequence[str], role: str) -> str:
        """Return the first of columns that may be a role; refuse another one with other values."""
        other = next((n for n in names[1:] if not self._are_equal(names[0], n)), None)
        if other is not None:
            options = [self.layout.say("columns", **{role: name}) for name in (names[0], other)]
            raise InputError(
                f"'{names[0]}' and '{other}' may both be the {role}; found {self._shown()}",
                file=self.loaded.file, remedy=f"Say which: {options[0]} or {options[1]}",
            )  # fmt: skip
        return names[0]

    def _candidates(self, role: str) -> list[str]:
        """Return the columns that may be a role by their names; those that may be others last."""
        if role in self.found:
            return [self.found[role]]
        free = [n for n in self._free() if self._fits(n, role)]
        found = [n for synonym in SYNONYMS[role] for n in free if plain(n) == synonym]
        return [n for n in found if plain(n) not in EITHER] or found[:1]

    def _form(self, name: str) -> str:
        return "text" if self.forms[name] == "text" else "numbers"

    def _are_equal(self, one: str, other: str) -> bool:
        a, b = (self.columns[name] for name in (one, other))
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return np.array_equal(np.asarray(a), np.asarray(b))
        return bool(a.equals(b) or a.to_pylist() == b.to_pylist())

    def _scores(self) -> None:
        """Take the lists or the array that hold the scores of all classes."""
        if {*KINDS} & {*self.found} or self._wildcards:
            return
        free = [name for name in self._free() if self._fits(name, "scores")]
        for kind in (*KINDS, None):
            names = [n for m, of in MATRICES.items() for n in free if of == kind and plain(n) == m]
            if names and not (kind is None and {*KINDS} & {*self.found}):
                role = kind or "scores"
                self.found[role] = self._only(names, kind or "logits")

    def _read_lists_in_text(self) -> None:
        """Replace scores that pandas or NumPy have written as text, `[0.1, 0.9]`, by lists."""
        for name, column in self.columns.items():
            texts = texts_of(column) if plain(name) in MATRICES else None
            if texts is None or not all(isinstance(t, str) and t[:1] == "[" for t in texts):
                continue
            try:
                lists = [json.loads(_SPACES.sub(r"\1,", text)) for text in texts]
                self.columns[name] = pa.chunked_array([pa.array(lists, pa.list_(pa.float64()))])
            except (ValueError, pa.ArrowException, TypeError) as error:
                raise InputError(
                    f"holds text such as '{texts[0]:.60}', which is no list of numbers",
                    file=self.loaded.file, field=name,
                    remedy="Write a column per class, or JSON or Parquet, which have lists",
                ) from error  # fmt: skip

    def _take_first_of_rankings(self) -> None:
        """Replace lists of the most probable classes and their scores, as of timm, by the first."""
        lists = {
            plain(name): name
            for name, column in self.columns.items()
            if isinstance(column, pa.ChunkedArray) and _is_list(column.type)
        }
        if ("label" in lists or "index" in lists) and {"prob", "logit", "score"} & {*lists}:
            import pyarrow.compute as pc

            for small in {"label", "index", "prob", "logit", "score"} & {*lists}:
                column: Any = self.columns[lists[small]]
                column = column.combine_chunks()
                if column.null_count or not pc.all(pc.greater(column.value_lengths(), 0)).as_py():
                    raise InputError("has empty rows", file=self.loaded.file, field=lists[small])
                self.columns[lists[small]] = pa.chunked_array([pc.list_element(column, 0)])

    def _probability_of_class_1(self) -> None:
        for name in self._free():
            if plain(name) in OF_CLASS_1 and self.forms[name] in ("float", "whole"):
                self.found.setdefault("class_1", name)

    def _counted(self, classes: ClassColumns | None) -> Layout:
        """Return the layout, with labels from 1 where columns of classes and labels both are."""
        label, layout = self.found.get("label"), self.layout
        if classes is None or label is None or not classes.numbered or layout.first_label:
            return layout
        n, column = len(classes.columns), self.columns[label]
        if {*classes.columns} != {str(1 + one) for one in range(n)} or self.forms[label] != "whole":
            return layout
        values = np.asarray(column) if len(column) else np.zeros(1)
        return replace(layout, first_label=1) if values.min() >= 1 and values.max() == n else layout

    def _ranking(self) -> bool:
        """Recognise the most probable classes of timm: `label_0`, `label_1`, ..., `prob_0`, ...."""
        parts = {name: plain(name).rpartition("_") for name in self._free()}
        by_end = {(first, last): name for name, (first, _, last) in parts.items()}
        best = next((by_end[one, "0"] for one in ("label", "index") if (one, "0") in by_end), None)
        if best is None or ("prob", "0") not in by_end:
            return False
        ranked = [n for (first, _), n in by_end.items() if first == plain(best).rpartition("_")[0]]
        if all(self.forms[n] == "whole" for n in ranked):
            rows = np.stack([np.asarray(self.columns[n]) for n in ranked], axis=1)
            if rows.shape[1] > 1 and ((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all():
                return False  # the truth, a column per class
        self.found["prediction"], self.found["probability"] = best, by_end["prob", "0"]
        return True

    def _class_columns(self, *, are_others: bool) -> ClassColumns | None:
        """Find the columns that hold the scores of one class each."""
        for given, prefix in self._wildcards.items():
            found = {
                n[len(prefix) :].lstrip("_-. "): n for n in self._free() if n.startswith(prefix)
            }
            found = {key: n for key, n in found.items() if key and not self._is_text(n)}
            found = {key: n for key, n in found.items() if key.isdecimal()} or found
            if found:
                return self._of_classes(given, prefix, found)
            raise InputError(
                f"no column begins with '{prefix}', which was named as '{given}'; "
                f"found {self._shown()}", file=self.loaded.file,
            )  # fmt: skip
        groups: dict[str, dict[str, str]] = {}
        for name in self._free():
            split = split_prefix(name)
            if split and plain(name) not in KEYS and our_name(name) not in SYNONYMS:
                groups.setdefault(split[0], {})[split[1]] = name
        classes, candidates = self._class_names(), list[ClassColumns]()
        for prefix in PREFIXES:
            keys = groups.get(prefix, {})
            kind, folded = PREFIXES[prefix], {class_names.folded(key) for key in keys}
            numbers = {key: name for key, name in keys.items() if key.isdecimal()}
            if len(numbers) > 0 and set(numbers) != set(self.layout.classes or ()):
                candidates.append(self._of_classes(kind, f"{prefix}_", numbers))
                continue
            is_sure = kind is not None and prefix != "p"
            if are_others and not is_sure:
                continue
            if len(keys) > 1 and (is_sure or (classes and classes <= folded)):
                candidates.append(self._of_classes(kind, f"{prefix}_", keys))
        if len(candidates) > 1 and "probability" not in self.found:
            first, second = candidates[0].prefix, candidates[1].prefix
            option = {str(candidates[0].kind or KINDS[1]): f"{first}*"}
            raise InputError(
                f"holds columns {first}... and {second}...: either may be the scores of classes",
                file=self.loaded.file,
                remedy=f"Say which: {self.layout.say('columns', **option)}",
            )
        if candidates or are_others:
            return candidates[0] if candidates else None
        return self._bare_columns(classes)

    def _bare_columns(self, classes: set[str]) -> ClassColumns | None:
        """Find columns that are named by the numbers or names of classes alone."""
        free = [n for n in self._free() if self.forms[n] == "float" and not is_known(n)]
        numbers = {n.strip(): n for n in free if n.strip().isdecimal()}
        if len(numbers) > 1:
            return self._of_classes(None, "", numbers)
        names = {n.strip(): n for n in free}
        known = {key: n for key, n in names.items() if class_names.folded(key) in classes}
        for some in (known, names):
            if len(some) > 1 and classes <= {class_names.folded(key) for key in some}:
                found = self._of_classes(None, "", some)
                is_given = self.layout.classes is not None and self.layout.order_is_known
                are_all = len(some) == len(known) and (is_given or len(some) == len(names))
                if are_all or self._sum_to_1(found):
                    return found
        return None

    def _class_names(self) -> set[str]:
        """Names of the classes, as given or as in the columns, in small letters."""
        if self.layout.classes is not None and self.layout.order_is_known:
            return set(map(class_names.folded, self.layout.classes))
        found: set[str] = set()
        for role in ("label", "prediction"):
            texts = texts_of(self.columns[self.found[role]]) if role in self.found else None
            if texts is not None:
                found |= {class_names.folded(text) for text in texts if text}
        return found

    def _sum_to_1(self, found: ClassColumns) -> bool:
        values = [np.asarray(column, np.float64) for column in found.columns.values()]
        return bool(len(values[0]) and are_distributions(np.stack(values, axis=1)).all())

    def _of_classes(self, kind: Kind | None, prefix: str, found: Mapping[str, str]) -> ClassColumns:
        names = list(self.loaded.names)
        if twice := [name for name in found.values() if names.count(name) > 1]:
            remedy = "Give the classes names that differ"
            raise InputError("occurs twice", file=self.loaded.file, field=twice[0], remedy=remedy)
        return ClassColumns(kind, prefix, {key: self.columns[name] for key, name in found.items()})

    def _is_text(self, name: str) -> bool:
        return self.forms[name] in ("text", "matrix") or plain(name) in (*KEYS, *EITHER)

    def _either(self, *, has_scores: bool, given: Mapping[str, str]) -> str | None:
        """Decide on a column that may be truth or prediction; return its name if nobody can."""
        name = self.found.get("label")
        is_sure = "label" in given or name is None or plain(name) not in EITHER
        if is_sure or "prediction" in self.found or has_scores:
            return None
        if name is None or "probability" not in self.found:
            return None
        truths = [n for n in SYNONYMS["label"] if n not in EITHER]
        other = [n for one in truths for n in self._free() if plain(n) == one]
        if "index" in self.found and any(plain(n) in KEYS for n in self._free()):
            del self.found["index"]  # in the output of timm it is the number of the class
        if not other:
            return name
        self.found["prediction"], self.found["label"] = name, other[0]
        return None

    def _key(self) -> str | None:
        """Return the column that tells datapoints apart, where there is no index."""
        if "index" in self.found:
            return None
        names = [n for key in KEYS for n in self._free() if plain(n) == key]
        share = {n: self._distinct(n) for n in names if self.forms[n] in ("text", "whole", "float")}
        found = next((n for n, one in share.items() if one == 1), None)
        others = [n for n in self._free() if self.forms[n] == "text" and n not in share]
        found = found or next((n for n in others if self._distinct(n) == 1), None)
        best = max(share, key=share.__getitem__, default=None)
        return found or (best if best is not None and share[best] >= _LEAST_SHARE else None)

    def _distinct(self, name: str) -> float:
        """Return the share of rows with values of their own; 0 of numbers that are not whole."""
        values = as_list(self.columns[name])
        if any(value is None or value == "" for value in values):
            return 0.0
        if self.forms[name] == "float" and not all(v is not None and v % 1 == 0 for v in values):
            return 0.0
        return len(set(values)) / max(1, len(values)) if len(values) > 1 else 0.0

    def _shown(self) -> str:
        names = list(self.loaded.names)
        parts = [
            f"{name} ({type_of(self.columns[name])})" if name in self.columns else name
            for name in names[:_SHOWN]
        ]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return (", ".join(parts) or "none") + more

    def _told(
        self, classes: ClassColumns | None, key: str | None, layout: Layout
    ) -> list[str]:  # fmt: skip
        """Say what was recognised by other than the standard names."""
        told = [
            f"{'probability of class 1' if ours == 'class_1' else ours} = `{theirs}`"
            for ours, theirs in self.found.items()
            if theirs.casefold().strip() not in (ours, f"{ours}s")
            and ours not in self.layout.columns
        ]
        if classes is not None and "probability" not in self.found:
            what = classes.kind or "scores"
            told.append(f"{what} = {len(classes.columns)} class columns")
        if layout.first_label > self.layout.first_label:
            told.append("classes are counted from 1")
        if told and key is not None:
            told.append(f"datapoints = `{key}`")
        return [*told, *self.loaded.written]


def are_distributions(matrix: npt.NDArray[Any], rounding: float = 1e-2) -> npt.NDArray[np.bool_]:
    """Say which rows are probability distributions, up to rounding.

    Parameters
    ----------
    matrix : float array, shape (n, n_classes)
    rounding : float
        Largest difference of a sum from 1.
    """
    totals = matrix.sum(axis=1, dtype=np.float64)
    inside = ((matrix >= 0) & (matrix <= 1 + 1e-6)).all(axis=1)
    return np.asarray(inside & (abs(totals - 1) <= rounding))
