"""Files with one vector per datapoint: logits or features."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.io.tables import Column, TableSchema, read_parquet


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector per datapoint of one model's pass over one dataset, in dataset order.

    Attributes
    ----------
    index : int32 array, shape (n,)
        Positions in the dataset; the rows are those of the prediction file.
    values : float32 array, shape (n, width)
        Logits or features.
    metadata : mapping
        Provenance.
    """

    index: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    metadata: Mapping[str, str] = field(default_factory=dict)


def vector_schema(name: str, meaning: str, width: int) -> TableSchema:
    """Declare the columns of a file of vectors."""
    return TableSchema(
        name,
        (
            Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
            Column(name, pa.list_(pa.float32(), width), "1", meaning),
        ),
    )


def read_vectors(path: str | os.PathLike[str], name: str) -> Vectors:
    """Read a file of logits or features."""
    table = read_parquet(path)
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    width = int(metadata.get("width", 0))
    table = vector_schema(name, "", width).read(path)
    flat = table[name].combine_chunks().flatten().to_numpy()
    return Vectors(table["index"].to_numpy(), flat.reshape(-1, width), metadata)
