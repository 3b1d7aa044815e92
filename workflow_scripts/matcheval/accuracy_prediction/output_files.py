"""Reading models' outputs into `Outputs`: the files of inference, and a user's prediction files."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import Outputs, from_logits, joined
from matcheval.datasets.suites import AllLabels
from matcheval.errors import InputError, configuration_error
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.outputs import read_vectors
from matcheval.inference.statistics import read_statistics
from matcheval.inference.store import output_files
from matcheval.predictions.files import ScoreMatrix, read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.model_outputs import ModelOutputs, read_scores, with_scores
from matcheval.predictions.records import LabelRule
from matcheval.predictions.suspicions import SameModels, check_same_model

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class UserFile:
    """One model's outputs on one dataset, and what its file says about them."""

    name: str
    path: Path
    outputs: Outputs
    metadata: Mapping[str, str] = field(default_factory=dict)


def read_user_file(
    path: str | Path,
    *,
    labels: LabelRule = "required",
    n_classes: int | None = None,
    layout: Layout = Layout(),  # noqa: B008 (immutable)
) -> UserFile:
    """Read one model's outputs on one dataset from a prediction file."""
    path = Path(path)
    found = read_scores(path, labels=labels, n_classes=n_classes, layout=layout)

    def vectors(output: str) -> npt.NDArray[np.float32] | None:
        beside = _beside(path, output)
        if beside is None:
            return None
        read = read_vectors(beside, output)
        is_alike = np.array_equal(read.index, found.index)
        return read.values if _is_used(is_alike, beside, path) else None

    if found.probabilities is None and (logits := vectors("logits")) is not None:
        found = with_scores(found, ScoreMatrix("logits", logits), _beside(path, "logits"))
    outputs = outputs_of_model(found, vectors("features"))
    if beside := _beside(path, "statistics"):
        statistics = read_statistics(beside)[0]
        if _is_used(statistics.n == len(found), beside, path):
            outputs = replace(outputs, statistics=statistics)
    return UserFile(found.metadata.get("dataset", path.stem), path, outputs, found.metadata)


def _beside(path: Path, output: str) -> Path | None:
    """Return the file of an output beside a prediction file, if there is one."""
    beside = path.with_name(f"{path.stem}{OUTPUT_SUFFIXES[output]}")
    return beside if path.suffix.lower() == ".parquet" and beside.is_file() else None


def _is_used(is_alike: bool, beside: Path, path: Path) -> bool:
    """Warn of a file that is of other datapoints than the prediction file beside it."""
    if not is_alike:
        LOGGER.warning("%s is not used: it is of other datapoints than %s", beside, path.name)
    return is_alike


def outputs_of_model(
    found: ModelOutputs, features: npt.NDArray[np.float32] | None = None
) -> Outputs:  # fmt: skip
    """Return checked outputs as scores take them.

    Parameters
    ----------
    found : ModelOutputs
    features : float32 array, shape (n, n_features), optional
        Of the same datapoints, in their order.
    """
    return Outputs(
        labels=None if found.labels is None else found.labels.astype(np.int64),
        predicted=found.predicted.astype(np.int64),
        confidences=found.confidences,
        logits=found.logits,
        probabilities=found.probabilities,
        features=features,
        index=found.index,
    )


def check_comparable(base: UserFile, other: UserFile) -> None:
    """Check that a file is of the same model, classes and features as the base's."""
    names = (base.path.name, other.path.name)
    check_same_model(base.metadata, other.metadata, names, other.path)
    features = [base.outputs.features, other.outputs.features]
    widths = [one.shape[1] for one in features if one is not None]
    if len(set(widths)) > 1:
        raise InputError(
            f"features of {widths[1]} numbers, but of {widths[0]} in {base.path.name}",
            file=other.path, remedy="All files must come from the same model",
        )  # fmt: skip


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

    def reader(self, members: Sequence[str], ensemble: str) -> Callable[[str], Outputs]:
        """Return what reads a model's outputs, or an ensemble's, on datasets joined by +."""

        def read(name: str) -> Outputs:
            found = {member: self.read(name, member) for member in members}
            return average(found, ensemble, name) if len(found) > 1 else found[members[0]]

        return lambda names: joined([read(name) for name in names.split("+")])


def read_outputs(files: Mapping[str, Path]) -> tuple[Outputs, Mapping[str, str]]:
    """Read one model's outputs on one dataset."""
    predictions = read_predictions(files["predictions"])
    found: dict[str, Any] = {"index": predictions.index}
    for kind in ("logits", "features"):
        if kind in files:
            vectors = read_vectors(files[kind], kind)
            if not np.array_equal(vectors.index, predictions.index):
                raise InputError(
                    f"has other datapoints than {files['predictions'].name}",
                    file=files[kind], remedy="Delete both, and run again",
                )  # fmt: skip
            found[kind] = vectors.values
    if "statistics" in files:
        found["statistics"] = read_statistics(files["statistics"])[0]
    labels = predictions.label.astype(np.int64)
    if "logits" in found:
        return from_logits(found.pop("logits"), labels, **found), predictions.metadata
    predicted = predictions.prediction.astype(np.int64)
    confidences = predictions.probability.astype(np.float64)
    return Outputs(labels, predicted, confidences, **found), predictions.metadata


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
    first = next(iter(members.items()))
    for member in members.items():
        check_same_datapoints(first, member, dataset)
    matrices = [one.probabilities for one in members.values() if one.probabilities is not None]
    if len(matrices) < len(members):
        raise configuration_error(
            f"the probabilities of the members of ensemble '{name}' are not on file",
            field="accuracy_prediction.ensembles", remedy="Add logits to inference.outputs",
        )  # fmt: skip
    if len({matrix.shape for matrix in matrices}) > 1:
        both = zip(members, matrices, strict=True)
        widths = ", ".join(f"'{model}' {matrix.shape[1]}" for model, matrix in both)
        raise InputError(
            f"on dataset '{dataset}' the members of ensemble '{name}' have other numbers of "
            f"classes: {widths}",
            remedy="Combine models of one label space",
        )
    mean = np.mean(matrices, axis=0)
    return Outputs(
        first[1].labels, mean.argmax(axis=1), mean.max(axis=1), probabilities=mean,
        index=first[1].index,
    )  # fmt: skip
