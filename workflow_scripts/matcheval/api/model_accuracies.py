"""Accuracies of models on two sets, counted from given predictions or given themselves."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.api.inputs import Given, Models, is_of_several
from matcheval.api.layouts import layout_of
from matcheval.api.models import GivenModel, all_given, given_models
from matcheval.api.options import checked_model_name
from matcheval.api.reading import UNNAMED
from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError
from matcheval.predictions.correctness import ACCURACIES, Correctness
from matcheval.predictions.layout import Layout
from matcheval.predictions.model_outputs import labels_of, ranked_classes
from matcheval.predictions.patterns import MODEL
from matcheval.predictions.published_files import count_hits, counts_of
from matcheval.predictions.records import MAX_CLASSES, checked_integers

_COLUMNS = ("model", "accuracy", "n_correct", "n")
# Columns, classes and the first label.
LayoutArguments: TypeAlias = tuple[Mapping[str, str] | None, int | str | Sequence[str] | None, int]


@dataclass(frozen=True, eq=False)
class GivenAccuracies:
    """Accuracies of models on both sets of a pair.

    Attributes
    ----------
    original, replication : pyarrow.Table
        Of schema `ACCURACIES`.
    images : tuple of Correctness
        Which images each model gets right, on both sets, if the pair is of the same images.
    left_out : list of str
        Sentences on models that have files on one set only.
    """

    original: pa.Table
    replication: pa.Table
    images: tuple[Correctness, ...]
    left_out: list[str]


def read_accuracies(
    original: Models, replication: Models, pair: Pair, top: int, arguments: LayoutArguments
) -> GivenAccuracies:
    """Read predictions, or accuracies, of all models on both sets.

    Parameters
    ----------
    original, replication : path-like, table or mapping
        As of `replication_table`.
    pair : Pair
    top : int
    arguments : tuple
        The arguments of `layout_of`: columns, classes and first label.

    Raises
    ------
    InputError
        As `replication_table`.
    """
    sets = {"original": original, "replication": replication}
    known = {origin: _accuracy_columns(given, origin) for origin, given in sets.items()}
    columns = {origin: found for origin, found in known.items() if found is not None}
    if columns:
        if pair.paired:
            raise InputError("paired images need predictions, not accuracies", field="paired")
        if len(columns) < len(sets):
            raise InputError("one set has accuracies, the other predictions",
                             remedy="Give both alike")  # fmt: skip
        tables = [
            _of_accuracies(found, pair.datasets[origin], origin, top)
            for origin, found in columns.items()
        ]
        return GivenAccuracies(tables[0], tables[1], (), [])
    models, left_out = given_models(original, replication)
    layout, n_classes = layout_of(all_given(models), *arguments)
    tables, images = [], []
    for origin, dataset in pair.datasets.items():
        counted, correctness = _count_set(models, origin, layout, n_classes, top)
        tables.append(_of_predictions(counted, correctness, dataset, top))
        images.append(correctness)
    same = tuple(images) if pair.paired else ()
    return GivenAccuracies(tables[0], tables[1], same, left_out)


def _accuracy_columns(given: Models, origin: str) -> dict[str, list[Any]] | None:
    """Return the columns of a table of accuracies; None if these are predictions."""
    is_pattern = isinstance(given, str | os.PathLike) and MODEL in os.fspath(given)
    if is_pattern or is_of_several(given):
        return None
    found = Given.of(given, origin).lists(_COLUMNS, Layout())
    return found if "model" in found else None


def _of_accuracies(
    columns: Mapping[str, list[Any]], name: str, origin: str, top: int
) -> pa.Table:  # fmt: skip
    """Check a table of accuracies."""
    models = [checked_model_name(str(model)) for model in columns["model"]]
    if not models:
        raise InputError("no models", file=origin, field="model")
    if len(set(models)) < len(models):
        twice = next(model for model in models if models.count(model) > 1)
        raise InputError(f"model '{twice}' occurs twice", file=origin, field="model")
    wanted = ("n_correct", "n") if "n_correct" in columns else ("accuracy",)
    missing = [one for one in wanted if one not in columns]
    if missing:
        raise InputError(
            f"column {missing[0]} missing; found {', '.join(columns)}", file=origin,
            remedy="Give 'n_correct' and 'n', or 'accuracy' and optionally 'n'",
        )  # fmt: skip
    short = [one for one, values in columns.items() if len(values) != len(models)]
    if short:
        raise InputError(f"{len(columns[short[0]])} values of {len(models)} models",
                         file=origin, field=short[0])  # fmt: skip
    rows = _counted(columns, models, origin)
    return ACCURACIES.table(
        {
            "model": models, "dataset": [name] * len(models), "top": [top] * len(models),
            "accuracy": [row[0] for row in rows], "n_correct": [row[1] for row in rows],
            "n": [row[2] for row in rows],
        }
    )  # fmt: skip


def _counted(
    columns: Mapping[str, list[Any]], models: Sequence[str], origin: str
) -> list[tuple[float, int, int]]:
    """Return accuracy, correct datapoints and datapoints of every model."""
    if "n_correct" in columns:
        largest = int(np.iinfo(np.int32).max)
        n, correct = (
            checked_integers(np.array(columns[one]), one, largest, origin)
            for one in ("n", "n_correct")
        )
        bad = np.flatnonzero((n < 1) | (correct > n))
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"{correct[row]} of {n[row]} datapoints", file=f"{origin}, model '{models[row]}'",
                field="n_correct", remedy="Give counts with 0 <= n_correct <= n and n > 0",
            )  # fmt: skip
        return [(int(c) / int(m), int(c), int(m)) for c, m in zip(correct, n, strict=True)]
    numbers = [_decimal(value) for value in columns["accuracy"]]
    finite = [int(one.as_tuple().exponent) for one in numbers if one.is_finite()]
    sizes = columns.get("n", [0] * len(models))
    checked = checked_integers(np.array(sizes), "n", int(np.iinfo(np.int32).max), origin)
    return [
        counts_of(
            number, min(finite, default=0), {"unit": "fraction", "n": int(size)},
            {"file": f"{origin}, model '{model}'", "field": "accuracy"},
        )
        for number, size, model in zip(numbers, checked, models, strict=True)
    ]  # fmt: skip


def _decimal(value: object) -> Decimal:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(repr(value)) if is_number else Decimal("nan")


@dataclass(frozen=True, eq=False)
class _Counted:
    """One model on one set: which datapoints, whether each is right, and hits among the top k."""

    index: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]
    hits: tuple[int, ...]

    @classmethod
    def of(cls, given: Given, layout: Layout, n_classes: int | None, top: int) -> "_Counted":
        raw, file = given.raw(layout), given.place
        ranked = ranked_classes(raw, layout, top)
        known = (n_classes, ranked.n_classes, len(layout.classes or ()))
        largest = min(filter(None, known), default=MAX_CLASSES) - 1
        labels = checked_integers(labels_of(raw, layout), "label", largest, file)
        classes = ranked.classes
        if classes.ndim == 1:
            classes = checked_integers(classes, "prediction", largest, file)
        elif classes.dtype.kind not in "iu":
            raise InputError(f"has dtype {classes.dtype}", file=file, field="prediction")
        is_given = np.ndim(raw.columns.get("prediction", ())) > 1
        hits = count_hits(
            classes, labels, file=file, n_classes=n_classes, order_is_known=not is_given
        )
        if len(hits) < top:
            raise InputError(
                f"{len(hits)} predicted classes a row, fewer than top={top}", file=file,
                remedy="Give the scores of all classes, or that many predicted classes",
            )  # fmt: skip
        index = np.arange(len(labels), dtype=np.int64)
        if "index" in raw.columns:
            most = int(np.iinfo(np.int32).max)
            index = checked_integers(np.asarray(raw.columns["index"]), "index", most, file)
            if len(np.unique(index)) < len(labels) or len(index) != len(labels):
                raise InputError(
                    "is not one position per datapoint", file=file, field="index",
                    remedy="Give each datapoint exactly one row",
                )  # fmt: skip
        order = np.argsort(index, kind="stable")
        right = (classes[:, 0] if classes.ndim > 1 else classes) == labels
        return cls(index[order], labels[order], right[order], tuple(hits))

    def is_of(self, other: "_Counted") -> bool:
        """Whether both are on the same datapoints."""
        return np.array_equal(self.index, other.index) and np.array_equal(self.labels, other.labels)


def _count_set(
    models: Sequence[GivenModel], origin: str, layout: Layout, n_classes: int | None, top: int
) -> tuple[list[_Counted], Correctness]:
    """Count the hits of all models on one set."""
    problems, found = ErrorCollector(), dict[str, _Counted]()
    for model in models:
        with problems.collected():
            one = _Counted.of(model.sets[origin], layout, n_classes, top)
            first = next(iter(found), None)
            if first is not None and not one.is_of(found[first]):
                raise InputError(
                    f"model '{model.name}' has other indices or labels than model '{first}'",
                    file=model.sets[origin].place,
                )
            found[checked_model_name(model.name or UNNAMED)] = one
    problems.raise_any()
    all_ = list(found.values())
    right = np.stack([one.right for one in all_])
    return all_, Correctness(tuple(found), all_[0].index, all_[0].labels, right)


def _of_predictions(
    counted: Sequence[_Counted], images: Correctness, dataset: str, top: int
) -> pa.Table:  # fmt: skip
    n, models = len(images), list(images.models)
    correct = [one.hits[top - 1] for one in counted]
    return ACCURACIES.table(
        {
            "model": models, "dataset": [dataset] * len(models), "top": [top] * len(models),
            "n_correct": correct, "n": [n] * len(models), "accuracy": [k / n for k in correct],
        }
    )  # fmt: skip
