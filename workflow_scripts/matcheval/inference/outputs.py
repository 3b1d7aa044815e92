"""The outputs of a forward pass: the prediction file, and further files beside it.

To add an output:

1. write a subclass of `FileWriter`, which is constructed from a path and the provenance;
2. add it to `_WRITERS`;
3. add its name and the suffix of its files to `inference.OUTPUT_SUFFIXES`.

If it needs results of the pass other than logits and features, add a field to `ForwardBatch`.
"""

import functools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.inference import N_TOP
from matcheval.io.array_archives import write_arrays
from matcheval.io.files import readable
from matcheval.io.self_digests import DAMAGED, verify_file
from matcheval.io.tables import Column, TableSchema, parquet_file, read_parquet
from matcheval.predictions.records import Predictions, check_predictions, write_predictions
from matcheval.predictions.softmax import (
    TIED,
    most_probable,
    n_tied,
    softmax,
    top_k_classes,
    write_top_k,
)

Rows = npt.NDArray[np.float32]

BLOCK = 2048  # rows that are written or summed at a time


class Blocks:
    """Regroups the rows of batches into blocks of `BLOCK` rows, of one or several arrays."""

    def __init__(self) -> None:
        self._parts: list[tuple[Rows, ...]] = []
        self._n = 0

    def add(self, *arrays: Rows) -> Iterator[tuple[Rows, ...]]:
        """Add the next rows of each array, and yield the blocks that are complete."""
        self._parts.append(arrays)
        self._n += len(arrays[0])
        while self._n >= BLOCK:
            yield self._take(BLOCK)

    def rest(self) -> Iterator[tuple[Rows, ...]]:
        """Yield the last, incomplete block if any rows are left."""
        if self._n:
            yield self._take(self._n)

    def _take(self, n: int) -> tuple[Rows, ...]:
        """Remove and return the first n rows of each array."""
        joined = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        self._parts = [tuple(array[n:] for array in joined)]
        self._n -= n
        return tuple(array[:n] for array in joined)


@dataclass(frozen=True, eq=False)
class ForwardBatch:
    """A model's logits and features for consecutive datapoints, and their labels."""

    start: int  # index of the first datapoint
    labels: npt.NDArray[np.int16]
    logits: npt.NDArray[np.float32]  # shape (n, n_classes), finite
    features: npt.NDArray[np.float32] | None = None  # input of the last layer, if a writer needs it


class Writer(ABC):
    """Base class of what takes the batches of a forward pass, and writes or keeps one output."""

    needs_features = False

    @abstractmethod
    def update(self, batch: ForwardBatch) -> None:
        """Process the next batch; batches arrive in dataset order, each once."""

    def finish(self) -> None:  # noqa: B027
        """Write the file, if there is one; called once, after the last batch."""

    def discard(self) -> None:  # noqa: B027
        """Remove what has been written so far; called instead of `finish` if the pass fails."""


class FeatureWriter(Writer):
    """Keeps in memory the features of n datapoints, or what a function computes of them."""

    needs_features = True

    def __init__(self, n: int, function: Callable[[Rows], Rows] = np.asarray) -> None:
        self._n, self._function = n, function
        self.values: Rows = np.empty(0, np.float32)

    def update(self, batch: ForwardBatch) -> None:
        """Keep the features of a batch."""
        assert batch.features is not None
        values = self._function(batch.features)
        if batch.start == 0:
            self.values = np.empty((self._n, *values.shape[1:]), np.float32)
        self.values[batch.start : batch.start + len(values)] = values


