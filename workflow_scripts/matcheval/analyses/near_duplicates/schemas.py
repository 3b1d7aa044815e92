"""Schemas of the tables of near duplicates: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import CONFIDENCE_LEVEL, MODEL, Column, TableSchema, accuracy, fraction

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
