"""The search for near duplicates: nearest images by ℓ2 distance, compared by SSIM as well."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset
from matcheval.errors import InputError
from matcheval.figures import style
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet, printed_pixels
from matcheval.io.tables import Column, TableSchema, check_suffix, text, write_table
from matcheval.io.terminal import json_rows

NEAREST_IMAGES = TableSchema(
    "nearest images",
    Column("query", pa.int32(), "", "position of the image in its set, from 0"),
    Column("rank", pa.int16(), "1", "rank by ℓ2 distance, from 1; ties by position"),
    Column("reference", pa.int32(), "", "position of the neighbour in its set, from 0"),
    Column("distance", pa.float64(), "pixel values", "ℓ2 distance over all pixels, exact"),
    Column("ssim", pa.float64(), "1", "structural similarity"),
    Column("ssim_rank", pa.int16(), "1", "rank by similarity among these"),
    text("query_name", "name of the image in its source"),
    text("reference_name", "name of the neighbour in its source"),
    text("query_class", "class of the image"),
    text("reference_class", "class of the neighbour"),
)

Pixels = npt.NDArray[Any]  # uint8, shape (n, height, width, channels)
Floats = npt.NDArray[np.float64]


def with_pixel_array(dataset: Dataset, size: int | None = None) -> Dataset:
    """Return a dataset with its images in one array; with `size`, resized to squares of it."""
    if size is None:
        if dataset.stored == "files":
            problem = "its images are files, which may differ in size"
            remedy = "Give a size that all are brought to before they are compared: compare_size"
            raise InputError(problem, file=dataset.name, remedy=remedy)
        return replace(dataset, images=np.asarray(dataset.pixels))
    from PIL.Image import Resampling

    if size < 1:
        raise InputError(f"{size} pixels", field="size", remedy="Give at least 1")
    pixels = np.empty((len(dataset), size, size, 3), np.uint8)
    for i in range(len(dataset)):
        pixels[i] = np.asarray(dataset.image(i).resize((size, size), Resampling.BICUBIC))
    return replace(dataset, images=pixels, max_value=255)


def check_same_range(first: Dataset, second: Dataset) -> None:
    """Check that the pixels of two datasets have the same largest possible value."""
    if first.max_value != second.max_value:
        raise InputError(
            f"images with pixel values up to {first.max_value} cannot be compared with images "
            f"with values up to {second.max_value}", file=f"{first.name}, {second.name}",
        )  # fmt: skip


# Distances are computed by blocked matrix products in single precision, and are exact all the same:
# pixels minus 128 are integers of magnitude at most 2⁷, so a sum of 1,024 products is an integer of
# magnitude at most 2²⁴, which single precision represents exactly. Longer images are cut into
# pieces of 1,024 values whose products are added in double precision. No squared distance is
# rounded, so equal distances compare equal.
_PIECE = 1024
_CENTRE = 128
_ROWS, _COLUMNS = 2048, 4096  # queries and references per block: 64 MiB of distances


def nearest_neighbours(
    queries: Pixels, references: Pixels, k: int, *, same: bool = False
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Find each query's k nearest references, exactly; if both sets are the `same`, not itself.

    Returns their positions, nearest first, and squared ℓ2 distances, of shape (n_queries, k).
    """
    from matcheval.analyses.sampling.image_search_loops import keep_nearest

    most = len(references) - same
    if not 1 <= k <= most:
        problem = f"cannot find {k} neighbours among {most} images"
        raise InputError(problem, field="k", remedy=f"Give a number from 1 to {max(most, 1)}")
    squared = np.full((len(queries), k), np.inf)
    index = np.full((len(queries), k), -1, np.int64)
    for row, column, block in _distance_blocks(queries, references):
        rows = slice(row, row + len(block))
        if same:
            own = np.arange(max(row, column), min(row + block.shape[0], column + block.shape[1]))
            block[own - row, own - column] = np.inf
        keep_nearest(block, column, squared[rows], index[rows])
    return index, squared


def pairs_within(queries: Pixels, references: Pixels, distance: float) -> list[tuple[int, int]]:
    """Return the positions of all pairs of a query and a reference within an ℓ2 distance."""
    pairs: list[tuple[int, int]] = []
    for row, column, block in _distance_blocks(queries, references):
        pairs += [(row + int(i), column + int(j)) for i, j in np.argwhere(block <= distance**2)]
    return sorted(pairs)