class FileWriter(Writer):
    """Base class of writers of one file, with the provenance as its metadata."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        self._path, self._metadata = path, metadata


class PredictionWriter(FileWriter):
    """Collects predicted classes and their probabilities, and writes the prediction file."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._batches: list[tuple[npt.NDArray[np.generic], ...]] = []
        self._n_tied = 0

    def update(self, batch: ForwardBatch) -> None:
        """Append the predicted class of each image of a batch, and its probability."""
        index = np.arange(batch.start, batch.start + len(batch.labels))
        most = most_probable(batch.logits, logits=True)
        self._batches.append((index, np.array(batch.labels), *most))
        self._n_tied += n_tied(batch.logits)

    def collect(self) -> Predictions:
        """Join and check the predictions of all batches so far, at least one."""
        names = ("index", "label", "prediction", "probability")
        parts = zip(*self._batches, strict=True)
        columns = {name: np.concatenate(part) for name, part in zip(names, parts, strict=True)}
        metadata = {**self._metadata, TIED: str(self._n_tied)}
        return check_predictions(columns, file=self._path, metadata=metadata)

    def finish(self) -> None:
        """Write the prediction file."""
        write_predictions(self.collect(), self._path)


class TopKWriter(FileWriter):
    """Writes the k classes with the highest scores of every datapoint, for top-k accuracies."""

    def __init__(self, path: Path, metadata: Mapping[str, str], n_top: int = N_TOP) -> None:
        super().__init__(path, metadata)
        self._n_top = n_top
        self._batches: list[tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]] = []

    def update(self, batch: ForwardBatch) -> None:
        """Add the k highest-scoring classes of each datapoint in a batch."""
        self._batches.append((np.array(batch.labels), top_k_classes(batch.logits, self._n_top)))

    def finish(self) -> None:
        """Write the file (see `softmax.read_top_k`)."""
        labels, classes = (np.concatenate(part) for part in zip(*self._batches, strict=True))
        write_top_k(labels, classes, self._path, self._metadata)


Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureStatistics:
    """Statistics of a model on a dataset: means, covariance of features, Gram matrix of softmax."""

    n: int  # datapoints
    feature_mean: Array  # shape (n_features,)
    feature_covariance: Array  # with n - 1 in the denominator; NaN for a single datapoint
    softmax_mean: Array  # shape (n_classes,)
    softmax_gram: Array  # Pᵀ P / n


class RunningStatistics:
    """Accumulates `FeatureStatistics` by the pairwise update of Chan, Golub & LeVeque (1983).

    It avoids the cancellation that plain sums of squares suffer from.
    """

    def __init__(self) -> None:
        self._n = 0

    def add(self, features: npt.NDArray[np.float32], softmax: Array) -> None:
        """Add the features and softmax values of datapoints, a row each."""
        wide, p = features.astype(np.float64), softmax
        mean = wide.mean(axis=0)
        wide -= mean
        if self._n == 0:
            self._mean = np.zeros_like(mean)
            self._scatter = np.zeros((len(mean), len(mean)))
            self._p_sum = np.zeros(p.shape[1])
            self._gram = np.zeros((p.shape[1], p.shape[1]))
        total = self._n + len(wide)
        shift = mean - self._mean
        self._scatter += wide.T @ wide
        self._scatter += np.outer(shift, shift) * (self._n * len(wide) / total)
        self._mean = self._mean + shift * (len(wide) / total)
        self._p_sum += p.sum(axis=0)
        self._gram += p.T @ p
        self._n = total

    def result(self) -> FeatureStatistics:
        """Return the statistics of all rows so far, at least one."""
        denominator = self._n - 1 if self._n > 1 else np.nan
        covariance, p_mean = self._scatter / denominator, self._p_sum / self._n
        return FeatureStatistics(self._n, self._mean, covariance, p_mean, self._gram / self._n)


def read_statistics(path: str | os.PathLike[str]) -> tuple[FeatureStatistics, dict[str, str]]:
    """Read a file of statistics and its provenance."""
    with readable(path, "a readable file of statistics", KeyError, EOFError, remedy=DAMAGED):
        verify_file(path)
        with np.load(path, allow_pickle=False) as archive:
            metadata = dict(json.loads(str(archive["metadata"])))
            names = ("feature_mean", "feature_covariance", "softmax_mean", "softmax_gram")
            statistics = FeatureStatistics(int(archive["n"]), *(archive[name] for name in names))
    return statistics, metadata


