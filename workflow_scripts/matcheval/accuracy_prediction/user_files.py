"""Reading a user's prediction file, and the files that inference writes beside it."""

import logging
from pathlib import Path

import numpy as np

from matcheval.accuracy_prediction.outputs import Outputs
from matcheval.errors import InputError
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.statistics import FeatureStatistics, read_statistics
from matcheval.inference.vectors import Vectors, read_vectors
from matcheval.predictions.matrices import ScoreMatrix
from matcheval.predictions.model_outputs import ModelOutputs, read_scores, with_scores
from matcheval.predictions.records import LabelRule

LOGGER = logging.getLogger(__name__)


def read_user_outputs(
    path: str | Path, *, labels: LabelRule = "required", n_classes: int | None = None
) -> Outputs:
    """Read one model's outputs on one dataset from a prediction file.

    Beside `<model>.parquet`, inference writes `<model>.logits.parquet`, `<model>.features.parquet`
    and `<model>.statistics.npz`, as far as they are asked for. Those that are there and of the same
    datapoints are read, too; others are left out with a warning.

    Parameters
    ----------
    path : path-like
        The prediction file, as for `predictions.model_outputs.read_scores`.
    labels : str
        `required` or `optional`.
    n_classes : int, optional
        As for `records.check_predictions`.

    Returns
    -------
    Outputs

    Raises
    ------
    InputError
        As `read_scores`; or if a file beside it is damaged, or its logits are another model's.
    """
    path = Path(path)
    found = read_scores(path, labels=labels, n_classes=n_classes)
    if found.probabilities is None:
        logits = _vectors(path, "logits", found)
        if logits is not None:
            beside = _beside(path, "logits")
            found = with_scores(found, ScoreMatrix("logits", logits.values), beside)
    features = _vectors(path, "features", found)
    return Outputs(
        labels=None if found.labels is None else found.labels.astype(np.int64),
        predicted=found.predicted.astype(np.int64),
        confidences=found.confidences,
        logits=found.logits,
        probabilities=found.probabilities,
        features=None if features is None else features.values,
        statistics=_statistics(path, len(found)),
    )


def check_same_classes(base: Outputs, other: Outputs, file: Path) -> None:
    """Check that outputs are of as many classes, and as many features, as those on the base.

    Parameters
    ----------
    base, other : Outputs
    file : Path
        File of `other`, for error messages.

    Raises
    ------
    InputError
        If they are not.
    """
    for what, ours, theirs in (
        ("classes", base.probabilities, other.probabilities),
        ("features", base.features, other.features),
    ):
        if ours is not None and theirs is not None and ours.shape[1] != theirs.shape[1]:
            raise InputError(
                f"{theirs.shape[1]} {what}, but {ours.shape[1]} in the base file",
                file=file,
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
