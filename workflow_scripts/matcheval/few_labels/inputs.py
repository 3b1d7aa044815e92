"""What is read: predictions on sets without labels, and the labels that a person gave."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError, listed, suggest
from matcheval.few_labels.draws import Draw, Ints, Plan
from matcheval.io.delimited_text import read_delimited
from matcheval.io.text_tables import counted
from matcheval.predictions.datapoints import choose_key_fold, keys_as_texts
from matcheval.predictions.files import Contents, read_contents, with_keys
from matcheval.predictions.formats import InMemory
from matcheval.predictions.inputs import Data, layout_of, source_of
from matcheval.predictions.layout import Layout, Vocabulary
from matcheval.predictions.records import Predictions
from matcheval.statistics.intervals import FloatArray

SKIP, OUTSIDE = -2, -1  # in place of a label: cannot be decided; no class of the set
_LEAST_SHIFTED = 20  # labels from which on rows that are counted from 1 are recognised
_STATUS = ("", "done", "skip")


@dataclass(frozen=True, eq=False)
class UnlabelledSet:
    """A model's predictions on a set without labels, and its confidences f, shape (n,)."""

    name: str
    predictions: Predictions
    f: FloatArray
    temperature: float | None
    n_classes: int | None
    layout: Layout
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of indices, predicted classes and probabilities, to which a plan is tied."""
        p = self.predictions
        arrays = (p.index, p.prediction, p.probability)
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()

    def check_not_grouped(self) -> None:
        """Refuse datapoints that come in groups, as they are not independent."""
        if self.predictions.groups is not None:
            raise InputError(
                "its datapoints come in groups: they are not independent", file=self.name,
                field="group", remedy="Draw labels by `label-plan`, and ask for the estimand set",
            )  # fmt: skip


def plan_digest(sets: Sequence[UnlabelledSet], design: str) -> str:
    """Return the digest of the predictions that a plan is for: of both models for disagreement."""
    return " ".join(s.digest for s in (sets if design == "disagreement" else sets[:1]))


def read_unlabelled_sets(
    data: "Mapping[str, Data | None]", columns: Mapping[str, str] | None, classes: Any,
    first_label: int, plan: Plan | None, base: "Data | None" = None,
) -> list[UnlabelledSet]:  # fmt: skip
    """Read the predictions of one model, or of two, whose rows are then in the same order.

    Confidences are calibrated by the plan's temperature; without a plan, on a labelled base.
    """
    sources = {role: source_of(table, role) for role, table in data.items() if table is not None}
    layout = layout_of([*sources.values()], columns, classes, first_label)
    temperature = None if plan is None else plan.temperature
    if plan is None and base is not None:
        base_source = source_of(base, "base")
        of_base = layout_of([base_source], columns, classes, first_label)
        temperature = _fit_temperature(base_source, of_base)
    sets = [_read_set(source, layout, temperature) for source in sources.values()]
    return sets if len(sets) < 2 else [sets[0], _align_rows(*sets)]


def _read_set(source: Path | InMemory, layout: Layout, temperature: float | None) -> UnlabelledSet:
    contents = read_contents(source, layout, scores=temperature is not None, labels="optional")
    columns = contents.checked()
    notes = [*layout.notes, *contents.raw.notes]
    if columns.pop("label", None) is not None:
        notes.append(f"the labels in {source} do not count here")
    unknown = np.full(len(columns["index"]), -1, np.int16)
    blank = Predictions(label=unknown, **columns, metadata=contents.metadata)
    predictions = with_keys(blank, contents.columns, contents.raw)
    if temperature is None:
        f = predictions.probability.astype(np.float64)
        notes.append("confidences are taken as stored; a labelled base set would calibrate them")
    else:
        from matcheval.predictions.softmax import softmax

        f = softmax(_logits(contents, source), temperature).max(axis=1)
        if "index" in contents.columns:
            f = f[np.argsort(contents.columns["index"], kind="stable")]
        notes.append(f"confidences are scaled by the temperature {temperature:.3g}")
    number = contents.metadata.get("n_classes", layout.n_classes)
    return UnlabelledSet(
        contents.metadata.get("model", "") or source_name(source), predictions, f, temperature,
        None if number is None else int(number), layout, tuple(notes),
    )  # fmt: skip


def source_name(source: Path | InMemory) -> str:
    """Return a name for predictions: the file's stem, or the role of a table."""
    return source.stem if isinstance(source, Path) else str(source)


