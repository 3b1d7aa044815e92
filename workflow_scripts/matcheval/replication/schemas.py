"""The tables of the replication study, declared: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema

_TOP = Column("top", pa.int16(), "classes", "right if the label is among so many first classes")
_PAIR = (
    Column("pair", pa.string(), "", "name of the pair of sets"),
    _TOP,
    Column("original", pa.string(), "", "the original set"),
    Column("replication", pa.string(), "", "the replication set"),
)
_LEVEL = Column("confidence", pa.float64(), "fraction", "level of the intervals")


def _fraction(name: str, meaning: str) -> Column:
    return Column(name, pa.float64(), "fraction", meaning)


ACCURACIES = TableSchema(
    "accuracies of a dataset",
    (
        Column("model", pa.string(), "", "name of the model"),
        Column("dataset", pa.string(), "", "name of the dataset"),
        _TOP,
        Column("n_correct", pa.int64(), "datapoints", "predicted right; -1 if unknown"),
        Column("n", pa.int64(), "datapoints", "size of the dataset; 0 if unknown"),
        _fraction("accuracy", "n_correct over n, or as published"),
    ),
)


def _of_set(origin: str) -> tuple[Column, ...]:
    return (
        Column(f"n_{origin}", pa.int64(), "datapoints", f"size of the {origin}; 0 if unknown"),
        Column(f"n_correct_{origin}", pa.int64(), "datapoints", "predicted right; -1 if unknown"),
        _fraction(f"accuracy_{origin}", f"accuracy on the {origin}"),
        _fraction(f"accuracy_{origin}_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        _fraction(f"accuracy_{origin}_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
    )


RESULTS = TableSchema(
    "replication results",
    (
        Column("original_rank", pa.int32(), "1", "rank on the original, ties by name"),
        Column("model", pa.string(), "", "name of the model"),
        *_PAIR,
        *_of_set("original"),
        *_of_set("replication"),
        _fraction("gap", "accuracy, original minus replication"),
        _fraction(
            "random_gap_low", "least part of the gap by the choice of the replication's images"
        ),
        _fraction("random_gap_high", "most of it: bounds of accuracy_replication minus itself"),
        _fraction("rest_gap_low", "least rest of the gap: adaptivity + distribution, inseparable"),
        _fraction("rest_gap_high", "most rest of the gap"),
        Column("z", pa.float64(), "1", "gap over its standard error; NaN if n is unknown"),
        Column("replication_rank", pa.int32(), "1", "rank on the replication, ties by name"),
        Column("delta_rank", pa.int32(), "1", "original minus replication rank; < 0: lost places"),
        _LEVEL,
    ),
)

_OFFSET_UNIT = "percentage points (linear), standard deviations (probit)"


def _bounds(name: str, unit: str) -> tuple[Column, ...]:
    return (
        Column(f"{name}_low", pa.float64(), unit, "bootstrap lower bound"),
        Column(f"{name}_high", pa.float64(), unit, "bootstrap upper bound"),
    )


FITS = TableSchema(
    "fits of replication on original accuracy",
    (
        *_PAIR,
        Column("scale", pa.string(), "", "linear: percent; probit: inverse normal of the accuracy"),
        Column("slope", pa.float64(), "1", "least squares slope"),
        *_bounds("slope", "1"),
        Column("offset", pa.float64(), _OFFSET_UNIT, "least squares offset"),
        *_bounds("offset", _OFFSET_UNIT),
        Column("r_squared", pa.float64(), "1", "coefficient of determination, on the scale"),
        _fraction("slopes_at_most_1", "part of the bootstrap slopes that are 1 or less"),
        Column("n_models", pa.int32(), "models", "models fitted"),
        Column("left_out", pa.string(), "", "models left out by name, separated by spaces"),
        Column("extreme", pa.string(), "", "models with an accuracy of 0 or 1, by name"),
        Column("extremes", pa.string(), "", "what became of those: leave_out or clip"),
        _LEVEL,
        Column("resamples", pa.int32(), "1", "bootstrap resamples of the models"),
        Column("n_degenerate", pa.int32(), "1", "of these, left out: they determine no line"),
        Column("seed", pa.int64(), "1", "seed of the bootstrap"),
    ),
)

REGION = TableSchema(
    "confidence region of a fit",
    (
        Column("scale", pa.string(), "", "linear or probit"),
        _fraction("accuracy_original", "accuracy on the original: the grid"),
        _fraction("fit", "accuracy on the replication, by the line"),
        _fraction("low", "bootstrap lower bound of the line at this point"),
        _fraction("high", "bootstrap upper bound of the line at this point"),
    ),
)

_SKILLS = "standard deviations of a model's own noise"

DIFFICULTY = TableSchema(
    "model of difficulty",
    (
        *_PAIR,
        Column("slope", pa.float64(), "1", "u, of the probit fit"),
        Column("offset", pa.float64(), "standard deviations", "v, of the probit fit"),
        Column("mu_original", pa.float64(), _SKILLS, "mean difficulty; chosen"),
        Column("sigma_original", pa.float64(), _SKILLS, "its standard deviation; chosen"),
        Column("mu_replication", pa.float64(), _SKILLS, "mean difficulty"),
        Column("sigma_replication", pa.float64(), _SKILLS, "its standard deviation"),
        _fraction("rms_error", "root mean square over models of accuracy minus expectation"),
        Column("n_models", pa.int32(), "models", "models with a skill: accuracy not 0 or 1"),
        Column("seed", pa.int64(), "1", "of the simulated sets"),
    ),
)

SKILLS = TableSchema(
    "skills of models",
    (
        Column("model", pa.string(), "", "name of the model"),
        Column("skill", pa.float64(), _SKILLS, "from the accuracy on the original"),
        _fraction("accuracy_original", "accuracy on the original"),
        _fraction("accuracy_replication", "accuracy on the replication"),
        _fraction("expected_replication", "by the model of difficulty"),
        _fraction("simulated_original", "on a simulated set of the original's size"),
        _fraction("simulated_replication", "on a simulated set of the replication's size"),
    ),
)

CHANGES = TableSchema(
    "average changes",
    (
        *_PAIR,
        Column("n_models", pa.int32(), "models", "models averaged: all of the study"),
        _fraction("accuracy_original", "mean accuracy on the original"),
        _fraction("accuracy_replication", "mean accuracy on the replication"),
        _fraction("change", "mean over models of replication minus original accuracy"),
        _fraction("spread", "largest change of a pair with this original, minus the least"),
        _fraction("range_original", "accuracy on the original, best minus worst of the models"),
        Column("range_without", pa.string(), "", "models left out of that range, by name"),
        _fraction("selection_frequency", "mean over the new images; NaN if not sampled here"),
        Column(
            "least_z",
            pa.float64(),
            "1",
            "z of the model with the smallest |z|; NaN: n unknown",
        ),
        Column("n_significant", pa.int32(), "models", "whose accuracies differ, by Bonferroni"),
        Column("spearman", pa.float64(), "1", "rank correlation; NaN if undefined"),
        Column("kendall", pa.float64(), "1", "Kendall's tau-b; NaN if undefined"),
    ),
)

COMPARED = TableSchema(
    "published values beside computed ones",
    (
        Column("source", pa.string(), "", "where it is printed"),
        Column("name", pa.string(), "", "of what"),
        Column("quantity", pa.string(), "", "what"),
        Column("part", pa.string(), "", "value, or low or high: a bound of its interval"),
        Column("published", pa.float64(), "as printed", "the number printed"),
        Column("digits", pa.int16(), "1", "digits printed after the point"),
        Column("computed", pa.float64(), "as printed", "by this study; NaN if it cannot be"),
        Column("difference", pa.float64(), "as printed", "computed minus published"),
        Column("agrees", pa.bool_(), "", "rounded to the digits printed it is the number printed"),
        Column("table", pa.string(), "", "table of the study that has the computed number"),
        Column("column", pa.string(), "", "its column"),
        Column("remark", pa.string(), "", "why it differs or is not there"),
    ),
)
