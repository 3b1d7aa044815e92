"""The search for near duplicates: nearest images by ℓ2 distance, compared by SSIM as well."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet, printed_pixels
from matcheval.io.columns import CONFIDENCE_LEVEL, MODEL, accuracy, fraction
from matcheval.io.printed_json import add_json, json_rows, print_json
from matcheval.io.tables import Column, TableSchema, check_suffix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAREST_IMAGES = TableSchema(
    "nearest images",
    (
        Column("query", pa.int32(), "", "position of the image in its set, from 0"),
        Column("rank", pa.int16(), "1", "rank by ℓ2 distance, from 1; ties by position"),
        Column("reference", pa.int32(), "", "position of the neighbour in its set, from 0"),
        Column("distance", pa.float64(), "pixel values", "ℓ2 distance over all pixels, exact"),
        Column("ssim", pa.float64(), "1", "structural similarity; NaN if not computed"),
        Column("ssim_rank", pa.int16(), "1", "rank by similarity among these; 0 if not computed"),
        Column("query_name", pa.string(), "", "name of the image in its source"),
        Column("reference_name", pa.string(), "", "name of the neighbour in its source"),
        Column("query_class", pa.string(), "", "class of the image"),
        Column("reference_class", pa.string(), "", "class of the neighbour"),
    ),
)

DUPLICATE_ACCURACIES = TableSchema(
    "accuracies with and without near duplicates",
    (
        MODEL,
        Column("dataset", pa.string(), "", "name of the test set"),
        *accuracy("all", "size of the test set"),
        *accuracy("duplicates", "test images that are near duplicates"),
        *accuracy("rest", "test images that are not near duplicates"),
        fraction(
            "least_accuracy_rest",
            "accuracy on the rest if all near duplicates were classified correctly",
        ),
        fraction("change", "accuracy on the rest minus accuracy on all images"),
        CONFIDENCE_LEVEL,
    ),
)


@dataclass(frozen=True, eq=False)
class LabelledPixels:
    """Images of one size, with their labels and names."""

    name: str
    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    max_value: int
    sha256: str


def labelled_pixels(dataset: Dataset, size: int | None = None) -> LabelledPixels:
    """Give a dataset's images as an array of one size."""
    if size is None and dataset.stored == "files":
        raise InputError(
            "its images are files, which may differ in size",
            file=dataset.name,
            remedy="Give a size that all are brought to before they are compared: compare_size",
        )
    pixels = np.asarray(dataset.pixels) if size is None else _resized(dataset, size)
    max_value = dataset.max_value if size is None else 255
    return LabelledPixels(
        dataset.name,
        pixels,
        dataset.labels,
        dataset.names,
        dataset.classes,
        max_value,
        dataset.sha256,
    )


def _resized(dataset: Dataset, size: int) -> npt.NDArray[np.uint8]:
    from PIL.Image import Resampling

    if size < 1:
        raise InputError(f"{size} pixels", field="size", remedy="Give at least 1")
    pixels = np.empty((len(dataset), size, size, 3), np.uint8)
    for i in range(len(dataset)):
        pixels[i] = np.asarray(dataset.image(i).resize((size, size), Resampling.BICUBIC))
    return pixels


Pixels = npt.NDArray[np.uint8]

_PIECE = 1024  # values of an image per product, see above
_CENTRE = 128
_ROWS, _COLUMNS = 2048, 4096  # queries and references per block: 64 MiB of distances


@dataclass(frozen=True)
class Neighbours:
    """The nearest references of every query, nearest first."""

    index: npt.NDArray[np.int64]
    squared: npt.NDArray[np.float64]

    @property
    def distance(self) -> npt.NDArray[np.float64]:
        """ℓ2 distances in pixel values, shape (n_queries, k)."""
        return np.sqrt(self.squared)