def _align_rows(first: UnlabelledSet, second: UnlabelledSet) -> UnlabelledSet:
    """Return the second set with its rows in the order of the first; refuse other datapoints."""
    remedy = "Give the predictions of both models on the same datapoints"
    ours, theirs = first.predictions, second.predictions
    if ours.keys is not None and theirs.keys is not None:
        place = {str(key): row for row, key in enumerate(theirs.keys.tolist())}
        rows = np.array([place.get(str(key), -1) for key in ours.keys.tolist()])
        if not len(place) == len(rows) == len(theirs.keys) or -1 in rows:
            problem = f"{second.name} and {first.name} name different datapoints, or some twice"
            raise InputError(problem, remedy=remedy)
        moved = replace(
            theirs, index=ours.index, prediction=theirs.prediction[rows],
            probability=theirs.probability[rows], keys=ours.keys,
        )  # fmt: skip
        return replace(second, predictions=moved, f=second.f[rows])
    if not np.array_equal(ours.index, theirs.index):
        n, m = len(ours), len(theirs)
        problem = f"{second.name} has {m:,} datapoints, {first.name} {n:,}, or other indices"
        raise InputError(problem, remedy=remedy)
    return second


def _logits(contents: Contents, source: object) -> FloatArray:
    """Return logits, or the logarithms of probabilities; refuse a file without scores."""
    if contents.scores is None:
        remedy = "Give logits or probabilities of all classes, or leave the base out"
        raise InputError("has no scores of all classes", file=source, remedy=remedy)
    values = np.asarray(contents.scores.values, np.float64)
    return values if contents.scores.kind == "logits" else np.log(np.maximum(values, 1e-12))


def _fit_temperature(base: Path | InMemory, layout: Layout) -> float:
    from matcheval.accuracy_prediction.scores.confidence import fit_temperature

    contents = read_contents(base, layout, scores=True, labels="required")
    contents.checked()
    return fit_temperature(_logits(contents, base), contents.columns["label"].astype(np.int64))


@dataclass(frozen=True, eq=False)
class LabelledPredictions:
    """Predictions of one or two models, the labels that count, and the plan that drew them."""

    sets: list[UnlabelledSet]
    plan: Plan | None
    labels: "Labels"
    sample: "Sample"

    @property
    def draw(self) -> Draw | None:
        """The draw of the plan, if there is a plan."""
        return None if self.plan is None else self.plan.draw


