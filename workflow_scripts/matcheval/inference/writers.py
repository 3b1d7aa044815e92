"""Writers of predictions, top-k classes and statistics, and what all writers share."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.inference import N_TOP
from matcheval.inference.batches import ForwardBatch
from matcheval.inference.blocks import Blocks, Rows
from matcheval.inference.statistics import RunningStatistics
from matcheval.io.array_archives import write_arrays
from matcheval.predictions.records import Predictions, check_predictions, write_predictions
from matcheval.predictions.softmax import most_probable, softmax, top_k_classes, write_top_k


class FileWriter(ABC):
    """Base class of the writers that produce one file."""

    needs_features = False

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        self._path, self._metadata = path, metadata

    @abstractmethod
    def update(self, batch: ForwardBatch) -> None:
        """Process the next batch."""

    @abstractmethod
    def finish(self) -> None:
        """Write the file."""

    def discard(self) -> None:  # noqa: B027 - most writers write only at the end
        """Remove what has been written so far; does nothing for writers that write at the end."""


class PredictionWriter(FileWriter):
    """Collect predicted classes and confidences, and write the prediction file."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._batches: list[tuple[npt.NDArray[np.generic], ...]] = []

    def update(self, batch: ForwardBatch) -> None:
        """Add the most probable classes of a batch."""
        index = np.arange(batch.start, batch.start + len(batch.labels))
        most = most_probable(batch.logits, logits=True)
        self._batches.append((index, np.array(batch.labels), *most))

    def collect(self) -> Predictions:
        """Join and check the predictions of all batches so far, at least one."""
        names = ("index", "label", "prediction", "probability")
        parts = zip(*self._batches, strict=True)
        columns = {name: np.concatenate(part) for name, part in zip(names, parts, strict=True)}
        return check_predictions(columns, file=self._path, metadata=self._metadata)

    def finish(self) -> None:
        """Write the prediction file."""
        write_predictions(self.collect(), self._path)


class TopKWriter(FileWriter):
    """Collect the top-k classes of every datapoint, and write them for top-k accuracies."""

    def __init__(self, path: Path, metadata: Mapping[str, str], n_top: int = N_TOP) -> None:
        super().__init__(path, metadata)
        self._n_top = n_top
        self._batches: list[tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]] = []

    def update(self, batch: ForwardBatch) -> None:
        """Add the top-k classes of a batch."""
        self._batches.append((np.array(batch.labels), top_k_classes(batch.logits, self._n_top)))

    def finish(self) -> None:
        """Write the file (see `top_k.read_top_k`)."""
        labels, classes = (np.concatenate(part) for part in zip(*self._batches, strict=True))
        write_top_k(labels, classes, self._path, self._metadata)


class StatisticsWriter(FileWriter):
    """Accumulate statistics of features and softmax, without keeping either."""

    needs_features = True

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._blocks, self._running = Blocks(), RunningStatistics()

    def update(self, batch: ForwardBatch) -> None:
        """Accumulate the blocks that a batch completes."""
        for features, logits in self._blocks.add(features_of(batch), batch.logits):
            self._running.add(features, softmax(logits))

    def finish(self) -> None:
        """Write the file (see `statistics.read_statistics`)."""
        for features, logits in self._blocks.rest():
            self._running.add(features, softmax(logits))
        arrays = asdict(self._running.result())
        text = json.dumps(dict(self._metadata), sort_keys=True)
        write_arrays(self._path, {**arrays, "metadata": np.array(text)})


def features_of(batch: ForwardBatch) -> Rows:
    """Return the features of a batch."""
    if batch.features is None:
        raise AssertionError("the writer needs features, but the pass did not compute them")
    return batch.features