def nearest_neighbours(
    queries: Pixels, references: Pixels, k: int, *, same: bool = False
) -> Neighbours:  # fmt: skip
    """Find the k nearest references of every query, exactly."""
    from matcheval.analyses.near_duplicates.loops import keep_nearest

    _check(queries, references)
    most = len(references) - same
    if not 1 <= k <= most:
        raise InputError(
            f"cannot find {k} neighbours among {most} images",
            field="k",
            remedy=f"Give a number from 1 to {max(most, 1)}",
        )
    squared = np.full((len(queries), k), np.inf)
    index = np.full((len(queries), k), -1, np.int64)
    for row, column, block in _blocks(queries, references):
        rows = slice(row, row + len(block))
        if same:
            _mask_self(block, row, column)
        keep_nearest(block, column, squared[rows], index[rows])
    return Neighbours(index, squared)


def pairs_within(
    queries: Pixels, references: Pixels, distance: float
) -> list[tuple[int, int, float]]:
    """List all pairs of a query and a reference within an ℓ2 distance of each other."""
    if not len(queries) or not len(references):
        return []
    _check(queries, references)
    found: list[tuple[int, int, float]] = []
    for row, column, block in _blocks(queries, references):
        for i, j in np.argwhere(block <= distance * distance):
            found.append((row + int(i), column + int(j), float(np.sqrt(block[i, j]))))
    return sorted(found)


def _check(queries: Pixels, references: Pixels) -> None:
    for name, images in (("queries", queries), ("references", references)):
        if images.dtype != np.uint8 or images.ndim < 2 or 0 in images.shape:
            raise InputError(
                f"shape {images.shape} and dtype {images.dtype}",
                field=name,
                remedy="Give at least one image, of dtype uint8",
            )
    if queries.shape[1:] != references.shape[1:]:
        raise InputError(
            f"cannot compare images of shape {queries.shape[1:]} with images of shape "
            f"{references.shape[1:]}",
            remedy="Resize both sets to the same size first",
        )


def _blocks(
    queries: Pixels, references: Pixels
) -> Iterator[tuple[int, int, npt.NDArray[np.float64]]]:
    """Yield first row, first column and squared distances of each block; callers may modify it."""
    for row in range(0, len(queries), _ROWS):
        left = _centred(queries[row : row + _ROWS])
        left_norms = _norms(left)
        for column in range(0, len(references), _COLUMNS):
            right = _centred(references[column : column + _COLUMNS])
            block = np.zeros((len(left), len(right)))
            for start in range(0, left.shape[1], _PIECE):
                piece = slice(start, start + _PIECE)
                block += left[:, piece] @ right[:, piece].T
            block *= -2
            block += left_norms[:, None]
            block += _norms(right)[None, :]
            yield row, column, block


def _centred(images: Pixels) -> npt.NDArray[np.float32]:
    flat = np.asarray(images).reshape(len(images), -1).astype(np.float32)
    flat -= _CENTRE
    return flat