def read_labelled_predictions(
    predictions: Mapping[str, Data], labels: Data, plan_file: str | os.PathLike[str] | None,
    assume_random: bool, outside: str, columns: Mapping[str, str] | None, classes: Any,
    first_label: int, base: "Data | None" = None,
) -> LabelledPredictions:  # fmt: skip
    """Read predictions and labels; refuse labels unless a plan or `assume_random` is given."""
    if plan_file is None and not assume_random:
        raise InputError(
            "how the labels were drawn is not known", field="plan",
            remedy="Give the plan.json that drew them, or say that all datapoints were as likely "
            "to be labelled: assume_random (--assume-random)",
        )  # fmt: skip
    plan = None if plan_file is None else Plan.read(plan_file)
    sets = read_unlabelled_sets(predictions, columns, classes, first_label, plan, base)
    if plan is None:
        sets[0].check_not_grouped()
    else:
        design = plan.draw.design
        if design != "random" and (design == "disagreement") != (len(sets) > 1):
            problem = f"its design '{design}' is not for {counted(len(sets), 'model')}"
            remedy = "Give those that it was made from, or plan with the design random"
            raise InputError(problem, file=plan_file, remedy=remedy)
        plan.check(plan_digest(sets, design))
    draw = None if plan is None else plan.draw
    differ = draw is not None and draw.design == "disagreement"
    answers = read_labels(labels, sets[0], outside, differ=differ)
    sample = select_labels(answers, draw, sets[0].predictions.index)
    return LabelledPredictions(sets, plan, answers, sample)


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels in a file, by row of the predictions: a class, `SKIP` or `OUTSIDE`."""

    by_row: Mapping[int, int]
    texts: Mapping[int, str]  # as they are written
    file: object
    order: tuple[int, ...] = ()  # rows of a worklist, with those that have no label


def read_labels(
    data: "Data", dataset: UnlabelledSet, outside: str, *, differ: bool = False
) -> Labels:
    """Read labels, and match them to rows of the predictions by index or file name.

    Of rows on which two models `differ`, the first may be mostly wrong.
    """
    source = source_of(data, "labels")
    texts = {name: [*map(_cell_text, column)] for name, column in _read_cells(source).items()}
    wrong, predictions = partial(InputError, file=source), dataset.predictions
    key = "index" if "index" in texts else "file"
    if key not in texts or "label" not in texts:
        problem = f"no column {'label' if key in texts else 'index or file'}; found {listed(texts)}"
        raise wrong(problem, remedy="Give index (or file) and label")
    lengths = {name: len(column) for name, column in texts.items()}
    if len({*lengths.values()}) > 1:
        raise wrong(f"columns of unequal lengths {lengths}")
    keys = predictions.index if key == "index" else predictions.keys
    names = [] if keys is None else keys_as_texts(keys)
    asked = texts[key] if key == "file" else [str(_to_integer(text, text)) for text in texts[key]]
    fold, _ = choose_key_fold(names, asked)
    place = {fold(name): row for row, name in enumerate(names)}
    if not len(predictions) == len(names) == len(place):
        problem = "names files, which the predictions do not, or several times"
        remedy = "Give a column index: the row in the predictions, from 0"
        raise wrong(problem, field="file", remedy=remedy)
    by_row, written, order = dict[int, int](), dict[int, str](), dict[int, int | None]()
    blank = [""] * len(asked)
    cells = zip(
        asked, texts["label"], texts.get("status", blank), texts.get("order", blank), strict=True
    )
    for at, (name, label, status, position) in enumerate(cells):
        row = place.get(fold(name))
        if row is None or row in order:
            problem = "is none of the datapoints" if row is None else "occurs twice"
            raise wrong(f"row {at} (from 0): '{name:.60}' {problem}", field=key)
        order[row] = _to_integer(position)
        if status.casefold() not in _STATUS:
            remedy = "Leave it empty, or write done or skip"
            raise wrong(f"row {at}: '{status:.40}'", field="status", remedy=remedy)
        if status.casefold() == "skip":
            by_row[row] = SKIP
        elif label:
            by_row[row], written[row] = _parse_label(label, at, dataset, outside, source), label
    if key == "index" and not differ:
        _check_rows_from_0(by_row, predictions, source)
    positions = {row: position for row, position in order.items() if position is not None}
    if len(positions) < len(order):
        positions = {}  # a column of another meaning
    return Labels(by_row, written, source, tuple(sorted(positions, key=positions.__getitem__)))


def _read_cells(source: Path | InMemory) -> Mapping[str, list[Any]]:
    """Read the columns of labels; a file's cells stay texts, as 00000 may be a name."""
    if isinstance(source, InMemory):
        if isinstance(source.data, Mapping):
            return {str(name): np.asarray(v).tolist() for name, v in source.data.items()}
        return dict(source.data.to_pydict())
    if source.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise InputError("is a spreadsheet", file=source, remedy="Save its sheet as CSV")
    values, texts = (
        read_delimited(source, as_text=flag)[0].to_pydict() for flag in (False, True)
    )  # of which the first tell what is no value, such as NaN
    return {
        name: [None if v is None else text for v, text in zip(values[name], cells, strict=True)]
        for name, cells in texts.items()
    }


