"""The tables of the follow-ups, declared: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema

_MODEL = Column("model", pa.string(), "", "name of the model")
_DATASET = Column("dataset", pa.string(), "", "name of the dataset")
_LEVEL = Column("confidence", pa.float64(), "fraction", "level of the intervals")


def _fraction(name: str, meaning: str) -> Column:
    return Column(name, pa.float64(), "fraction", meaning)


def _accuracy(part: str, of: str) -> tuple[Column, ...]:
    """Count, accuracy and interval of some datapoints."""
    return (
        Column(f"n_{part}", pa.int64(), "datapoints", of),
        Column(f"n_correct_{part}", pa.int64(), "datapoints", "of these, right"),
        _fraction(f"accuracy_{part}", "n_correct over n; NaN if there are none"),
        _fraction(f"accuracy_{part}_low", "Clopper-Pearson lower bound"),
        _fraction(f"accuracy_{part}_high", "Clopper-Pearson upper bound"),
    )


HARD_IMAGES = TableSchema(
    "hard images",
    (
        _DATASET,
        Column("index", pa.int32(), "", "position in the dataset"),
        Column("label", pa.int16(), "", "true class"),
        Column("n_right", pa.int32(), "models", "how many models get it right"),
        Column("n_models", pa.int32(), "models", "how many models there are"),
    ),
)

PEOPLE = TableSchema(
    "people's accuracies",
    (
        Column("participant", pa.string(), "", "who answered"),
        Column("pair", pa.string(), "", "name of the pair of sets"),
        *_accuracy("original", "images of the original that were answered"),
        _fraction("models_original", "mean accuracy of the models on the same images"),
        *_accuracy("replication", "images of the replication that were answered"),
        _fraction("models_replication", "mean accuracy of the models on the same images"),
        _fraction("gap", "accuracy, original minus replication"),
        _LEVEL,
    ),
)

BALANCED = TableSchema(
    "accuracies on balanced classes",
    (
        _MODEL,
        _DATASET,
        *_accuracy("all", "size of the dataset"),
        *_accuracy("balanced", "an equal number of each class, drawn at random"),
        _fraction("accuracy_by_class", "mean over classes of the accuracy within each"),
        Column("per_class", pa.int32(), "datapoints", "of each class in the balanced subset"),
        Column("seed", pa.int64(), "1", "of the draw"),
        _LEVEL,
    ),
)

BY_FREQUENCY = TableSchema(
    "accuracies by selection frequency",
    (
        _MODEL,
        _DATASET,
        Column("bin", pa.int16(), "1", "bin of the selection frequency, from 0"),
        _fraction("frequency_low", "lower end of the bin, within it"),
        _fraction("frequency_high", "upper end of the bin, within it for the last one only"),
        *_accuracy("bin", "datapoints in the bin"),
        _LEVEL,
    ),
)

BY_GROUP = TableSchema(
    "accuracies by group",
    (
        _MODEL,
        _DATASET,
        Column("group", pa.string(), "", "group of datapoints, as the user's file names it"),
        *_accuracy("group", "datapoints in the group"),
        _LEVEL,
    ),
)

SHARED_ERRORS = TableSchema(
    "errors that models share",
    (
        _MODEL,
        Column("other", pa.string(), "", "name of another model"),
        _DATASET,
        Column("n", pa.int64(), "datapoints", "size of the dataset"),
        Column("n_wrong", pa.int64(), "datapoints", "that the model gets wrong"),
        Column("n_wrong_other", pa.int64(), "datapoints", "that the other one gets wrong"),
        Column("n_wrong_both", pa.int64(), "datapoints", "that both get wrong"),
        _fraction("jaccard", "wrong by both, of those wrong by either; NaN if neither errs"),
        _fraction("jaccard_by_chance", "the same, were errors independent"),
    ),
)

REVISIONS = TableSchema(
    "accuracies over revisions",
    (
        _MODEL,
        Column("revisions", pa.string(), "", "of what these are revisions"),
        Column("number", pa.int16(), "1", "of the revision, from 1"),
        _DATASET,
        Column("n", pa.int64(), "datapoints", "size of the revision; 0 if unknown"),
        Column("n_correct", pa.int64(), "datapoints", "predicted right; -1 if unknown"),
        _fraction("accuracy", "top-1 accuracy"),
        _fraction("accuracy_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        _fraction("accuracy_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
        _fraction("change", "accuracy minus that on the revision before; NaN for the first"),
        _LEVEL,
    ),
)
