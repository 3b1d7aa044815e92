"""Reading a user's prediction file, and the files that inference writes beside it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.errors import InputError
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.outputs import Vectors, read_vectors
from matcheval.inference.statistics import FeatureStatistics, read_statistics
from matcheval.predictions.files import ScoreMatrix
from matcheval.predictions.layout import Layout
from matcheval.predictions.model_outputs import ModelOutputs, read_scores, with_scores
from matcheval.predictions.records import LabelRule
from matcheval.predictions.suspicions import check_same_model

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
    if found.probabilities is None:
        logits = _vectors(path, "logits", found)
        if logits is not None:
            beside = _beside(path, "logits")
            found = with_scores(found, ScoreMatrix("logits", logits.values), beside)
    features = _vectors(path, "features", found)
    outputs = outputs_of_model(found, None if features is None else features.values)
    outputs = replace(outputs, statistics=_statistics(path, len(found)))
    return UserFile(found.metadata.get("dataset", path.stem), path, outputs, found.metadata)


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
            file=other.path,
            remedy="All files must come from the same model",
        )


def _beside(path: Path, output: str) -> Path:
    return path.with_name(f"{path.stem}{OUTPUT_SUFFIXES[output]}")


def _is_beside(path: Path, output: str) -> bool:
    return path.suffix.lower() == ".parquet" and _beside(path, output).is_file()


def _vectors(path: Path, output: str, predictions: ModelOutputs) -> Vectors | None:
    if not _is_beside(path, output):
        return None
    found = read_vectors(_beside(path, output), output)
    if np.array_equal(found.index, predictions.index):
        return found
    _warn(_beside(path, output), path)
    return None


def _statistics(path: Path, n: int) -> FeatureStatistics | None:
    if not _is_beside(path, "statistics"):
        return None
    found = read_statistics(_beside(path, "statistics"))[0]
    if found.n == n:
        return found
    _warn(_beside(path, "statistics"), path)
    return None


def _warn(beside: Path, path: Path) -> None:
    LOGGER.warning("%s is not used: it is of other datapoints than %s", beside, path.name)
