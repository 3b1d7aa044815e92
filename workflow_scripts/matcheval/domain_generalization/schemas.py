"""Columns of the tables of domain generalisation."""

import pyarrow as pa

from matcheval.accuracy_prediction.schemas import METHOD
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, fraction

_SOURCES = Column("sources", pa.string(), "", "names of the training sets, joined by +")
_ALGORITHM = Column("algorithm", pa.string(), "", "algorithm of training")
_MODEL = Column("model", pa.string(), "", "name of the trained model")
_BLOCK = Column("block", pa.string(), "", "name of the block; `average` over those of a design")
_DESIGN = Column("design", pa.string(), "", "design that leaves one domain out; empty for others")
_N_SOURCES = Column("n_sources", pa.int64(), "sets", "number of sources")
_SELECTION = Column("selection", pa.string(), "", "how the group of hyper-parameters was selected")

PLAN = TableSchema(
    "plan of trainings",
    (
        _SOURCES,
        Column("purpose", pa.string(), "", "blocks that use it; `selection` if none tests it"),
        _ALGORITHM,
        Column("group", pa.int64(), "1", "group of hyper-parameters; 0 is the default"),
        Column("options", pa.string(), "", "options that differ from their defaults, as JSON"),
        Column("seed", pa.int64(), "1", "seed of the split and of the training"),
        Column("state", pa.string(), "", "trained, = ERM (the same training) or refused"),
        Column("model", pa.string(), "", "name of the model; empty if refused"),
        Column("note", pa.string(), "", "why it is refused"),
    ),
)
RUNS = TableSchema(
    "runs",
    (
        *PLAN.columns,
        Column("best_step", pa.int64(), "steps", "after which the weights were kept; 0: no run"),
        fraction("validation_accuracy", "then, mean over the sources' validation parts; or NaN"),
    ),
)
CURVES = TableSchema(
    "learning curves",
    (
        _MODEL,
        Column("step", pa.int64(), "steps", "updates so far"),
        Column("train_loss", pa.float64(), "1", "mean loss since the last evaluation"),
        fraction("train_accuracy", "accuracy since then, on augmented images"),
        fraction("validation_accuracy", "mean over the sources' validation parts"),
    ),
)
ACCURACIES = TableSchema(
    "accuracies on sets",
    (
        _MODEL,
        Column("dataset", pa.string(), "", "name of the set"),
        Column("n", pa.int64(), "datapoints", "size of the set"),
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted"),
        fraction("accuracy", "n_correct over n"),
    ),
)
RESULTS = TableSchema(
    "results",
    (
        _DESIGN,
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("same_as_erm", pa.bool_(), "", "whether it is ERM, as there is one source"),
        Column("column", pa.string(), "", "group of sets, or set; `mean` of all sets"),
        Column("n_sets", pa.int64(), "sets", "sets that are averaged"),
        Column("groups", pa.string(), "", "selected groups, by seed, or of all blocks"),
        Column("n_runs", pa.int64(), "runs", "seeds"),
        fraction("mean", "mean accuracy over runs, of means over sets"),
        fraction("sd", "standard deviation over runs, with n - 1; NaN for one run"),
        fraction("low", "lower bound of Student's interval of the mean"),
        fraction("high", "upper bound"),
        fraction("gain", "mean over runs of the accuracy minus that of ERM of the same seed"),
        fraction("gain_low", "lower bound of Student's interval of the gain"),
        fraction("gain_high", "upper bound"),
        Column("p", pa.float64(), "1", "of the paired t test against ERM; NaN for ERM or one run"),
        Column("p_holm", pa.float64(), "1", "p adjusted for the number of algorithms (Holm 1979)"),
        CONFIDENCE_LEVEL,
    ),
)
GAINS = TableSchema(
    "gains by set",
    (
        _DESIGN,
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("dataset", pa.string(), "", "name of the set"),
        Column("column", pa.string(), "", "group of the set"),
        fraction("accuracy", "mean over runs"),
        fraction("accuracy_erm", "that of ERM, selected likewise"),
        fraction("gain", "their difference"),
    ),
)
SPREAD = TableSchema(
    "spread",
    (
        _DESIGN,
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        Column(
            "n_algorithms",
            pa.int64(),
            "algorithms",
            "those that are not ERM or refused",
        ),
        fraction("sd_algorithms", "standard deviation over algorithms of their mean accuracies"),
        fraction("range_algorithms", "highest minus lowest of these"),
        fraction("sd_runs", "root mean square over algorithms of the deviations over runs"),
        fraction("erm", "mean accuracy of ERM"),
    ),
)
_COEFFICIENTS = (
    Column("spearman", pa.float64(), "1", "rank correlation, ties by average ranks"),
    Column("kendall", pa.float64(), "1", "tau-b, with ties"),
)
IMAGE_COUNTS = TableSchema(
    "numbers of images and accuracies",
    (
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("n_columns", pa.int64(), "groups of sets", "that are compared"),
        Column("n_images", pa.int64(), "images", "in these"),
        *_COEFFICIENTS,
    ),
)
PREDICTABILITY = TableSchema(
    "accuracies predicted by scores",
    (
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        *METHOD,
        Column("n_sets", pa.int64(), "sets", "with a score"),
        Column("n_runs", pa.int64(), "runs", "seeds"),
        Column("spearman", pa.float64(), "1", "of score and accuracy over sets, mean over runs"),
        Column("spearman_low", pa.float64(), "1", "lower bound of Student's interval"),
        Column("spearman_high", pa.float64(), "1", "upper bound"),
        fraction("mae", "mean absolute error if each set is left out of a line, mean over runs"),
        fraction("mae_low", "lower bound of Student's interval"),
        fraction("mae_high", "upper bound"),
        fraction("mae_gain", "mean over runs of the error minus that of ERM of the same seed"),
        fraction("mae_gain_low", "lower bound of Student's interval of the difference"),
        fraction("mae_gain_high", "upper bound"),
        CONFIDENCE_LEVEL,
    ),
)
NEAR_FAR = TableSchema(
    "gains and distances",
    (
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("n_sets", pa.int64(), "sets", "that are compared"),
        *_COEFFICIENTS,
        Column("pearson", pa.float64(), "1", "correlation"),
    ),
)
