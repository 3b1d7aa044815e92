"""What is kept of a forward pass: the prediction file, and files beside it.

To add an output, write a class with `update` and `finish` (see `forward.Sink`) that is made of
a path and the provenance, add a line to `_SINKS`, and its name to `inference.OUTPUTS`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.inference.forward import ForwardBatch, Sink
from matcheval.predictions import Predictions, check_predictions, write_predictions
from matcheval.softmax import most_probable
from matcheval.tables import Column, TableSchema, read_parquet, write_table


def make_sinks(files: Mapping[str, Path], metadata: Mapping[str, str]) -> list[Sink]:
    """Make the sinks of the outputs that are wanted.

    Parameters
    ----------
    files : mapping
        Where each output goes; keys are of `inference.OUTPUTS`.
    metadata : mapping
        Provenance that every file carries; `n_classes` among it.

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
    return [_SINKS[name](path, metadata) for name, path in files.items()]


class FileSink:
    """What sinks that end as a file have in common.

    Parameters
    ----------
    path : Path
        File to write.
    metadata : mapping
        Provenance.
    """

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        self._path, self._metadata = path, metadata


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


@dataclass(frozen=True, eq=False)
class Logits:
    """All logits of one model on one dataset, in dataset order.

    Attributes
    ----------
    index : int32 array, shape (n,)
        Positions in the dataset; the rows are those of the prediction file.
    logits : float32 array, shape (n, n_classes)
        Scores before the softmax.
    metadata : mapping
        Provenance.
    """

    index: npt.NDArray[np.int32]
    logits: npt.NDArray[np.float32]
    metadata: Mapping[str, str] = field(default_factory=dict)


class LogitSink(FileSink):
    """Keeps logits, for the file beside the prediction file."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._batches: list[ForwardBatch] = []

    def update(self, batch: ForwardBatch) -> None:
        """Take the batch's logits."""
        self._batches.append(batch)

    def collect(self) -> Logits:
        """Join what was taken so far."""
        ranges = [
            np.arange(b.start, b.start + len(b.logits), dtype=np.int32) for b in self._batches
        ]
        logits = np.concatenate([batch.logits for batch in self._batches])
        return Logits(np.concatenate(ranges), logits, self._metadata)

    def finish(self) -> None:
        """Write the logit file."""
        found = self.collect()
        n_classes = found.logits.shape[1]
        lists = pa.FixedSizeListArray.from_arrays(found.logits.ravel(), n_classes)
        columns = {"index": found.index, "logits": lists}
        write_table(logit_schema(n_classes).table(columns, found.metadata), self._path)


def logit_schema(n_classes: int) -> TableSchema:
    """Columns of a logit file: `index`, and `logits` as a list of `n_classes` float32."""
    return TableSchema(
        "logits",
        (
            Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
            Column("logits", pa.list_(pa.float32(), n_classes), "1", "scores before the softmax"),
        ),
    )


def read_logits(path: str | os.PathLike[str]) -> Logits:
    """Read a logit file.

    Raises
    ------
    InputError
        If the file cannot be read, or is no logit file.
    """
    table = read_parquet(path)
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    n_classes = int(metadata.get("n_classes", 0))
    table = logit_schema(n_classes).read(path)
    flat = table["logits"].combine_chunks().flatten().to_numpy()
    return Logits(table["index"].to_numpy(), flat.reshape(-1, n_classes), metadata)


_SINKS: dict[str, Callable[[Path, Mapping[str, str]], Sink]] = {
    "predictions": PredictionSink,
    "logits": LogitSink,
}
