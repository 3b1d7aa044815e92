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
from matcheval.inference.outputs import read_statistics, read_vectors
from matcheval.inference.store import files_at
from matcheval.predictions.files import read_contents, read_predictions
from matcheval.predictions.formats import InMemory, Source
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import LabelRule
from matcheval.predictions.scores import ROUNDING
from matcheval.predictions.softmax import softmax
from matcheval.predictions.suspicions import SameModels, check_same_model

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class UserFile:
    """One model's outputs on one dataset, with the metadata and notes of their file."""

    name: str
    path: Path
    outputs: Outputs
    metadata: Mapping[str, str]
    notes: Sequence[str] = ()


def read_user_file(
    source: Source,
    *,
    labels: LabelRule = "required",
    layout: Layout = Layout(),  # noqa: B008 (immutable)
) -> UserFile:
    """Read one model's outputs on one dataset from a prediction file, or from memory."""
    contents = read_contents(source, layout, scores=True, labels=labels)
    metadata, scores = contents.metadata, contents.scores
    checked = contents.checked()
    outputs = Outputs(
        labels=checked["label"].astype(np.int64) if "label" in checked else None,
        predicted=checked["prediction"].astype(np.int64),
        confidences=checked["probability"].astype(np.float64),
        index=checked["index"],
    )
    if scores is not None:
        values = scores.values
        if len(values) != len(outputs):
            problem = f"has {len(values)} rows, the other columns {len(outputs)}"
            raise InputError(problem, file=source, field=scores.kind)
        if "index" in contents.columns:
            values = values[np.argsort(contents.columns["index"], kind="stable")]
        outputs = _with_scores(outputs, values, scores.kind, source)
    if isinstance(source, InMemory):
        name, path = source.name, Path(source.name)
    else:
        path = Path(source)
        name, outputs = path.stem, _with_files_beside(outputs, path)
    return UserFile(metadata.get("dataset", name), path, outputs, metadata, contents.raw.notes)


def _with_scores(outputs: Outputs, values: npt.NDArray[Any], kind: str, file: object) -> Outputs:
    """Add the logits or probabilities of all classes, which have to agree with the predictions."""
    is_logits = kind == "logits"
    probabilities = softmax(values) if is_logits else values.astype(np.float64)
    highest, rows = probabilities.max(axis=1), np.arange(len(probabilities))
    predicted = outputs.predicted
    bad = predicted >= probabilities.shape[1]
    bad |= probabilities[rows, np.where(bad, 0, predicted)] < highest - ROUNDING
    if bad.any():
        row = int(bad.argmax())
        assert outputs.index is not None
        raise InputError(
            f"datapoint {outputs.index[row]}: the highest score is that of class "
            f"{probabilities[row].argmax()}, the predicted class is {predicted[row]}",
            file=file, field=kind, remedy="Scores and predictions must come from the same model",
        )  # fmt: skip
    return replace(
        outputs, confidences=np.minimum(highest, 1), logits=values if is_logits else None,
        probabilities=probabilities,
    )  # fmt: skip


def _with_files_beside(outputs: Outputs, path: Path) -> Outputs:
    """Add logits, features and statistics from files beside, if they are of the same datapoints."""
    kinds = ("logits", "features", "statistics") if path.suffix.lower() == ".parquet" else ()
    for kind in kinds:
        file = path.with_name(f"{path.stem}{OUTPUT_SUFFIXES[kind]}")
        if not file.is_file() or (kind == "logits" and outputs.probabilities is not None):
            continue
        if kind == "statistics":
            value: Any = read_statistics(file)[0]
            is_alike = value.n == len(outputs)
        else:
            vectors = read_vectors(file, kind)
            value, is_alike = vectors.values, not _differ(vectors.index, outputs.index)
        if not is_alike:
            LOGGER.warning("%s is not used: it is of other datapoints than %s", file, path.name)
        elif kind == "logits":
            outputs = _with_scores(outputs, value, kind, file)
        else:
            outputs = replace(outputs, **{kind: value})
    return outputs


def check_comparable(base: UserFile, other: UserFile) -> None:
    """Check that two files are of the same model, with equal numbers of features."""
    names = (base.path.name, other.path.name)
    check_same_model(base.metadata, other.metadata, names, other.path)
    features = [base.outputs.features, other.outputs.features]
    widths = [array.shape[1] for array in features if array is not None]
    if len(set(widths)) > 1:
        problem = f"features of {widths[1]} numbers, but of {widths[0]} in {base.path.name}"
        remedy = "All files must come from the same model"
        raise InputError(problem, file=other.path, remedy=remedy)


