"""Which datapoints of a dataset of any kind each model predicts correctly."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.kinds import ACCURACIES_KIND, ARCHIVE_KIND, LABELS_KIND, DatasetSpec
from matcheval.errors import ErrorCollector, InputError
from matcheval.predictions.files import read_predictions
from matcheval.predictions.label_files import (
    Integers,
    count_hits,
    models_at,
    read_archive,
    read_integers,
)
from matcheval.predictions.layout import layout_of
from matcheval.predictions.provenance import SameModels
from matcheval.predictions.records import Predictions


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
        """Find the rows of datapoints by their positions in the dataset.

        Parameters
        ----------
        positions : sequence of int
            Positions in the dataset.
        file : object, optional
            File that the positions come from, for error messages.

        Returns
        -------
        int64 array, shape (len(positions),)
            Indices into `index`, `labels` and the columns of `right`.

        Raises
        ------
        InputError
            If there is no datapoint at a position, or a position occurs twice.
        """
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
    if spec.kind not in (LABELS_KIND, ARCHIVE_KIND):
        known = same_models or SameModels()
        return _of_predictions(spec, dict(zip(models, predictions, strict=True)), is_right, known)
    if spec.kind == LABELS_KIND:
        labels = read_integers(Path(spec.options["labels"]))
        files = [Path(spec.results_file(model)) for model in models]
        classes = [read_integers(file) for file in files]
    else:
        files = [Path(spec.options["file"])] * len(models)
        names, archive, labels = read_archive(files[0], spec.options)
        classes = [
            archive[at]
            for at in models_at(names, [spec.alias(model) for model in models], files[0])
        ]
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


def _of_predictions(
    spec: DatasetSpec,
    files: Mapping[str, str],
    is_right: Callable[[Predictions], npt.NDArray[np.bool_]],
    same_models: SameModels,
) -> Correctness:
    layout = layout_of(spec)
    rows: list[npt.NDArray[np.bool_]] = []
    first: tuple[str, Predictions] | None = None
    errors = ErrorCollector()
    for model, file in files.items():
        with errors.collected():
            predictions = read_predictions(file, layout=layout)
            same_models.check(model, spec.name, predictions.metadata)
            first = first or (model, predictions)
            if predictions.datapoints_digest != first[1].datapoints_digest:
                raise InputError(
                    f"model '{model}' has other indices or labels than model '{first[0]}'",
                    file=file,
                )
            rows.append(np.asarray(is_right(predictions)))
    errors.raise_any()
    if first is None:
        raise InputError("no models", field="models")
    return Correctness(
        tuple(files),
        first[1].index.astype(np.int64),
        first[1].label.astype(np.int64),
        np.stack(rows),
    )
