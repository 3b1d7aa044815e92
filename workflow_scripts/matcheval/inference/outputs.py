"""What is kept of a forward pass: the prediction file, and files beside it.

To add an output:

1. write a class with `update` and `finish` (see `FileSink`) that takes a path and the provenance;
2. add a line with it to `_SINKS`;
3. add a line with its name and the end of its files' names to `inference.OUTPUT_SUFFIXES`.

What it needs of the pass beyond logits is a further field of `forward.ForwardBatch`.
"""

import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.inference import N_TOP
from matcheval.inference.batches import ForwardBatch, Sink
from matcheval.inference.statistics import RunningStatistics
from matcheval.inference.vectors import vector_schema
from matcheval.io.files import whole_file
from matcheval.predictions.records import Predictions, check_predictions, write_predictions
from matcheval.predictions.softmax import most_probable, softmax
from matcheval.predictions.top_k import first_classes, write_top

Rows = npt.NDArray[np.float32]

BLOCK = 2048  # rows that are written, or summed, at a time, whatever the batches were


def make_sinks(
    files: Mapping[str, Path], metadata: Mapping[str, str], n_top: int = N_TOP
) -> list[Sink]:
    """Make the sinks of the outputs that are wanted.

    Parameters
    ----------
    files : mapping
        Where each output goes; keys are of `inference.OUTPUTS`.
    metadata : mapping
        Provenance that every file carries; `n_classes` among it.
    n_top : int
        How many first classes `top` keeps.

    Raises
    ------
    InputError
        If an output is unknown.
    """
    unknown = sorted(files.keys() - _SINKS.keys())
    if unknown:
        raise InputError(
            f"unknown output '{unknown[0]}'", field="outputs", remedy=f"Known: {', '.join(_SINKS)}"
        )
    makers = _SINKS | {"top": functools.partial(TopSink, n_top=n_top)}
    return [makers[name](path, metadata) for name, path in files.items()]


class FileSink(ABC):
    """What sinks that end as a file have in common.

    Parameters
    ----------
    path : Path
        File to write.
    metadata : mapping
        Provenance.
    """

    needs_features = False

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        self._path, self._metadata = path, metadata

    @abstractmethod
    def update(self, batch: ForwardBatch) -> None:
        """Take the next batch."""

    @abstractmethod
    def finish(self) -> None:
        """Write the file."""

    def discard(self) -> None:  # noqa: B027 - most sinks write at the end
        """Remove what was written so far; nothing, unless a sink writes as it goes."""


class PredictionSink(FileSink):
    """Keeps predicted classes and confidences, for the prediction file."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._batches: list[tuple[npt.NDArray[np.generic], ...]] = []

    def update(self, batch: ForwardBatch) -> None:
        """Take the batch's most probable classes."""
        index = np.arange(batch.start, batch.start + len(batch.labels))
        most = most_probable(batch.logits, logits=True)
        self._batches.append((index, np.array(batch.labels), *most))

    def collect(self) -> Predictions:
        """Check and join what was taken so far."""
        names = ("index", "label", "prediction", "probability")
        parts = zip(*self._batches, strict=True)
        columns = {name: np.concatenate(part) for name, part in zip(names, parts, strict=True)}
        return check_predictions(columns, file=self._path, metadata=self._metadata)

    def finish(self) -> None:
        """Write the prediction file."""
        write_predictions(self.collect(), self._path)


