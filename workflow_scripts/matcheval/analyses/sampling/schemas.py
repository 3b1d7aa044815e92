"""Schemas of the tables of sampling: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema

_ORIGIN = Column("origin", pa.string(), "", "set of the image: pool or original")
_IMAGE = Column("image", pa.string(), "", "name of the image in its dataset")
_CLASS = Column("class", pa.string(), "", "name of the class that the image was shown for")
_COUNTS = (
    Column("n_annotations", pa.int32(), "annotations", "annotations of the image for this class"),
    Column("n_selected", pa.int32(), "annotations", "how many of them selected the image"),
    Column(
        "frequency", pa.float64(), "fraction", "n_selected / n_annotations; 0 if there are none"
    ),
)

ANNOTATIONS = TableSchema(
    "workers' annotations",
    (
        Column("task", pa.string(), "", "the grid of images shown to the worker"),
        Column("worker", pa.string(), "", "name of the worker"),
        _ORIGIN,
        _IMAGE,
        _CLASS,
        Column("selected", pa.bool_(), "", "whether the worker said the image shows the class"),
    ),
)

FREQUENCIES = TableSchema("selection frequencies", (_ORIGIN, _IMAGE, _CLASS, *_COUNTS))

PROVENANCE = TableSchema(
    "provenance of a sampled test set",
    (
        Column("index", pa.int32(), "", "position in the new test set, from 0"),
        Column("image", pa.string(), "", "name of the image in the pool"),
        Column("pool_index", pa.int32(), "", "position of the image in the pool, from 0"),
        _CLASS,
        *_COUNTS,
        Column("stratum", pa.string(), "", "frequency bin or keyword; empty: the whole class"),
        Column("drawn_for", pa.string(), "", "the stratum that the image fills"),
        Column("round", pa.int32(), "1", "round in which it was sampled; 0: an earlier version"),
    ),
)

EXCLUDED = TableSchema(
    "candidates that were not eligible",
    (
        _IMAGE,
        _CLASS,
        *_COUNTS,
        Column("reason", pa.string(), "", "the first reason that applies"),
        Column("detail", pa.string(), "", "the image that it duplicates, as set/name"),
        Column("round", pa.int32(), "1", "round after which it was excluded; 0: before the first"),
    ),
)

STRATA = TableSchema(
    "strata of a sampled test set",
    (
        _CLASS,
        Column("stratum", pa.string(), "", "frequency bin or keyword; empty: the whole class"),
        Column("n_original", pa.int32(), "images", "images of the original set; 0 if not used"),
        Column("n_target", pa.int32(), "images", "images to sample for the stratum"),
        Column("n_drawn", pa.int32(), "images", "images sampled for it"),
        Column("n_own", pa.int32(), "images", "of these, drawn from it; others from higher ones"),
    ),
)
