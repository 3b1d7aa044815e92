"""The search for near duplicates: nearest images by ℓ2 distance, compared by SSIM as well."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.analyses.near_duplicates.distances import nearest_neighbours
from matcheval.analyses.near_duplicates.images import LabelledPixels
from matcheval.analyses.near_duplicates.schemas import NEAREST_IMAGES
from matcheval.analyses.near_duplicates.ssim import WINDOW, structural_similarity
from matcheval.errors import InputError

_QUERIES = 1024  # queries whose pairs are compared by SSIM at a time


def find_near_duplicates(
    queries: LabelledPixels, references: LabelledPixels, k: int = 10, *, ssim: bool = True
) -> pa.Table:
    """Find the k nearest references of every query, and their structural similarity."""
    if queries.max_value != references.max_value:
        raise InputError(
            f"images with pixel values up to {queries.max_value} cannot be compared with images "
            f"with values up to {references.max_value}",
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
    return NEAREST_IMAGES.table(_typed(columns), metadata)


def _similarities(
    queries: LabelledPixels, references: LabelledPixels, index: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    similarity = np.empty(index.shape)
    side = min(queries.pixels.shape[1:3])
    window = min(WINDOW, side - 1 + side % 2)  # smaller images: the largest odd side
    for start in range(0, len(index), _QUERIES):
        part = index[start : start + _QUERIES]
        first = np.repeat(queries.pixels[start : start + _QUERIES], index.shape[1], axis=0)
        second = references.pixels[part.ravel()]
        of_pairs = structural_similarity(first, second, queries.max_value, window)
        similarity[start : start + len(part)] = of_pairs.reshape(part.shape)
    return similarity


def _ranks(similarity: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Rank the similarities of each row, the highest first; ties by ℓ2 rank."""
    order = np.argsort(-similarity, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None, :], axis=1)
    return ranks


def _typed(columns: dict[str, Any]) -> dict[str, Any]:
    """Cast arrays to the types of the schema: Arrow does not narrow them by itself."""
    typed = {}
    for column in NEAREST_IMAGES.columns:
        values = columns[column.name]
        is_array = isinstance(values, np.ndarray)
        typed[column.name] = values.astype(column.type.to_pandas_dtype()) if is_array else values
    return typed
