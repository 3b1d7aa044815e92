"""What models predict correctly on a dataset of any kind: each datapoint, and counts as a table.

Everything downstream (intervals, ranks, fits) reads the table, and so does not depend on whether
the accuracies come from inference, the user's prediction files or published classes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.kinds import ACCURACIES_KIND, ARCHIVE_KIND, LABELS_KIND, DatasetSpec
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.tables import DATASET, MODEL, TOP_K, Column, TableSchema, fraction
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import layout_of
from matcheval.predictions.published_files import (
    Accuracy,
    Integers,
    count_hits,
    models_at,
    read_accuracies,
    read_archive,
    read_integers,
)
from matcheval.predictions.records import Predictions
from matcheval.predictions.softmax import read_top_k
from matcheval.predictions.suspicions import SameModels

ACCURACIES = TableSchema(
    "accuracies of a dataset",
    (
        MODEL,
        DATASET,
        TOP_K,
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
        Column("n", pa.int64(), "datapoints", "size of the dataset; 0 if unknown"),
        fraction("accuracy", "n_correct over n, or as published"),
    ),
)


def dataset_accuracies(
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str] = (),
    top_k_files: Sequence[str] = (),
) -> pa.Table:
    """Count the datapoints of a dataset that every model predicts correctly."""
    if spec.kind == ACCURACIES_KIND:
        of_alias = {spec.alias(model): model for model in models}
        read = read_accuracies(Path(spec.options["file"]), spec.options, list(of_alias))
        rows = [replace(row, model=of_alias[row.model]) for row in read]
    elif spec.kind in (LABELS_KIND, ARCHIVE_KIND):
        found = _published(spec, models)
        rows = [row for one in found for row in _counted(one.model, one.hits, len(one.labels))]
    else:
        top_k = dict(zip(models, top_k_files, strict=True)) if top_k_files else {}
        rows = []

        def count(model: str, known: Predictions) -> None:
            hits = [int(known.correct.sum())]
            if model in top_k:
                hits = _top_k_hits(known, top_k[model])
            rows.extend(_counted(model, hits, len(known)))

        _read_all(spec, models, predictions, count)
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows]
        for name in ("model", "top", "n_correct", "n", "accuracy")
    }
    return ACCURACIES.table(columns | {"dataset": [spec.name] * len(rows)})


def _counted(model: str, hits: Sequence[int], n: int) -> list[Accuracy]:
    return [Accuracy(model, k, correct / n, correct, n) for k, correct in enumerate(hits, start=1)]


def _top_k_hits(predictions: Predictions, file: str) -> list[int]:
    """Count hits among the top-k classes, after checking them against the prediction file."""
    labels, classes = read_top_k(file)
    if not np.array_equal(classes[:, 0], predictions.prediction):
        raise InputError(
            "its top-1 classes differ from the prediction file beside it",
            file=file,
            remedy="Delete both files, and run again",
        )
    return count_hits(classes, labels, file=file, order_is_known=True)


@dataclass(frozen=True)
class Correctness:
    """Which datapoints of a dataset the models predict correctly (top-1).

    Attributes
    ----------
    models : tuple of str
        Names of the models.
    index : int64 array, shape (n,)
        Positions of the datapoints in the dataset.
    labels : int64 array, shape (n,)
        True classes.
    right : bool array, shape (n_models, n)
        Whether each model's prediction is correct.
    """

    models: tuple[str, ...]
    index: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.labels)

    def rows_of(self, positions: Sequence[int], file: object = None) -> npt.NDArray[np.int64]:
        """Find the rows of datapoints by their positions in the dataset, of which `file` tells."""
        row = {int(position): i for i, position in enumerate(self.index)}
        unknown = [position for position in positions if position not in row]
        if unknown:
            raise InputError(
                f"{len(unknown)} of the values are not datapoints of the dataset, such as "
                f"{unknown[0]}",
                file=file,
                field="index",
            )
        if len(set(positions)) < len(positions):
            raise InputError("a datapoint occurs twice", file=file, field="index")
        return np.array([row[position] for position in positions], np.int64)


def dataset_correctness(
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str] = (),
    is_right: Callable[[Predictions], npt.NDArray[np.bool_]] = lambda found: found.correct,
    same_models: SameModels | None = None,
) -> Correctness:
    """Determine which datapoints each model predicts correctly."""
    if spec.kind == ACCURACIES_KIND:
        raise InputError(
            "has accuracies only, no predictions of single datapoints",
            file=spec.name,
            remedy="Remove it from the analysis",
        )
    if not models:
        raise InputError("no models", field="models")
    if spec.kind in (LABELS_KIND, ARCHIVE_KIND):
        found = list(_published(spec, models))
        labels = found[0].labels.astype(np.int64)
        index = np.arange(len(labels), dtype=np.int64)
        return Correctness(tuple(models), index, labels, np.stack([one.right for one in found]))
    rows: list[npt.NDArray[np.bool_]] = []
    same = same_models or SameModels()

    def compare(model: str, known: Predictions) -> None:
        same.check(model, spec.name, known.metadata)
        rows.append(np.asarray(is_right(known)))

    first = _read_all(spec, models, predictions, compare)
    index, labels = first.index.astype(np.int64), first.label.astype(np.int64)
    return Correctness(tuple(models), index, labels, np.stack(rows))


def _read_all(
    spec: DatasetSpec,
    models: Sequence[str],
    files: Sequence[str],
    use: Callable[[str, Predictions], None],
) -> Predictions:
    """Read the predictions of all models, of the same datapoints; return the first one's."""
    layout, errors = layout_of(spec), ErrorCollector()
    first: tuple[str, Predictions] | None = None
    for model, file in zip(models, files, strict=True):
        with errors.collected():
            known = read_predictions(file, layout=layout)
            first = first or (model, known)
            if known.datapoints_digest != first[1].datapoints_digest:
                raise InputError(
                    f"model '{model}' has other indices or labels than model '{first[0]}'",
                    file=file,
                )
            use(model, known)
    errors.raise_any()
    assert first is not None
    return first[1]


@dataclass(frozen=True, eq=False)
class _Published:
    """One model's published classes: hits by k, and which of the first classes are right."""

    model: str
    labels: Integers
    hits: list[int]
    right: npt.NDArray[np.bool_]


def _published(spec: DatasetSpec, models: Sequence[str]) -> Iterator[_Published]:
    """Read and check the classes of models, from a file each or from an archive."""
    errors, options = ErrorCollector(), spec.options
    if spec.kind == LABELS_KIND:
        labels = read_integers(Path(options["labels"]))
    else:
        path = Path(options["file"])
        names, archive, labels = read_archive(path, options)
        positions = models_at(names, [spec.alias(model) for model in models], path)
    for number, model in enumerate(models):
        with errors.collected():
            if spec.kind == LABELS_KIND:
                file: object = Path(spec.results_file(model))
                classes = read_integers(Path(spec.results_file(model)))
            else:
                file, classes = f"{path}, model '{model}'", archive[positions[number]]
            is_reversed = model in options.get("reversed", ())
            hits = count_hits(
                classes, labels, file=file, is_reversed=is_reversed,
                n_classes=options.get("classes"),
            )  # fmt: skip
            best = classes if classes.ndim == 1 else classes[:, -1 if is_reversed else 0]
            yield _Published(model, labels, hits, best == labels)
    errors.raise_any()
