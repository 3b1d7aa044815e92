"""The labels that a person gave: read, matched to the predictions, and what of them counts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError, listed, suggest
from matcheval.few_labels.designs import STRATA, Draw
from matcheval.few_labels.strata import Ints
from matcheval.predictions.datapoints import common_fold, key_texts
from matcheval.predictions.layout import Layout, Vocabulary
from matcheval.predictions.records import Predictions

SKIP, OUTSIDE = -2, -1  # in place of a label: cannot be decided; no class of the set
_MIN_ROWS = 20
_STATUS = ("", "done", "skip")
Cells = Mapping[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Answers:
    """Labels by row of the predictions, in the order of their file: a class, `SKIP`, `OUTSIDE`."""

    by_row: Mapping[int, int]
    texts: Mapping[int, str]  # as they are written
    file: object
    order: tuple[int, ...] = ()  # rows of a worklist, with those that have no label


def read_cells(file: Path) -> Cells:
    """Read a file of labels as text, as 00000 is a name: CSV as spreadsheets write it, too."""
    if file.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise InputError("is a spreadsheet", file=file, remedy="Save its sheet as CSV")
    from matcheval.io.delimited_text import read_delimited

    values, texts = (
        read_delimited(file, as_text=flag)[0].to_pydict() for flag in (False, True)
    )  # of which the first tell what is no value, such as NaN
    return {
        name: [None if one is None else text for one, text in zip(found, texts[name], strict=True)]
        for name, found in values.items()
    }


def answers_of(
    cells: Cells, file: object, given: Predictions, layout: Layout, n_classes: int | None,
    outside: str = "error",
) -> Answers:  # fmt: skip
    """Match labels to rows of the predictions, by index or file name.

    Raises
    ------
    InputError
        If a datapoint is unknown or named twice, or a label is no class, unless `outside` is
        `wrong`.
    """
    texts = {name: [_text(one) for one in column] for name, column in cells.items()}
    key = "index" if "index" in texts else "file"
    if key == "index":
        texts[key] = [str(_whole(one, one)) for one in texts[key]]
    if key not in texts or "label" not in texts:
        problem = f"no column {'label' if key in texts else 'index or file'}; found {listed(cells)}"
        raise InputError(problem, file=file, remedy="Give index (or file) and label")
    names = given.index if key == "index" else given.keys
    if names is None:
        raise InputError(
            "names files, which the predictions do not", file=file, field="file",
            remedy="Give a column index: the row in the predictions, from 0",
        )  # fmt: skip
    if len({len(column) for column in texts.values()}) > 1:
        lengths = {name: len(column) for name, column in texts.items()}
        raise InputError(f"columns of unequal lengths {lengths}", file=file)
    fold, _ = common_fold(key_texts(names), texts[key])
    texts[key] = [*map(fold, texts[key])]
    place = {fold(name): row for row, name in enumerate(key_texts(names))}
    if len(place) < len(names):
        raise InputError(
            "several datapoints of the predictions have the same name", file=file, field="file",
            remedy="Give a column index: the row in the predictions, from 0",
        )  # fmt: skip
    found, written = dict[int, int](), dict[int, str]()
    seen = set[str]()
    read = _Reader(layout, n_classes, outside, file)
    status = texts.get("status", [""] * len(texts[key]))
    for at, (name, label, state) in enumerate(zip(texts[key], texts["label"], status, strict=True)):
        if name not in place or name in seen:
            what = "occurs twice" if name in seen else "is none of the datapoints"
            raise InputError(f"row {at} (from 0): '{name:.60}' {what}", file=file, field=key)
        seen.add(name)
        if state.casefold() not in _STATUS:
            remedy = "Leave it empty, or write done or skip"
            raise InputError(f"row {at}: '{state:.40}'", file=file, field="status", remedy=remedy)
        if state.casefold() == "skip":
            found[place[name]] = SKIP
        elif label:
            found[place[name]], written[place[name]] = read.label(label, at), label
    if key == "index":
        _check_start(found, given, file)
    order = dict[int, int]()
    for name, text in zip(texts[key], texts.get("order", ()), strict=False):
        order[place[name]] = _whole(text)
    if None in order.values():
        order = {}  # a column of another meaning
    return Answers(found, written, file, tuple(sorted(order, key=order.__getitem__)))


def _check_start(labels: Mapping[int, int], given: Predictions, file: object) -> None:
    """Refuse labels that fit the predictions only one row further up: rows counted from 1."""
    rows = np.array([row for row, label in labels.items() if label >= 0 and row > 0], np.int64)
    if len(rows) < _MIN_ROWS:
        return
    chosen = np.array([labels[row] for row in rows.tolist()])
    here, above = (float(np.mean(given.prediction[at] == chosen)) for at in (rows, rows - 1))
    if above > max(2 * here, here + 0.3):
        raise InputError(
            f"{100 * here:.0f} % of the labels are the prediction of their row, and "
            f"{100 * above:.0f} % that of the row before: rows are counted from 1", file=file,
            field="index", remedy="Give rows from 0: subtract 1",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads labels as classes."""

    layout: Layout
    n_classes: int | None
    outside: str
    file: object

    def label(self, text: str, row: int) -> int:
        classes, label = self.layout.classes, None
        if classes is None:
            if (number := _whole(text)) is not None:
                label = number - self.layout.first_label
                label = label if 0 <= label < (self.n_classes or label + 1) else None
            start = self.layout.first_label
            known = f"{start}, {start + 1}, ..."
            if self.n_classes:
                known = f"{start} to {start + self.n_classes - 1}"
            remedy = f"Give a class as a number, {known}"
        else:
            label = Vocabulary(classes).position(text)
            if label is None and str(_whole(text)) in classes:
                label = classes.index(str(_whole(text)))
            remedy = f"{suggest(text, classes)}; or give all classes: {self.layout.say('classes')}"
        if label is None and self.outside != "wrong":
            is_command = self.layout.caller == "command"
            option = "--outside wrong" if is_command else "outside='wrong'"
            raise InputError(
                f"row {row} (from 0): '{text:.60}' is no class of the set", file=self.file,
                field="label", remedy=f"{remedy}. Or count such labels as wrong: {option}",
            )  # fmt: skip
        return OUTSIDE if label is None else label


