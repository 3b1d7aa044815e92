"""The softmax, the predicted class and its probability, in float64 for every model precision."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import Column, TableSchema, read_parquet, write_table


def softmax(logits: npt.NDArray[Any], temperature: float = 1.0) -> npt.NDArray[np.float64]:
    """Compute the softmax of finite scores over the last axis in float64."""
    exponentials = _exponentials(logits, temperature)
    exponentials /= exponentials.sum(axis=-1, keepdims=True)
    return exponentials


def _exponentials(logits: npt.NDArray[Any], temperature: float = 1.0) -> npt.NDArray[np.float64]:
    """Return exp((logits - their maximum) / temperature) over the last axis, in row-major order."""
    wide: npt.NDArray[np.float64] = np.array(logits, np.float64, order="C")
    with np.errstate(over="ignore"):  # overflow to -inf is fine: its exponential is 0
        wide -= wide.max(axis=-1, keepdims=True)
        wide /= temperature
    return np.exp(wide, out=wide)


_ROWS = 4096  # whose softmax is in memory at a time
TIED = "n_tied"  # in the metadata of a prediction file: rows whose two highest scores are equal


def most_probable(
    scores: npt.NDArray[Any], *, logits: bool
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.float32]]:
    """Return the predicted classes and their probabilities, both (n,), of scores (n, n_classes).

    Ties go to the lowest class; the probability is that of the softmax in float64, rounded once.
    """
    # The argmax of the scores, since the softmax may round distinct logits to equal values.
    prediction = scores.argmax(axis=-1).astype(np.int16)
    if logits:
        blocks = [scores[start : start + _ROWS] for start in range(0, len(scores), _ROWS)]
        sums = [_exponentials(block).sum(axis=-1) for block in blocks]
        highest: npt.NDArray[Any] = 1 / np.concatenate(sums) if sums else np.empty(0)
    else:
        highest = scores.max(axis=-1)
    return prediction, np.minimum(highest.astype(np.float32), np.float32(1))


def n_tied(scores: npt.NDArray[Any]) -> int:
    """Count the rows whose two highest scores, of shape (n, n_classes), are equal."""
    highest = scores == scores.max(axis=-1, keepdims=True)
    return int(np.count_nonzero(np.count_nonzero(highest, axis=-1) > 1))


Classes = npt.NDArray[np.int16]


def top_k_classes(logits: npt.NDArray[Any], k: int) -> Classes:
    """Return the k classes with the highest scores, (n, min(k, n_classes)), highest first."""
    # A few searches for the maximum are faster than sorting rows, and resolve ties as argmax does.
    rest, rows = logits.copy(), np.arange(len(logits))
    columns = []
    for _ in range(min(k, logits.shape[1])):
        best = rest.argmax(axis=1)
        rest[rows, best] = -np.inf
        columns.append(best.astype(np.int16))
    return np.stack(columns, axis=1)


def top_k_schema(k: int) -> TableSchema:
    """Return the schema of a file of top-k classes."""
    return TableSchema(
        "top-k classes",
        Column("index", pa.int32(), "1", "position of the datapoint in its dataset, from 0"),
        Column("label", pa.int16(), "1", "ground truth class"),
        Column("classes", pa.list_(pa.int16(), k), "1", "by decreasing score"),
    )


def write_top_k(
    labels: Classes, classes: Classes, path: str | os.PathLike[str], metadata: Mapping[str, str]
) -> None:
    """Write a file of the labels, (n,), and top-k classes, (n, k), of a dataset."""
    n, k = classes.shape
    lists = pa.FixedSizeListArray.from_arrays(pa.array(classes.ravel()), k)
    columns = {"index": np.arange(n, dtype=np.int32), "label": labels, "classes": lists}
    write_table(top_k_schema(k).table(columns, metadata), path)


def read_top_k(path: str | os.PathLike[str]) -> tuple[Classes, Classes]:
    """Read the labels, (n,), and top-k classes, (n, k), of a file by `write_top_k`."""
    table = read_parquet(path)
    kind = table.schema.field("classes").type if "classes" in table.schema.names else pa.null()
    if not pa.types.is_fixed_size_list(kind):
        raise InputError("no column of top-k classes", file=path)
    table = top_k_schema(kind.list_size).read(path)
    classes = table["classes"].combine_chunks().flatten().to_numpy()
    return table["label"].to_numpy(), classes.reshape(-1, kind.list_size)
