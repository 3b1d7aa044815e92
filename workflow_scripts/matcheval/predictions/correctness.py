"""Which datapoints each model gets right, whatever the dataset's kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.specs import ACCURACIES_KIND, ARCHIVE_KIND, LABELS_KIND, DatasetSpec
from matcheval.errors import InputError, Problems
from matcheval.predictions.files import read_predictions
from matcheval.predictions.label_files import (
    Integers,
    count_hits,
    models_at,
    read_archive,
    read_integers,
)


@dataclass(frozen=True)
class Correctness:
    """What the models get right on a dataset, top-1.

    Attributes
    ----------
    models : tuple of str
    index : int64 array, shape (n,)
        Positions of the datapoints in the dataset.
    labels : int64 array, shape (n,)
    right : bool array, shape (n_models, n)
    """

    models: tuple[str, ...]
    index: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.labels)

    def rows_of(self, positions: Sequence[int], file: object = None) -> npt.NDArray[np.int64]:
        """Rows of datapoints by their positions in the dataset.

        Raises
        ------
        InputError
            If a position is not there, or named twice.
        """
        row = {int(position): i for i, position in enumerate(self.index)}
        unknown = [position for position in positions if position not in row]
        if unknown:
            raise InputError(
                f"{len(unknown)} of them are no datapoints, such as {unknown[0]}",
                file=file,
                field="index",
            )
        if len(set(positions)) < len(positions):
            raise InputError("a datapoint is named twice", file=file, field="index")
        return np.array([row[position] for position in positions], np.int64)


def dataset_correctness(
    spec: DatasetSpec, models: Sequence[str], predictions: Sequence[str] = ()
) -> Correctness:
    """Read which datapoints each model gets right.

    Parameters
    ----------
    spec : DatasetSpec
    models : sequence of str
        At least one.
    predictions : sequence of str
        Their prediction files, for the kinds that have probabilities.

    Raises
    ------
    InputError
        If the dataset has accuracies only, or files are bad or of other datapoints.
    """
    if spec.kind == ACCURACIES_KIND:
        raise InputError(
            "has accuracies only, not what is right of each datapoint",
            file=spec.name,
            remedy="Leave it out of the follow-up",
        )
    if spec.kind not in (LABELS_KIND, ARCHIVE_KIND):
        return _of_predictions(models, predictions)
    if spec.kind == LABELS_KIND:
        labels = read_integers(Path(spec.options["labels"]))
        files = [Path(spec.own_file(model)) for model in models]
        classes = [read_integers(file) for file in files]
    else:
        files = [Path(spec.options["file"])] * len(models)
        names, archive, labels = read_archive(files[0], spec.options)
        classes = [archive[at] for at in models_at(names, models, files[0])]
    right = np.empty((len(models), len(labels)), bool)
    for i, model in enumerate(models):
        is_reversed = model in spec.options.get("reversed", ())
        n_classes = spec.options.get("classes")
        count_hits(
            classes[i], labels, file=files[i], is_reversed=is_reversed, n_classes=n_classes
        )  # fmt: skip
        right[i] = _first(classes[i], is_reversed) == labels
    index = np.arange(len(labels), dtype=np.int64)
    return Correctness(tuple(models), index, labels.astype(np.int64), right)


def _first(classes: Integers, is_reversed: bool) -> Integers:
    if classes.ndim == 1:
        return classes
    return classes[:, -1 if is_reversed else 0]


def _of_predictions(models: Sequence[str], files: Sequence[str]) -> Correctness:
    rows: list[npt.NDArray[np.bool_]] = []
    first = None
    problems = Problems()
    for model, file in zip(models, files, strict=True):
        with problems.gathered():
            predictions = read_predictions(file)
            first = first or predictions
            if predictions.datapoints_digest != first.datapoints_digest:
                raise InputError(
                    f"model '{model}' has other indices or labels than model '{models[0]}'",
                    file=file,
                )
            rows.append(np.asarray(predictions.correct))
    problems.raise_any()
    if first is None:
        raise InputError("no models", field="models")
    return Correctness(
        tuple(models),
        first.index.astype(np.int64),
        first.label.astype(np.int64),
        np.stack(rows),
    )
