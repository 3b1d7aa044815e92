"""The long tables: a row per model, set and score, then per prediction made from it."""

import pyarrow as pa

from matcheval.io.tables import DATASET, MODEL, Column, TableSchema, fraction

SUITE = Column("suite", pa.string(), "", "name of the suite")
METHOD = (
    Column("method", pa.string(), "", "name of the method"),
    Column("variant", pa.string(), "", "variant of the method; empty for the default"),
)
WAY = (
    Column("protocol", pa.string(), "", "direct, calibrated, or leave_one_out"),
    Column("regressor", pa.string(), "", "linear, mlp or mlp_raw; empty if none"),
    Column("calibrated_on", pa.string(), "", "groups fitted on, joined by +; empty if none"),
)
SET = (
    MODEL,
    SUITE,
    Column("base", pa.string(), "", "name of the base set"),
    DATASET,
    Column("group", pa.string(), "", "group of the set; empty if not said"),
    Column("subgroup", pa.string(), "", "subgroup of the set; empty if not said"),
    Column("severity", pa.float64(), "1", "severity of the shift; NaN if not said"),
)
_SCORE = (
    *METHOD,
    Column("seed", pa.int64(), "1", "seed of random splits, draws and initial values"),
    Column("view", pa.string(), "", "all datapoints of the set, or which of them"),
    Column("score", pa.float64(), "", "value of the score; NaN if there is none"),
)
_TRUTH = (
    Column("n", pa.int64(), "datapoints", "of the set, of the classes that count"),
    Column("n_base", pa.int64(), "datapoints", "of the base, of the same classes"),
    fraction("accuracy_base", "accuracy on these datapoints of the base"),
    fraction("accuracy", "true accuracy on the set; NaN if it has no labels"),
)

SCORES = TableSchema(
    "scores",
    (
        *SET,
        *_SCORE,
        *_TRUTH,
        Column("reason", pa.string(), "", "why there is no score; empty if there is one"),
    ),
)

PREDICTED = TableSchema(
    "predicted accuracies",
    (
        *SET,
        *_SCORE,
        *_TRUTH,
        *WAY,
        Column("n_fitted", pa.int64(), "sets", "that the regression was fitted on"),
        fraction("predicted", "predicted accuracy; NaN if there is none"),
        fraction("error", "|predicted - accuracy|; NaN if either is unknown"),
        Column("reason", pa.string(), "", "why there is no prediction, or how it is flagged"),
    ),
)