class StatisticsWriter(FileWriter):
    """Accumulates statistics of features and softmax, and writes them; keeps neither."""

    needs_features = True

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._blocks, self._running = Blocks(), RunningStatistics()

    def update(self, batch: ForwardBatch) -> None:
        """Accumulate the blocks that a batch completes."""
        assert batch.features is not None
        for features, logits in self._blocks.add(batch.features, batch.logits):
            self._running.add(features, softmax(logits))

    def finish(self) -> None:
        """Write the file (see `read_statistics`)."""
        for features, logits in self._blocks.rest():
            self._running.add(features, softmax(logits))
        arrays = asdict(self._running.result())
        text = json.dumps(dict(self._metadata), sort_keys=True)
        write_arrays(self._path, {**arrays, "metadata": np.array(text)})


_VECTORS = {"logits": "scores before the softmax", "features": "input of the last layer"}


@dataclass(frozen=True, eq=False)
class Vectors:
    """Logits or features of a model on a dataset: a vector per datapoint, in dataset order."""

    index: npt.NDArray[np.int32]  # positions in the dataset
    values: npt.NDArray[np.float32]  # shape (n, width): logits or features
    metadata: Mapping[str, str] = field(default_factory=dict)


def _vector_schema(name: str, width: int) -> TableSchema:
    """Declare the columns of a file of logits or features."""
    index = Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0")
    return TableSchema(
        name, index, Column(name, pa.list_(pa.float32(), width), "1", _VECTORS[name])
    )


def read_vectors(path: str | os.PathLike[str], name: str) -> Vectors:
    """Read a file of logits or features."""
    table = read_parquet(path)
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    width = int(metadata.get("width", 0))
    _vector_schema(name, width).check(table, path)
    flat = table[name].combine_chunks().flatten().to_numpy()
    return Vectors(table["index"].to_numpy(), flat.reshape(-1, width), metadata)


class VectorWriter(FileWriter):
    """Writes logits or features to a Parquet file, one row group at a time."""

    def __init__(self, path: Path, metadata: Mapping[str, str], name: str) -> None:
        super().__init__(path, metadata)
        self._name, self.needs_features = name, name == "features"
        self._blocks, self._open, self._row = Blocks(), ExitStack(), 0
        self._parquet: pq.ParquetWriter | None = None

    def update(self, batch: ForwardBatch) -> None:
        """Write the blocks that a batch completes."""
        vectors = batch.features if self.needs_features else batch.logits
        assert vectors is not None
        for (rows,) in self._blocks.add(vectors):
            self._write_rows(rows)

    def finish(self) -> None:
        """Write the remaining rows, and move the file to its final name."""
        for (rows,) in self._blocks.rest():
            self._write_rows(rows)
        self._open.close()

    def discard(self) -> None:
        """Remove the unfinished file."""
        # As if an exception had left the block of `atomic_file`.
        self._open.__exit__(InterruptedError, InterruptedError(), None)

    def _write_rows(self, rows: Rows) -> None:
        width = rows.shape[1]
        schema = _vector_schema(self._name, width)
        if self._parquet is None:
            described = schema.arrow.with_metadata({**self._metadata, "width": str(width)})
            self._parquet = self._open.enter_context(parquet_file(self._path, described))
        index = np.arange(self._row, self._row + len(rows), dtype=np.int32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), width)
        table = schema.table({"index": index, self._name: lists})
        self._parquet.write_table(table, row_group_size=len(rows))
        self._row += len(rows)


_WRITERS: dict[str, Callable[..., FileWriter]] = {
    "predictions": PredictionWriter,
    **{name: functools.partial(VectorWriter, name=name) for name in _VECTORS},
    "statistics": StatisticsWriter,
    "top": TopKWriter,
}


def build_writers(
    files: Mapping[str, Path], metadata: Mapping[str, str], n_top: int = N_TOP
) -> list[Writer]:
    """Build a writer for each output, given the outputs' files by name."""
    options = {"top": {"n_top": n_top}}
    return [_WRITERS[name](path, metadata, **options.get(name, {})) for name, path in files.items()]
