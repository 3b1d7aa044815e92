"""Writers of one vector per datapoint: logits, or penultimate features."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.inference.batches import ForwardBatch
from matcheval.inference.blocks import Blocks, Rows
from matcheval.inference.vectors import vector_schema
from matcheval.inference.writers import FileWriter, features_of
from matcheval.io.tables import parquet_file


class VectorWriter(FileWriter):
    """Write one float32 vector per datapoint, one row group of a Parquet file at a time."""

    name = ""
    meaning = ""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        super().__init__(path, metadata)
        self._blocks, self._open, self._row = Blocks(), ExitStack(), 0
        self._parquet: pq.ParquetWriter | None = None

    def vectors(self, batch: ForwardBatch) -> Rows:
        """Return the vectors of a batch."""
        raise NotImplementedError

    def update(self, batch: ForwardBatch) -> None:
        """Write the blocks that a batch completes."""
        for (rows,) in self._blocks.add(self.vectors(batch)):
            self._write(rows)

    def finish(self) -> None:
        """Write the remaining rows, and move the file to its final name."""
        for (rows,) in self._blocks.rest():
            self._write(rows)
        self._open.close()

    def discard(self) -> None:
        """Remove the unfinished file."""
        # As if an exception had left the block of `atomic_file`.
        self._open.__exit__(InterruptedError, InterruptedError(), None)

    def _write(self, rows: Rows) -> None:
        width = rows.shape[1]
        schema = vector_schema(self.name, self.meaning, width)
        if self._parquet is None:
            metadata = {**self._metadata, "width": str(width)}
            self._parquet = self._open.enter_context(
                parquet_file(self._path, schema.arrow.with_metadata(metadata))
            )
        index = np.arange(self._row, self._row + len(rows), dtype=np.int32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), width)
        table = schema.table({"index": index, self.name: lists})
        self._parquet.write_table(table, row_group_size=len(rows))
        self._row += len(rows)


class LogitWriter(VectorWriter):
    """Write logits."""

    name, meaning = "logits", "scores before the softmax"

    def vectors(self, batch: ForwardBatch) -> Rows:
        """Return the logits of a batch."""
        return batch.logits


class FeatureWriter(VectorWriter):
    """Write penultimate features."""

    name, meaning = "features", "input of the last layer"
    needs_features = True

    def vectors(self, batch: ForwardBatch) -> Rows:
        """Return the features of a batch."""
        return features_of(batch)