def _check_rows_from_0(by_row: Mapping[int, int], predictions: Predictions, file: object) -> None:
    """Refuse labels that fit the predictions of the row before: rows are counted from 1."""
    rows = np.array([row for row, label in by_row.items() if label >= 0 and row > 0], np.int64)
    if len(rows) < _LEAST_SHIFTED:
        return
    chosen = np.array([by_row[row] for row in rows.tolist()])
    here, above = (float(np.mean(predictions.prediction[at] == chosen)) for at in (rows, rows - 1))
    if above > max(2 * here, here + 0.3):
        problem = "labels are mostly the prediction of the row before: rows are counted from 1"
        remedy = "Give rows from 0: subtract 1"
        raise InputError(problem, file=file, field="index", remedy=remedy)


def _parse_label(text: str, at: int, dataset: UnlabelledSet, outside: str, file: object) -> int:
    """Return the class that a text names; if it is none, refuse it or return `OUTSIDE`."""
    layout, label, number = dataset.layout, None, _to_integer(text)
    if layout.classes is None:
        start, n = layout.first_label, dataset.n_classes
        if number is not None and start <= number and (n is None or number < start + n):
            label = number - start
        range_text = f"{start} to {start + n - 1}" if n else f"{start}, {start + 1}, ..."
        remedy = f"Give a class as a number, {range_text}"
    else:
        label = Vocabulary(layout.classes).position(text)
        if label is None and number is not None and str(number) in layout.classes:
            label = layout.classes.index(str(number))
        names = suggest(text, layout.classes)
        remedy = f"{names}; or give all classes: {layout.say('classes')}"
    if label is None and outside != "wrong":
        option = "--outside wrong" if layout.caller == "command" else "outside='wrong'"
        raise InputError(
            f"row {at} (from 0): '{text:.60}' is no class of the set", file=file, field="label",
            remedy=f"{remedy}. Or count such labels as wrong: {option}",
        )  # fmt: skip
    return OUTSIDE if label is None else label


def _cell_text(cell: Any) -> str:
    return "" if cell is None or cell != cell else str(cell).strip()


def _to_integer(text: str, otherwise: Any = None) -> Any:
    """Parse an integer, also with a decimal point, as `3.0`; for other texts return `otherwise`."""
    digits = re.fullmatch(r"(-?[0-9]{1,9})(\.0*)?", text)
    return int(digits[1]) if digits else otherwise


@dataclass(frozen=True, eq=False)
class Sample:
    """The labels that count: their rows, classes and strata, with warnings of those left out."""

    rows: Ints
    labels: Ints
    stratum: Ints
    warnings: tuple[str, ...]


def select_labels(labels: Labels, draw: Draw | None, index: npt.NDArray[Any]) -> Sample:
    """Select the labels that were drawn, in each stratum up to the first that is missing."""
    by_row = labels.by_row
    if draw is None:
        rows = np.array(labels.order or [*by_row], np.int64)
        stratum, sizes = np.zeros_like(rows), [len(index)]
    else:
        rows, stratum, sizes = draw.rows, draw.stratum, draw.sizes.tolist()
    has = np.array([row in by_row for row in rows.tolist()], bool)
    kept, missing = np.zeros(len(has), bool), list[Ints]()
    for h, size in enumerate(sizes):
        # A person may have decided what comes after a gap.
        of_stratum = np.flatnonzero(stratum == h)
        kept[of_stratum] = np.logical_and.accumulate(has[of_stratum])
        open_rows = rows[of_stratum][~kept[of_stratum]]
        missing.append(open_rows[:1])
        lacking = min(2, size) - int(kept[of_stratum].sum())
        if draw is not None and draw.design == "mixed" and has.any() and lacking > 0:
            raise InputError(
                f"stratum {h} of the worklist has fewer than {min(2, size)} labels",
                file=labels.file, remedy=f"Label index {listed(index[open_rows[:lacking]])} next",
            )  # fmt: skip
    warnings = []
    if len(unused := rows[has & ~kept]):
        warnings.append(
            f"{len(unused)} labels come after a gap in the worklist and are not used: index "
            f"{listed(index[unused], 5)}; label index "
            f"{listed(index[np.concatenate(missing)], 5)} first"
        )
    if others := set(by_row) - set(rows.tolist()):
        warnings.append(f"{len(others)} labels are not of the worklist and are not used")
    chosen = rows[kept]
    values = np.array([by_row[row] for row in chosen.tolist()], np.int64)
    return Sample(chosen, values, stratum[kept], tuple(warnings))
