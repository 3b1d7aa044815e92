"""The tables of near duplicates, declared: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema


def _fraction(name: str, meaning: str) -> Column:
    return Column(name, pa.float64(), "fraction", meaning)


NEIGHBOURS = TableSchema(
    "nearest neighbours",
    (
        Column("query", pa.int32(), "", "position of the image in its set"),
        Column("rank", pa.int16(), "1", "rank by ℓ2 distance, from 1; ties by position"),
        Column("reference", pa.int32(), "", "position of the neighbour in its set"),
        Column("distance", pa.float64(), "pixel values", "ℓ2 distance over all pixels, exact"),
        Column("ssim", pa.float64(), "1", "structural similarity; NaN if not asked for"),
        Column("ssim_rank", pa.int16(), "1", "rank by similarity among these; 0 if not asked for"),
        Column("query_name", pa.string(), "", "name of the image in its source"),
        Column("reference_name", pa.string(), "", "name of the neighbour in its source"),
        Column("query_class", pa.string(), "", "class of the image"),
        Column("reference_class", pa.string(), "", "class of the neighbour"),
    ),
)


def _of(part: str, meaning: str) -> tuple[Column, ...]:
    return (
        Column(f"n_{part}", pa.int64(), "datapoints", meaning),
        Column(f"n_correct_{part}", pa.int64(), "datapoints", "of these, predicted right"),
        _fraction(f"accuracy_{part}", "NaN if there are none"),
        _fraction(f"accuracy_{part}_low", "Clopper-Pearson lower bound"),
        _fraction(f"accuracy_{part}_high", "Clopper-Pearson upper bound"),
    )


DUPLICATE_ACCURACIES = TableSchema(
    "accuracies with and without near duplicates",
    (
        Column("model", pa.string(), "", "name of the model"),
        Column("dataset", pa.string(), "", "name of the test set"),
        *_of("all", "size of the test set"),
        *_of("duplicates", "test images that are near duplicates"),
        *_of("rest", "test images that are not"),
        _fraction("change", "accuracy on the rest minus on all: what the duplicates gave"),
        Column("confidence", pa.float64(), "fraction", "level of the intervals"),
    ),
)