def _distance_blocks(queries: Pixels, references: Pixels) -> Iterator[tuple[int, int, Floats]]:
    """Yield first row, first column and squared distances of each block of the distance matrix.

    Callers may modify the block.
    """
    for name, images in (("queries", queries), ("references", references)):
        if images.dtype != np.uint8 or images.ndim < 2 or 0 in images.shape:
            problem = f"shape {images.shape} and dtype {images.dtype}"
            remedy = "Give at least one image, of dtype uint8"
            raise InputError(problem, field=name, remedy=remedy)
    if queries.shape[1:] != references.shape[1:]:
        shapes = f"{queries.shape[1:]} with images of shape {references.shape[1:]}"
        remedy = "Resize both sets to the same size first"
        raise InputError(f"cannot compare images of shape {shapes}", remedy=remedy)
    for row in range(0, len(queries), _ROWS):
        left = _flatten_centred(queries[row : row + _ROWS])
        left_norms = _squared_norms(left)
        for column in range(0, len(references), _COLUMNS):
            right = _flatten_centred(references[column : column + _COLUMNS])
            block = np.zeros((len(left), len(right)))
            for start in range(0, left.shape[1], _PIECE):
                piece = slice(start, start + _PIECE)
                block += left[:, piece] @ right[:, piece].T
            block *= -2
            block += left_norms[:, None]
            block += _squared_norms(right)[None, :]
            yield row, column, block


def _flatten_centred(images: Pixels) -> npt.NDArray[np.float32]:
    """Return a row per image of its pixel values minus 128."""
    flat = np.asarray(images).reshape(len(images), -1).astype(np.float32)
    flat -= _CENTRE
    return flat


def _squared_norms(flat: npt.NDArray[np.float32]) -> Floats:
    return np.einsum("ij,ij->i", flat, flat, dtype=np.float64)


# As scikit-image's `structural_similarity(..., channel_axis=-1)`: a uniform window, sample
# covariances, and the mean over all positions of the window within the image. scikit-image, which
# compares one pair per call, takes 17 times as long (benchmarks/README.md), and is a large
# dependency for one formula.
WINDOW = 7
_K1, _K2 = 0.01, 0.03


def structural_similarity(
    queries: Pixels, references: Pixels, index: npt.NDArray[np.int64], max_value: int = 255,
    window: int = WINDOW,
) -> Floats:  # fmt: skip
    """Compute each query's structural similarity (SSIM) to the references of positions `index`."""
    from matcheval.analyses.sampling.image_search_loops import compare_pairs

    height, width = queries.shape[1:3]
    if window % 2 == 0 or not 3 <= window <= min(height, width):
        problem = f"window of {window} pixels in images of {height} × {width} pixels"
        remedy = "Give an odd number from 3 to the shorter side of the images"
        raise InputError(problem, field="window", remedy=remedy)
    result = np.empty(index.shape)
    compare_pairs(
        np.ascontiguousarray(queries), np.ascontiguousarray(references), index, window,
        (_K1 * max_value) ** 2, (_K2 * max_value) ** 2, result,
    )  # fmt: skip
    return result


def find_near_duplicates(queries: Dataset, references: Dataset, k: int = 10) -> pa.Table:
    """Tabulate (`NEAREST_IMAGES`) every query's k nearest references and their similarity."""
    check_same_range(queries, references)
    first, second = np.asarray(queries.pixels), np.asarray(references.pixels)
    is_same, n = queries.sha256 == references.sha256, len(first)
    index, squared = nearest_neighbours(first, second, k, same=is_same)
    side = min(first.shape[1:3])
    window = min(WINDOW, side - 1 + side % 2)  # smaller images: the largest odd side
    similarity = structural_similarity(first, second, index, queries.max_value, window)
    # Ranks of the similarities of each query, the highest first; ties by ℓ2 rank.
    order = np.argsort(-similarity, axis=1, kind="stable")
    rows, nearest = np.repeat(np.arange(n, dtype=np.int32), k), index.ravel().astype(np.int32)
    columns: dict[str, Any] = {
        "query": rows, "rank": np.tile(np.arange(1, k + 1, dtype=np.int16), n),
        "reference": nearest, "distance": np.sqrt(squared).ravel(), "ssim": similarity.ravel(),
        "ssim_rank": (np.argsort(order, axis=1) + 1).astype(np.int16).ravel(),
    }  # fmt: skip
    metadata = {"queries": queries.name, "references": references.name}
    metadata |= {"queries_sha256": queries.sha256, "references_sha256": references.sha256}
    for role, dataset, at in (("query", queries, rows), ("reference", references, nearest)):
        columns[f"{role}_name"] = pa.array(dataset.names).take(pa.array(at))
        columns[f"{role}_class"] = pa.array(dataset.classes).take(pa.array(dataset.labels[at]))
    return NEAREST_IMAGES.table(columns, metadata)


