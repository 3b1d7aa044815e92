"""What models predict correctly on a dataset of any kind: each datapoint, and counts as a table.

Everything downstream (intervals, ranks, fits) reads the table, and so does not depend on whether
the accuracies come from inference, the user's prediction files or published classes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.kinds import (
    ACCURACIES_KIND,
    ARCHIVE_KIND,
    LABELS_KIND,
    PREDICTIONS_KIND,
    DatasetSpec,
)
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
)  # fmt: skip
from matcheval.predictions.records import Predictions
from matcheval.predictions.softmax import read_top_k
from matcheval.predictions.suspicions import SameModels, SameScores, check_truth

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
        return accuracy_table(spec.name, [replace(row, model=of_alias[row.model]) for row in read])
    if spec.kind in (LABELS_KIND, ARCHIVE_KIND):
        found = _published(spec, models)
        hits = {model: (len(labels), of_model) for model, labels, of_model, _ in found}
    else:
        top_k = dict(zip(models, top_k_files, strict=True)) if top_k_files else {}

        def count(model: str, found: Predictions) -> tuple[int, list[int]]:
            of_top = _top_k_hits(found, top_k[model]) if model in top_k else None
            return len(found), of_top or [int(found.correct.sum())]

        hits = dict(zip(models, _read_all(spec, models, predictions, count)[1], strict=True))
    return accuracy_table(
        spec.name,
        [
            Accuracy(model, k, correct / n, correct, n)
            for model, (n, of_model) in hits.items()
            for k, correct in enumerate(of_model, start=1)
        ],
    )


def accuracy_table(dataset: str, rows: Sequence[Accuracy]) -> pa.Table:
    """Return the accuracies of models on a dataset as the table `ACCURACIES`."""
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows]
        for name in ("model", "top", "n_correct", "n", "accuracy")
    }
    return ACCURACIES.table(columns | {"dataset": [dataset] * len(rows)})


def _top_k_hits(predictions: Predictions, file: str) -> list[int]:
    """Count hits among the top-k classes, after checking them against the prediction file."""
    labels, classes = read_top_k(file)
    if not np.array_equal(classes[:, 0], predictions.prediction):
        raise InputError(
            "its top-1 classes differ from the prediction file beside it", file=file,
            remedy="Delete both files, and run again",
        )  # fmt: skip
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
        wrong = partial(InputError, file=file, field="index")
        if unknown:
            of_others = f"{len(unknown)} of the values are not datapoints of the dataset"
            raise wrong(f"{of_others}, such as {unknown[0]}")
        if len(set(positions)) < len(positions):
            raise wrong("a datapoint occurs twice")
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
        problem = "has accuracies only, no predictions of single datapoints"
        raise InputError(problem, file=spec.name, remedy="Remove it from the analysis")
    if not models:
        raise InputError("no models", field="models")
    if spec.kind in (LABELS_KIND, ARCHIVE_KIND):
        _, given, _, right = zip(*_published(spec, models), strict=True)
        labels = given[0].astype(np.int64)
        return Correctness(tuple(models), np.arange(len(labels)), labels, np.stack(right))
    same = same_models or SameModels()

    def compare(model: str, found: Predictions) -> npt.NDArray[np.bool_]:
        same.check(model, spec.name, found.metadata)
        return np.asarray(is_right(found))

    first, rows = _read_all(spec, models, predictions, compare)
    index, labels = first.index.astype(np.int64), first.label.astype(np.int64)
    return Correctness(tuple(models), index, labels, np.stack(rows))


def _read_all(
    spec: DatasetSpec,
    models: Sequence[str],
    files: Sequence[str],
    use: Callable[[str, Predictions], Any],
) -> tuple[Predictions, list[Any]]:
    """Read the predictions of all models; return the first one's, and what `use` gives of each."""
    layout, errors, used = layout_of(spec), ErrorCollector(), list[Any]()
    same, all_right = SameScores(spec.name), list[Predictions]()
    first: tuple[str, Predictions] | None = None
    for model, file in zip(models, files, strict=True):
        with errors.collected():
            found = read_predictions(file, layout=layout)
            first = first or (model, found)
            if found.datapoints_digest != first[1].datapoints_digest:
                problem = f"model '{model}' has other indices or labels than model '{first[0]}'"
                raise InputError(problem, file=file)
            same.check(model, file, found)
            if len(all_right) == len(used) and found.correct.all():
                all_right.append(found)
            used.append(use(model, found))
    errors.raise_any()
    assert first is not None
    if len(all_right) == len(used) and spec.kind == PREDICTIONS_KIND:
        check_truth(all_right, layout, spec.name)
    return first[1], used


def _published(
    spec: DatasetSpec, models: Sequence[str]
) -> Iterator[tuple[str, Integers, list[int], npt.NDArray[np.bool_]]]:
    """Read published classes: model, labels, hits by k, and which first classes are right."""
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
            if model in options.get("reversed", ()):
                classes = classes[..., ::-1] if classes.ndim > 1 else classes
            hits = count_hits(classes, labels, file=file, n_classes=options.get("classes"))
            first = classes if classes.ndim == 1 else classes[:, 0]
            yield model, labels, hits, first == labels
    errors.raise_any()
