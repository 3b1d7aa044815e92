"""The tables of the making of a test set, declared: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema

_ORIGIN = Column("origin", pa.string(), "", "where the image is from: pool or original")
_IMAGE = Column("image", pa.string(), "", "name of the image in its dataset")
_CLASS = Column("class", pa.string(), "", "name of the class that workers were asked about")
_COUNTS = (
    Column("n_answers", pa.int32(), "answers", "how many workers saw the image with this class"),
    Column("n_selected", pa.int32(), "answers", "how many of them selected it"),
    Column("frequency", pa.float64(), "fraction", "n_selected over n_answers; 0 without answers"),
)

ANSWERS = TableSchema(
    "workers' answers",
    (
        Column("task", pa.string(), "", "the grid of images that the worker was shown"),
        Column("worker", pa.string(), "", "who answered"),
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
        Column("index", pa.int32(), "", "position in the new test set"),
        Column("image", pa.string(), "", "name of the image in the pool"),
        Column("pool_index", pa.int32(), "", "its position in the pool"),
        _CLASS,
        *_COUNTS,
        Column("stratum", pa.string(), "", "frequency bin, keyword, or the whole class"),
        Column("drawn_for", pa.string(), "", "the stratum whose place it takes"),
        Column("round", pa.int32(), "1", "round of sampling in which it came in; 0: from before"),
    ),
)

EXCLUDED = TableSchema(
    "candidates that could not be sampled",
    (
        _IMAGE,
        _CLASS,
        *_COUNTS,
        Column("reason", pa.string(), "", "the first that holds"),
        Column("detail", pa.string(), "", "the image it is a near duplicate of"),
        Column("round", pa.int32(), "1", "after which round it was found; 0: before the first"),
    ),
)

STRATA = TableSchema(
    "strata of a sampled test set",
    (
        _CLASS,
        Column("stratum", pa.string(), "", "frequency bin, keyword, or empty: the whole class"),
        Column("n_original", pa.int32(), "images", "of the original; 0 if it is not asked"),
        Column("n_target", pa.int32(), "images", "wanted of this stratum"),
        Column("n_drawn", pa.int32(), "images", "drawn for it"),
        Column("n_own", pa.int32(), "images", "of these, from it; others are from higher ones"),
    ),
)