@dataclass(frozen=True)
class OutputFiles:
    """The files of models' outputs, by dataset, and how to read them."""

    stems: Mapping[str, str]  # by dataset, with `{model}`: paths without suffix
    outputs: tuple[str, ...] = ()
    custom: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    labels: Mapping[str, AllLabels] = field(default_factory=dict)
    _same_models: SameModels = field(default_factory=SameModels, init=False, compare=False)

    def read(self, dataset: str, model: str, *, wanted: Sequence[str] | None = None) -> Outputs:
        """Read one model's outputs on one dataset; `wanted` limits the kinds of output read."""
        if dataset in self.custom:
            file, layout = self.custom[dataset][model], self.layouts[dataset]
            user_file = read_user_file(file, layout=layout)
            outputs, metadata = user_file.outputs, user_file.metadata
        else:
            kinds = [kind for kind in self.outputs if wanted is None or kind in wanted]
            stem = self.stems[dataset].format(model=model)
            outputs, metadata = read_outputs(files_at(stem, kinds))
        self._same_models.check(model, dataset, metadata)
        if dataset in self.labels:
            outputs = replace(outputs, labels=self.labels[dataset].read()[outputs.index])
        return outputs

    def reader(self, members: Sequence[str], ensemble: str) -> Callable[[str], Outputs]:
        """Return a function that reads a model's or ensemble's outputs on datasets joined by +."""

        def read(dataset: str) -> Outputs:
            by_member = {member: self.read(dataset, member) for member in members}
            if len(by_member) == 1:
                return by_member[members[0]]
            return average(by_member, ensemble, dataset)

        return lambda datasets: joined([read(dataset) for dataset in datasets.split("+")])


def read_outputs(files: Mapping[str, Path]) -> tuple[Outputs, Mapping[str, str]]:
    """Read one model's outputs on one dataset and their metadata, from files by kind of output."""
    predictions = read_predictions(files["predictions"])
    arrays: dict[str, Any] = {"index": predictions.index}
    for kind in ("logits", "features"):
        if kind in files:
            vectors = read_vectors(files[kind], kind)
            if not np.array_equal(vectors.index, predictions.index):
                raise InputError(
                    f"has other datapoints than {files['predictions'].name}",
                    file=files[kind], remedy="Delete both, and run again",
                )  # fmt: skip
            arrays[kind] = vectors.values
    if "statistics" in files:
        arrays["statistics"] = read_statistics(files["statistics"])[0]
    labels = predictions.label.astype(np.int64)
    if "logits" in arrays:
        return from_logits(arrays.pop("logits"), labels, **arrays), predictions.metadata
    predicted = predictions.prediction.astype(np.int64)
    confidences = predictions.probability.astype(np.float64)
    return Outputs(labels, predicted, confidences, **arrays), predictions.metadata


def check_same_datapoints(
    first: tuple[str, Outputs], second: tuple[str, Outputs], dataset: str
) -> None:
    """Check that two models' outputs on a dataset are of the same datapoints."""
    (name, a), (other, b) = first, second
    difference = ""
    if len(a) != len(b):
        difference = f"{len(b)} datapoints, and model '{name}' {len(a)}"
    elif _differ(a.index, b.index):
        difference = f"other datapoints than model '{name}'"
    elif _differ(a.labels, b.labels):
        difference = f"other labels than model '{name}'"
    if difference:
        raise InputError(
            f"on dataset '{dataset}' model '{other}' has {difference}",
            remedy="Compute the predictions of both models on the same datapoints, in one order",
        )


def _differ(first: npt.NDArray[Any] | None, second: npt.NDArray[Any] | None) -> bool:
    """Whether two arrays are both known, and not equal."""
    return first is not None and second is not None and not np.array_equal(first, second)


def average(members: Mapping[str, Outputs], ensemble: str, dataset: str) -> Outputs:
    """Return the outputs of an ensemble: the mean of its members' probabilities."""
    first = next(iter(members.items()))
    for member in members.items():
        check_same_datapoints(first, member, dataset)
    matrices = [m.probabilities for m in members.values() if m.probabilities is not None]
    if len(matrices) < len(members):
        raise configuration_error(
            f"the probabilities of the members of ensemble '{ensemble}' are not on file",
            field="accuracy_prediction.ensembles", remedy="Add logits to inference.outputs",
        )  # fmt: skip
    if len({matrix.shape for matrix in matrices}) > 1:
        by_model = zip(members, matrices, strict=True)
        widths = ", ".join(f"'{model}' {matrix.shape[1]}" for model, matrix in by_model)
        raise InputError(
            f"on dataset '{dataset}' the members of ensemble '{ensemble}' have other numbers of "
            f"classes: {widths}",
            remedy="Combine models of one label space",
        )
    mean = np.mean(matrices, axis=0)
    return Outputs(
        first[1].labels, mean.argmax(axis=1), mean.max(axis=1), probabilities=mean,
        index=first[1].index,
    )  # fmt: skip