def _norms(flat: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    norms: npt.NDArray[np.float64] = np.einsum("ij,ij->i", flat, flat, dtype=np.float64)
    return norms


def _mask_self(block: npt.NDArray[np.float64], row: int, column: int) -> None:
    rows = np.arange(row, row + len(block))
    inside = (rows >= column) & (rows < column + block.shape[1])
    block[rows[inside] - row, rows[inside] - column] = np.inf


WINDOW = 7
_K1, _K2 = 0.01, 0.03

Floats = npt.NDArray[np.float64]


def structural_similarity(
    first: npt.NDArray[np.uint8],
    second: npt.NDArray[np.uint8],
    max_value: int = 255,
    window: int = WINDOW,
) -> Floats:
    """Compute the structural similarity (SSIM) of pairs of images."""
    # Imported only here: the module imports the compiler, which is slow.
    from matcheval.analyses.near_duplicates.loops import compare

    if first.shape != second.shape or first.ndim != 4:
        raise InputError(f"cannot compare arrays of shapes {first.shape} and {second.shape}")
    if window % 2 == 0 or not 3 <= window <= min(first.shape[1:3]):
        raise InputError(
            f"window of {window} pixels in images of {first.shape[1]} × {first.shape[2]} pixels",
            field="window",
            remedy="Give an odd number from 3 to the shorter side of the images",
        )
    result = np.empty(len(first))
    compare(
        np.ascontiguousarray(first), np.ascontiguousarray(second), window,
        (_K1 * max_value) ** 2, (_K2 * max_value) ** 2, result,
    )  # fmt: skip
    return result


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


_SHOWN = 8  # nearest images per row


def plot_near_duplicates(
    nearest: pd.DataFrame, queries: Dataset, references: Dataset, rows: int
) -> "Figure":  # fmt: skip
    """Draw the queries that are most similar to a reference, with their nearest references."""
    if nearest.empty:
        raise InputError("no images to draw: the table of nearest images is empty")
    chosen = most_alike(nearest, rows)
    pictures = []
    for query in chosen:
        of_query = nearest[nearest["query"] == query].sort_values("rank").head(_SHOWN)
        first = of_query.iloc[0]
        pixels = printed_pixels(queries.image(query))
        row = [Picture(pixels, f"{query}\n{first['query_class']}", marked=True)]
        for _, near in of_query.iterrows():
            similarity = "" if pd.isna(near["ssim"]) else f" · {near['ssim']:.2f}"
            caption = f"{near['reference']}\n{near['distance']:.0f}{similarity}\n"
            pixels = printed_pixels(references.image(int(near["reference"])))
            row.append(Picture(pixels, caption + str(near["reference_class"])))
        pictures.append(row)
    return plot_contact_sheet(
        pictures,
        f"{queries.name} (framed) and the nearest images of {references.name}",
        "From above: position; ℓ2 distance over pixels · structural similarity; class.",
    )


def most_alike(nearest: pd.DataFrame, rows: int) -> list[int]:
    """Choose the queries that are most similar to a reference."""
    groups = nearest.groupby("query")
    orders = [groups["distance"].min().sort_values(kind="stable").index.tolist()]
    if nearest["ssim"].notna().any():
        by_ssim = groups["ssim"].max().sort_values(ascending=False, kind="stable")
        orders.append(by_ssim.index.tolist())
    alternating = [query for both in zip(*orders, strict=True) for query in both]
    return [int(query) for query in dict.fromkeys(alternating)][:rows]


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a search."""
    parser.add_argument("queries", metavar="TEST", help="folder of the dataset to search for")
    parser.add_argument(
        "references", metavar="TRAIN", help="folder of the dataset to search in; may be TEST"
    )
    parser.add_argument(
        "--neighbours", type=int, default=10, metavar="N",
        help="nearest images to list for each image (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--compare-size", type=int, metavar="PIXELS",
        help="resize images to squares of this side first: needed for image files",
    )  # fmt: skip
    parser.add_argument("--no-ssim", action="store_true", help="compute ℓ2 distances only")
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="table of the nearest images (.parquet, .csv)",
    )
    parser.add_argument("--sheet", metavar="FILE", help="contact sheet (.png, .pdf)")
    parser.add_argument(
        "--rows",
        type=int,
        default=10,
        help="rows of the sheet; ten fit on a page (default: %(default)s)",
    )
    add_json(parser)
    parser.set_defaults(run=run_search)


def run_search(arguments: argparse.Namespace) -> None:
    """Search, write the table, and draw the contact sheet if requested."""
    from matcheval.analyses.near_duplicates.search import find_near_duplicates, labelled_pixels
    from matcheval.datasets.folders import read_dataset
    from matcheval.figures.saving import check_figure, save_figure
    from matcheval.io.tables import write_table

    check_suffix(arguments.output)
    if arguments.sheet is not None:
        check_figure(arguments.sheet)
    for option in ("neighbours", "rows"):
        if getattr(arguments, option) < 1:
            raise InputError(
                f"--{option} is {getattr(arguments, option)}", remedy="Give at least 1"
            )
    sets = [read_dataset(folder) for folder in (arguments.queries, arguments.references)]
    queries, references = (labelled_pixels(one, arguments.compare_size) for one in sets)
    table = find_near_duplicates(
        queries, references, arguments.neighbours, ssim=not arguments.no_ssim
    )
    write_table(table, arguments.output)
    if arguments.sheet is not None:
        from matcheval.analyses.near_duplicates.search import plot_near_duplicates

        figure = plot_near_duplicates(table.to_pandas(), sets[0], sets[1], arguments.rows)
        save_figure(figure, arguments.sheet)
    if arguments.json:
        written = [path for path in (arguments.output, arguments.sheet) if path is not None]
        print_json({"neighbours": json_rows(table), "written": written})