def _text(cell: Any) -> str:
    return "" if cell is None or cell != cell else str(cell).strip()


def _whole(text: str, otherwise: Any = None) -> Any:
    """Return a text as a whole number; a gap in a column of numbers adds decimals, 3.0."""
    digits = re.fullmatch(r"(-?[0-9]{1,9})(\.0*)?", text)
    return int(digits[1]) if digits else otherwise


@dataclass(frozen=True, eq=False)
class Counted:
    """The labels that count: rows, their labels, and what the draw says of them."""

    rows: Ints
    labels: Ints
    stratum: Ints
    chance: npt.NDArray[np.float64]
    warnings: tuple[str, ...]


def counted(answers: Answers, plan: Draw | None, index: npt.NDArray[Any]) -> Counted:
    """Choose the labels that count: those that the plan drew, without a gap in its order.

    Raises
    ------
    InputError
        If a worklist of independent draws is not finished, or a stratum has too few labels.
    """
    by_row = answers.by_row
    if plan is None:
        used = list(takewhile(by_row.__contains__, answers.order)) if answers.order else [*by_row]
        rows = np.array(used, np.int64)
        gap = answers.order[len(used) : len(used) + 1] if answers.order else ()
        counts = set(used)
        warnings = _after_gap([row for row in by_row if row not in counts], gap, index)
        part = np.zeros(len(rows), np.int64)
        return Counted(rows, _labels(rows, by_row), part, np.array([]), tuple(warnings))
    has = np.array([row in by_row for row in plan.rows.tolist()], bool)
    if plan.design == "active" and not has.all():
        raise InputError(
            f"{int((~has).sum())} datapoints of the worklist have no label, such as index "
            f"{listed(index[plan.rows[~has]], 5)}", file=answers.file,
            remedy="Label them, or write skip as their status: independent draws need all labels",
        )  # fmt: skip
    kept = np.zeros(len(has), bool)
    for h in range(len(plan.sizes)):  # of a gap, a person may have decided what comes after it
        of_stratum = np.flatnonzero(plan.stratum == h)
        kept[of_stratum] = np.logical_and.accumulate(has[of_stratum])
    gaps = [plan.rows[(plan.stratum == h) & ~has][:1].tolist() for h in range(len(plan.sizes))]
    warnings = _after_gap(
        plan.rows[has & ~kept].tolist(), [row for gap in gaps for row in gap], index
    )
    if others := set(by_row) - set(plan.rows.tolist()):
        warnings.append(f"{len(others)} labels are not of the worklist and are not used")
    if plan.design in STRATA and kept.any():
        _check_strata(plan, kept, index, answers.file)
    rows = plan.rows[kept]
    chance = plan.chance[kept] if len(plan.chance) else plan.chance
    return Counted(rows, _labels(rows, by_row), plan.stratum[kept], chance, tuple(warnings))


def _after_gap(unused: list[int], missing: Sequence[int], index: npt.NDArray[Any]) -> list[str]:
    """Warn of labels whose datapoints a person may have chosen, as earlier ones are missing."""
    if not unused:
        return []
    return [
        f"{len(unused)} labels come after a gap in the worklist and are not used: index "
        f"{listed(index[unused], 5)}; label index {listed(index[list(missing)], 5)} first"
    ]


def _labels(rows: Ints, by_row: Mapping[int, int]) -> Ints:
    return np.array([by_row[row] for row in rows.tolist()], np.int64)


def _check_strata(
    plan: Draw, kept: npt.NDArray[np.bool_], index: npt.NDArray[Any], file: object
) -> None:
    """Check that each stratum has two labels, or all that it can have."""
    for h, size in enumerate(plan.sizes.tolist()):
        of_stratum = plan.stratum == h
        lacking = min(2, size) - int((of_stratum & kept).sum())
        if lacking > 0:
            following = plan.rows[of_stratum & ~kept][:lacking]
            raise InputError(
                f"stratum {h} of the worklist has fewer than {min(2, size)} labels", file=file,
                remedy=f"Label index {listed(index[following])} next",
            )  # fmt: skip


def agreement(first: Answers, second: Answers) -> tuple[int, float, float]:
    """Return the datapoints that two people labelled, their agreement, and Cohen's kappa.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20. NaN where chance agrees always.
    """
    shared = [row for row in first.by_row if row in second.by_row]
    one = _labels(np.array(shared, np.int64), first.by_row)
    other = _labels(np.array(shared, np.int64), second.by_row)
    if not shared:
        raise InputError("labels no datapoint of the first annotator", file=second.file)
    same = float((one == other).mean())
    by_chance = sum(
        float((one == k).mean() * (other == k).mean()) for k in np.union1d(one, other).tolist()
    )
    kappa = (same - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")
    return len(shared), same, kappa
