"""The first classes of every datapoint, most probable first: for top-5 accuracies.

A file beside the prediction file, of the same rows; imports no torch.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import Column, TableSchema, read_parquet, write_table

Classes = npt.NDArray[np.int16]


def first_classes(logits: npt.NDArray[Any], k: int) -> Classes:
    """The k classes of the highest scores, the highest first, the lowest class among ties.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
        Finite scores.
    k : int
        At least 1; all classes, if there are fewer.

    Returns
    -------
    int16 array, shape (n, min(k, n_classes))
        The first column is the prediction.
    """
    # A few passes for the maximum are faster than sorting rows, and ties are settled as in argmax.
    rest, rows = logits.copy(), np.arange(len(logits))
    columns = []
    for _ in range(min(k, logits.shape[1])):
        best = rest.argmax(axis=1)
        rest[rows, best] = -np.inf
        columns.append(best.astype(np.int16))
    return np.stack(columns, axis=1)


def top_schema(k: int) -> TableSchema:
    """Columns of a file of first classes."""
    return TableSchema(
        "first classes",
        (
            Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
            Column("label", pa.int16(), "1", "ground truth class"),
            Column("classes", pa.list_(pa.int16(), k), "1", "by falling score"),
        ),
    )


def write_top(
    labels: Classes,
    classes: Classes,
    path: str | os.PathLike[str],
    metadata: Mapping[str, str],
) -> None:
    """Write first classes (n, k) of all datapoints of a dataset, in its order."""
    n, k = classes.shape
    lists = pa.FixedSizeListArray.from_arrays(pa.array(classes.ravel()), k)
    columns = {"index": np.arange(n, dtype=np.int32), "label": labels, "classes": lists}
    write_table(top_schema(k).table(columns, metadata), path)


def read_top(path: str | os.PathLike[str]) -> tuple[Classes, Classes]:
    """Read labels (n,) and first classes (n, k).

    Raises
    ------
    InputError
        If the file cannot be read, or holds something else.
    """
    table = read_parquet(path)
    kind = table.schema.field("classes").type if "classes" in table.schema.names else pa.null()
    if not pa.types.is_fixed_size_list(kind):
        raise InputError("no column of first classes", file=path)
    table = top_schema(kind.list_size).read(path)
    classes = table["classes"].combine_chunks().flatten().to_numpy()
    return table["label"].to_numpy(), classes.reshape(-1, kind.list_size)