_SHOWN = 8  # nearest images per row of a contact sheet
_SHEET_ROWS = 10  # fit on a page


def plot_near_duplicates(
    nearest: pd.DataFrame, queries: Dataset, references: Dataset, rows: int = _SHEET_ROWS
) -> "style.Figure":
    """Plot the queries that are most similar to a reference, each beside its nearest references."""
    if nearest.empty:
        raise InputError("no images to draw: the table of nearest images is empty")
    pictures = []
    for query in most_similar_queries(nearest, rows):
        neighbours = nearest[nearest["query"] == query].sort_values("rank").head(_SHOWN)
        pixels = printed_pixels(queries.image(query))
        row = [Picture(pixels, f"{query}\n{neighbours['query_class'].iloc[0]}", marked=True)]
        for near in neighbours.to_dict("records"):
            caption = f"{near['reference']}\n{near['distance']:.0f} · {near['ssim']:.2f}\n"
            pixels = printed_pixels(references.image(near["reference"]))
            row.append(Picture(pixels, caption + near["reference_class"]))
        pictures.append(row)
    title = f"{queries.name} (framed) and the nearest images of {references.name}"
    note = "From above: position; ℓ2 distance over pixels · structural similarity; class."
    return plot_contact_sheet(pictures, title, note)


def most_similar_queries(nearest: pd.DataFrame, rows: int) -> list[int]:
    """Choose the queries most similar to a reference, by distance and by similarity in turn."""
    groups = nearest.groupby("query")
    by_distance = groups["distance"].min().sort_values(kind="stable").index
    by_ssim = groups["ssim"].max().sort_values(ascending=False, kind="stable").index
    alternating = [int(query) for pair in zip(by_distance, by_ssim, strict=True) for query in pair]
    return list(dict.fromkeys(alternating))[:rows]


def search_near_duplicates(
    *, queries: Path, references: Path, k: int, size: int | None, nearest: Path
) -> None:
    """Search `references` for the nearest images of every image of `queries`; write their table."""
    first, second = (with_pixel_array(read_dataset(path), size) for path in (queries, references))
    write_table(find_near_duplicates(first, second, min(k, len(second) - 1)), nearest)
    logging.info("%d images, the nearest of %d each", len(first), len(second))


def draw_sheet(
    *, nearest: Path, queries: Path, references: Path, rows: int, outputs: Sequence[Path]
) -> None:
    """Save a contact sheet of the queries most similar to a reference, from their table."""
    table, first = NEAREST_IMAGES.read(nearest).to_pandas(), read_dataset(queries)
    style.save_figure(plot_near_duplicates(table, first, read_dataset(references), rows), *outputs)


def search(
    queries: Path, references: Path, *, file: Path, neighbours: int = 10,
    compare_size: int | None = None, sheet: Path | None = None,
) -> Mapping[str, Any]:  # fmt: skip
    """Search for near duplicates, write the nearest images, and draw a contact sheet.

    Parameters
    ----------
    queries : path-like, a folder
        Folder of the dataset to search for.
    references : path-like, a folder
        Folder of the dataset to search in; may be TEST.
    file : path-like
        Table of the nearest images to write (.parquet, .csv).
    neighbours : int
        Nearest images to list for each image.
    compare_size : int
        Resize images to squares of this side, in pixels, first: needed for image files.
    sheet : path-like
        Contact sheet to draw (.png, .pdf).
    """
    check_suffix(file)
    if sheet is not None:
        style.check_figure(sheet)
    sets = [read_dataset(folder) for folder in (queries, references)]
    first, second = (with_pixel_array(dataset, compare_size) for dataset in sets)
    table = find_near_duplicates(first, second, neighbours)
    write_table(table, file)
    if sheet is not None:
        style.save_figure(plot_near_duplicates(table.to_pandas(), sets[0], sets[1]), sheet)
    written = [str(path) for path in (file, sheet) if path]
    return {"neighbours": json_rows(table), "written": written}