class Blocks:
    """Regroups the rows of batches into blocks of one size.

    What is written or summed then does not depend on the size of the batches, which may change
    under way when memory runs out.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Rows, ...]] = []
        self._n = 0

    def add(
        self, *arrays: npt.NDArray[np.float32]
    ) -> Iterator[tuple[npt.NDArray[np.float32], ...]]:
        """Take rows of some arrays, equally long, and give the blocks that are full."""
        self._parts.append(arrays)
        self._n += len(arrays[0])
        while self._n >= BLOCK:
            yield self._take(BLOCK)

    def rest(self) -> Iterator[tuple[Rows, ...]]:
        """Give the last block, if rows are left."""
        if self._n:
            yield self._take(self._n)

    def _take(self, n: int) -> tuple[Rows, ...]:
        joined = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        self._parts = [tuple(array[n:] for array in joined)]
        self._n -= n
        return tuple(array[:n] for array in joined)


class VectorSink(FileSink):
    """Writes a vector of float32 per datapoint, a row group at a time."""

    name = ""
    meaning = ""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._blocks, self._open, self._row = Blocks(), ExitStack(), 0
        self._writer: pq.ParquetWriter | None = None

    def vectors(self, batch: ForwardBatch) -> npt.NDArray[np.float32]:
        """What to write of a batch, shape (n, width)."""
        raise NotImplementedError

    def update(self, batch: ForwardBatch) -> None:
        """Write the rows that make up whole blocks."""
        for (rows,) in self._blocks.add(self.vectors(batch)):
            self._write(rows)

    def finish(self) -> None:
        """Write the remaining rows, and give the file its name."""
        for (rows,) in self._blocks.rest():
            self._write(rows)
        self._open.close()

    def discard(self) -> None:
        """Remove the unfinished file."""
        # As if the block that writes the file had failed.
        self._open.__exit__(InterruptedError, InterruptedError(), None)

    def _write(self, rows: npt.NDArray[np.float32]) -> None:
        width = rows.shape[1]
        schema = vector_schema(self.name, self.meaning, width)
        if self._writer is None:
            partial = self._open.enter_context(whole_file(self._path))
            metadata = {**self._metadata, "width": str(width)}
            self._writer = self._open.enter_context(
                pq.ParquetWriter(partial, schema.arrow.with_metadata(metadata), compression="zstd")
            )
        index = np.arange(self._row, self._row + len(rows), dtype=np.int32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), width)
        table = schema.table({"index": index, self.name: lists})
        self._writer.write_table(table, row_group_size=len(rows))
        self._row += len(rows)


class LogitSink(VectorSink):
    """Writes logits, for the file beside the prediction file."""

    name, meaning = "logits", "scores before the softmax"

    def vectors(self, batch: ForwardBatch) -> npt.NDArray[np.float32]:
        """Return the logits."""
        return batch.logits


class FeatureSink(VectorSink):
    """Writes penultimate features."""

    name, meaning = "features", "what the last layer is given"
    needs_features = True

    def vectors(self, batch: ForwardBatch) -> npt.NDArray[np.float32]:
        """Return the features."""
        return _features(batch)


class StatisticsSink(FileSink):
    """Keeps statistics of features and softmax, and neither of them."""

    needs_features = True

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._blocks, self._running = Blocks(), RunningStatistics()

    def update(self, batch: ForwardBatch) -> None:
        """Add the rows that make up whole blocks."""
        for features, logits in self._blocks.add(_features(batch), batch.logits):
            self._running.add(features, softmax(logits))

    def finish(self) -> None:
        """Write the file (see `statistics.read_statistics`)."""
        for features, logits in self._blocks.rest():
            self._running.add(features, softmax(logits))
        arrays = asdict(self._running.result())
        text = json.dumps(dict(self._metadata), sort_keys=True)
        with whole_file(self._path) as partial, partial.open("wb") as stream:
            np.savez(stream, **arrays, metadata=np.array(text))


def _features(batch: ForwardBatch) -> npt.NDArray[np.float32]:
    if batch.features is None:
        raise AssertionError("the pass was not told that a sink needs features")
    return batch.features


class TopSink(FileSink):
    """Keeps the first classes of every datapoint, for accuracies over more than one."""

    def __init__(self, path: Path, metadata: Mapping[str, str], n_top: int = N_TOP) -> None:
        super().__init__(path, metadata)
        self._n_top = n_top
        self._batches: list[tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]] = []

    def update(self, batch: ForwardBatch) -> None:
        """Take the batch's first classes."""
        self._batches.append((np.array(batch.labels), first_classes(batch.logits, self._n_top)))

    def finish(self) -> None:
        """Write the file (see `top_classes.read_top`)."""
        labels, classes = (np.concatenate(part) for part in zip(*self._batches, strict=True))
        write_top(labels, classes, self._path, self._metadata)


_SINKS: dict[str, Callable[[Path, Mapping[str, str]], Sink]] = {
    "predictions": PredictionSink,
    "logits": LogitSink,
    "features": FeatureSink,
    "statistics": StatisticsSink,
    "top": TopSink,
}
