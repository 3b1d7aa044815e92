"""Accuracies of all models on one dataset, whatever the dataset's kind: one table for what follows.

Everything downstream (intervals, ranks, fits) reads this table, so that it does not know whether
a network, a person's prediction files or a published list of labels gave the numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from matcheval.datasets.specs import (
    ACCURACIES_KIND,
    ARCHIVE_KIND,
    LABELS_KIND,
    DatasetSpec,
)
from matcheval.errors import InputError, Problems
from matcheval.predictions.accuracy_files import Accuracy, read_accuracies
from matcheval.predictions.files import read_predictions
from matcheval.predictions.label_files import count_hits, models_at, read_archive, read_integers
from matcheval.predictions.records import Predictions
from matcheval.predictions.schemas import ACCURACIES
from matcheval.predictions.top_k import read_top

_Counts = Iterator[Accuracy]


def dataset_accuracies(
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str] = (),
    first_classes: Sequence[str] = (),
) -> pa.Table:
    """Count what every model gets right on a dataset.

    Parameters
    ----------
    spec : DatasetSpec
        The dataset.
    models : sequence of str
        Names of the models, in order.
    predictions : sequence of str
        Their prediction files, for the kinds that have probabilities.
    first_classes : sequence of str
        Their files of first classes (see `top_classes`), if more than the first is counted.

    Returns
    -------
    pyarrow.Table
        Of schema `schemas.ACCURACIES`: per model a row for top-1, and further ones where the files
        hold further classes.

    Raises
    ------
    InputError
        Naming every bad file, or the first model that was run on other datapoints.
    """
    readers: dict[str, Callable[[], _Counts]] = {
        LABELS_KIND: lambda: _of_labels(spec, models),
        ARCHIVE_KIND: lambda: _of_archive(Path(spec.options["file"]), spec.options, models),
        ACCURACIES_KIND: lambda: read_accuracies(Path(spec.options["file"]), spec.options, models),
    }
    read = readers.get(spec.kind, lambda: _of_predictions(models, predictions, first_classes))
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
    models: Sequence[str], files: Sequence[str], first_classes: Sequence[str]
) -> _Counts:
    tops = dict(zip(models, first_classes, strict=True)) if first_classes else {}
    first: tuple[str, str] | None = None
    problems = Problems()
    for model, file in zip(models, files, strict=True):
        with problems.gathered():
            predictions = read_predictions(file)
            first = first or (model, predictions.datapoints_digest)
            if predictions.datapoints_digest != first[1]:
                raise InputError(
                    f"model '{model}' has other indices or labels than model '{first[0]}'",
                    file=file,
                )
            hits = [int(predictions.correct.sum())]
            if model in tops:
                hits = _hits_of_top(predictions, tops[model])
            yield from _counted(model, hits, len(predictions))
    problems.raise_any()


def _hits_of_top(predictions: Predictions, file: str) -> list[int]:
    """Hits among the first classes, which must be those of the prediction file."""
    labels, classes = read_top(file)
    if not np.array_equal(classes[:, 0], predictions.prediction):
        raise InputError(
            "its first classes are not the predictions beside it",
            file=file,
            remedy="Delete both files, and run again",
        )
    return count_hits(classes, labels, file=file, is_own=True)


def _of_labels(spec: DatasetSpec, models: Sequence[str]) -> _Counts:
    labels = read_integers(Path(spec.options["labels"]))
    problems = Problems()
    for model in models:
        path = Path(spec.own_file(model))
        with problems.gathered():
            classes = read_integers(path)
            hits = count_hits(classes, labels, file=path, **_how(spec.options, model))
            yield from _counted(model, hits, len(labels))
    problems.raise_any()


def _of_archive(path: Path, options: Mapping[str, Any], models: Sequence[str]) -> _Counts:
    names, classes, labels = read_archive(path, options)
    for model, position in zip(models, models_at(names, models, path), strict=True):
        hits = count_hits(
            classes[position], labels, file=f"{path}, model '{model}'", **_how(options, model)
        )  # fmt: skip
        yield from _counted(model, hits, len(labels))


def _how(options: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {
        "is_reversed": model in options.get("reversed", ()),
        "n_classes": options.get("classes"),
    }
