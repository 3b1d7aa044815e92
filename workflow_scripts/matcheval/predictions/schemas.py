"""Schema of the table of accuracies on a dataset: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import DATASET, MODEL, TOP_K, Column, TableSchema, fraction

ACCURACIES = TableSchema(
    "accuracies of a dataset",
    (
        MODEL,
        DATASET,
        TOP_K,
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
        Column("n", pa.int64(), "datapoints", "size of the dataset; 0 if unknown"),
        fraction("accuracy", "n_correct over n, or as published"),
    ),
)
