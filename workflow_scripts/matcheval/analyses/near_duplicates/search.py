"""The search for near duplicates: candidates by ℓ2, ranked again by structural similarity."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.analyses.near_duplicates.distances import nearest_neighbours
from matcheval.analyses.near_duplicates.images import LabelledPixels
from matcheval.analyses.near_duplicates.schemas import NEIGHBOURS
from matcheval.analyses.near_duplicates.ssim import WINDOW, structural_similarity
from matcheval.errors import InputError

_QUERIES = 1024  # at a time, of the pairs that are compared by SSIM


def find_neighbours(
    queries: LabelledPixels, references: LabelledPixels, k: int = 10, *, ssim: bool = True
) -> pa.Table:
    """Find the k nearest references of every query, and how similar they are.

    Parameters
    ----------
    queries, references : LabelledPixels
        Of one shape, pixel range and label space. If they are one set, no image is its own
        neighbour.
    k : int
        Neighbours per query.
    ssim : bool
        Whether to compare these k by structural similarity too.

    Returns
    -------
    pyarrow.Table
        Of schema `schemas.NEIGHBOURS`, by query and rank.

    Raises
    ------
    InputError
        If the sets do not go together, or k is out of range.
    """
    if queries.max_value != references.max_value:
        raise InputError(
            f"pixels to {queries.max_value} are not compared with pixels to {references.max_value}",
            file=f"{queries.name}, {references.name}",
        )
    same = queries.sha256 == references.sha256
    nearest = nearest_neighbours(queries.pixels, references.pixels, k, same=same)
    similarity = np.full(nearest.index.shape, np.nan)
    if ssim:
        similarity = _similarities(queries, references, nearest.index)
    rows, chosen = np.repeat(np.arange(len(nearest.index)), k), nearest.index.ravel()
    columns: dict[str, Any] = {
        "query": rows,
        "rank": np.tile(np.arange(1, k + 1), len(nearest.index)),
        "reference": chosen,
        "distance": nearest.distance.ravel(),
        "ssim": similarity.ravel(),
        "ssim_rank": _ranks(similarity).ravel() if ssim else np.zeros(len(chosen), int),
    }
    for side, of, at in (("query", queries, rows), ("reference", references, chosen)):
        columns[f"{side}_name"] = pa.array(of.names).take(pa.array(at))
        columns[f"{side}_class"] = pa.array(of.classes).take(pa.array(of.labels[at]))
    metadata = {"queries": queries.name, "references": references.name}
    metadata |= {"queries_sha256": queries.sha256, "references_sha256": references.sha256}
    return NEIGHBOURS.table(_typed(columns), metadata)


def _similarities(
    queries: LabelledPixels, references: LabelledPixels, index: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    similarity = np.empty(index.shape)
    side = min(queries.pixels.shape[1:3])
    window = min(WINDOW, side - 1 + side % 2)  # the largest odd number, if images are that small
    for start in range(0, len(index), _QUERIES):
        part = index[start : start + _QUERIES]
        first = np.repeat(queries.pixels[start : start + _QUERIES], index.shape[1], axis=0)
        second = references.pixels[part.ravel()]
        of_pairs = structural_similarity(first, second, queries.max_value, window)
        similarity[start : start + len(part)] = of_pairs.reshape(part.shape)
    return similarity


def _ranks(similarity: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Rank in each row, the most similar first; ties by ℓ2 rank."""
    order = np.argsort(-similarity, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None, :], axis=1)
    return ranks


def _typed(columns: dict[str, Any]) -> dict[str, Any]:
    """Arrays in the schema's types, which Arrow does not narrow by itself."""
    typed = {}
    for column in NEIGHBOURS.columns:
        values = columns[column.name]
        is_array = isinstance(values, np.ndarray)
        typed[column.name] = values.astype(column.type.to_pandas_dtype()) if is_array else values
    return typed
