"""Accuracies of all models on one dataset of any kind, as one table.

Everything downstream (intervals, ranks, fits) reads this table, and so does not depend on whether
the accuracies come from inference, the user's prediction files or published classes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from matcheval.datasets.kinds import ACCURACIES_KIND, ARCHIVE_KIND, LABELS_KIND, DatasetSpec
from matcheval.errors import ErrorCollector, InputError
from matcheval.predictions.accuracy_files import Accuracy, read_accuracies
from matcheval.predictions.files import read_predictions
from matcheval.predictions.label_files import count_hits, models_at, read_archive, read_integers
from matcheval.predictions.layout import layout_of
from matcheval.predictions.records import Predictions
from matcheval.predictions.schemas import ACCURACIES
from matcheval.predictions.top_k import read_top_k

_Counts = Iterator[Accuracy]


def dataset_accuracies(
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str] = (),
    top_k_files: Sequence[str] = (),
) -> pa.Table:
    """Count the datapoints of a dataset that every model predicts correctly."""
    readers: dict[str, Callable[[], _Counts]] = {
        LABELS_KIND: lambda: _of_labels(spec, models),
        ARCHIVE_KIND: lambda: _of_archive(spec, models),
        ACCURACIES_KIND: lambda: _of_table(spec, models),
    }
    read = readers.get(spec.kind, lambda: _of_predictions(spec, models, predictions, top_k_files))
    rows = list(read())
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows]
        for name in ("model", "top", "n_correct", "n", "accuracy")
    }
    return ACCURACIES.table(columns | {"dataset": [spec.name] * len(rows)})


def _counted(model: str, hits: Sequence[int], n: int) -> _Counts:
    for top, correct in enumerate(hits, start=1):
        yield Accuracy(model, top, correct / n, correct, n)


def _of_predictions(
    spec: DatasetSpec, models: Sequence[str], files: Sequence[str], top_k_files: Sequence[str]
) -> _Counts:
    layout = layout_of(spec)
    top_k = dict(zip(models, top_k_files, strict=True)) if top_k_files else {}
    first: tuple[str, str] | None = None
    errors = ErrorCollector()
    for model, file in zip(models, files, strict=True):
        with errors.collected():
            predictions = read_predictions(file, layout=layout)
            first = first or (model, predictions.datapoints_digest)
            if predictions.datapoints_digest != first[1]:
                raise InputError(
                    f"model '{model}' has other indices or labels than model '{first[0]}'",
                    file=file,
                )
            hits = [int(predictions.correct.sum())]
            if model in top_k:
                hits = _top_k_hits(predictions, top_k[model])
            yield from _counted(model, hits, len(predictions))
    errors.raise_any()


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


def _of_labels(spec: DatasetSpec, models: Sequence[str]) -> _Counts:
    labels = read_integers(Path(spec.options["labels"]))
    errors = ErrorCollector()
    for model in models:
        path = Path(spec.results_file(model))
        with errors.collected():
            classes = read_integers(path)
            hits = count_hits(classes, labels, file=path, **_label_options(spec.options, model))
            yield from _counted(model, hits, len(labels))
    errors.raise_any()


def _of_archive(spec: DatasetSpec, models: Sequence[str]) -> _Counts:
    path = Path(spec.options["file"])
    names, classes, labels = read_archive(path, spec.options)
    positions = models_at(names, [spec.alias(model) for model in models], path)
    for model, position in zip(models, positions, strict=True):
        hits = count_hits(
            classes[position],
            labels,
            file=f"{path}, model '{model}'",
            **_label_options(spec.options, model),
        )
        yield from _counted(model, hits, len(labels))


def _of_table(spec: DatasetSpec, models: Sequence[str]) -> _Counts:
    of_alias = {spec.alias(model): model for model in models}
    for row in read_accuracies(Path(spec.options["file"]), spec.options, list(of_alias)):
        yield replace(row, model=of_alias[row.model])


def _label_options(options: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {
        "is_reversed": model in options.get("reversed", ()),
        "n_classes": options.get("classes"),
    }
