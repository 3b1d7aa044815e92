"""Reading the files of inference into `Outputs`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.outputs.user_files import read_user_file
from matcheval.accuracy_prediction.scores.outputs import Outputs, softmax
from matcheval.datasets.suites import AllLabels
from matcheval.errors import InputError, configuration_error
from matcheval.inference.outputs import read_vectors
from matcheval.inference.statistics import read_statistics
from matcheval.inference.store import output_files
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.suspicions import SameModels


@dataclass(frozen=True)
class OutputFiles:
    """Where the outputs of models lie."""

    folder: Path
    outputs: tuple[str, ...] = ()
    custom: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    labels: Mapping[str, AllLabels] = field(default_factory=dict)
    _same_models: SameModels = field(default_factory=SameModels, init=False, compare=False)

    def read(self, dataset: str, model: str, *, wanted: Sequence[str] | None = None) -> Outputs:
        """Read one model's outputs on one dataset."""
        if dataset in self.custom:
            file, layout = self.custom[dataset][model], self.layouts[dataset]
            user_file = read_user_file(file, layout=layout)
            found, metadata = user_file.outputs, user_file.metadata
        else:
            outputs = [one for one in self.outputs if wanted is None or one in wanted]
            found, metadata = read_outputs(output_files(self.folder, dataset, model, outputs))
        self._same_models.check(model, dataset, metadata)
        if dataset in self.labels:
            found = replace(found, labels=self.labels[dataset].read()[found.index])
        return found


def read_outputs(files: Mapping[str, Path]) -> tuple[Outputs, Mapping[str, str]]:
    """Read one model's outputs on one dataset."""
    predictions = read_predictions(files["predictions"])
    found = Outputs(
        labels=predictions.label.astype(np.int64),
        predicted=predictions.prediction.astype(np.int64),
        confidences=predictions.probability.astype(np.float64),
        index=predictions.index,
    )
    for kind in ("logits", "features"):
        if kind in files:
            vectors = read_vectors(files[kind], kind)
            if not np.array_equal(vectors.index, predictions.index):
                raise InputError(
                    f"has other datapoints than {files['predictions'].name}",
                    file=files[kind],
                    remedy="Delete both, and run again",
                )
            changes: dict[str, Any] = {kind: vectors.values}
            found = replace(found, **changes)
    if found.logits is not None:
        probabilities = softmax(found.logits)
        found = replace(
            found, probabilities=probabilities, predicted=found.logits.argmax(axis=1),
            confidences=probabilities.max(axis=1),
        )  # fmt: skip
    if "statistics" in files:
        found = replace(found, statistics=read_statistics(files["statistics"])[0])
    return found, predictions.metadata


def check_same_datapoints(
    one: tuple[str, Outputs], other: tuple[str, Outputs], dataset: str
) -> None:
    """Check that two models' outputs on a dataset are of the same datapoints."""
    (first, a), (second, b) = one, other
    difference = ""
    if len(a) != len(b):
        difference = f"{len(b)} datapoints, and model '{first}' {len(a)}"
    elif _differ(a.index, b.index):
        difference = f"other datapoints than model '{first}'"
    elif _differ(a.labels, b.labels):
        difference = f"other labels than model '{first}'"
    if difference:
        raise InputError(
            f"on dataset '{dataset}' model '{second}' has {difference}",
            remedy="Compute the predictions of both models on the same datapoints, in one order",
        )


def _differ(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    return one is not None and other is not None and not np.array_equal(one, other)


def average(members: Mapping[str, Outputs], name: str, dataset: str) -> Outputs:
    """Return the outputs of an ensemble: the mean of its members' probabilities."""
    matrices = {model: one.probabilities for model, one in members.items()}
    if any(matrix is None for matrix in matrices.values()):
        raise configuration_error(
            f"the probabilities of the members of ensemble '{name}' are not on file",
            field="accuracy_prediction.ensembles",
            remedy="Add logits to inference.outputs",
        )
    first = next(iter(members.items()))
    for each in members.items():
        check_same_datapoints(first, each, dataset)
    known = {model: matrix for model, matrix in matrices.items() if matrix is not None}
    if len({matrix.shape for matrix in known.values()}) > 1:
        widths = ", ".join(f"'{model}' {matrix.shape[1]}" for model, matrix in known.items())
        raise InputError(
            f"on dataset '{dataset}' the members of ensemble '{name}' have other numbers of "
            f"classes: {widths}",
            remedy="Combine models of one label space",
        )
    mean = np.mean(list(known.values()), axis=0)
    return Outputs(
        first[1].labels, mean.argmax(axis=1), mean.max(axis=1), probabilities=mean,
        index=first[1].index,
    )  # fmt: skip
