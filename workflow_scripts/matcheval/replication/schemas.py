"""Schemas of the replication tables: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import CONFIDENCE_LEVEL, PAIR, Column, TableSchema, fraction


def _of_set(origin: str) -> tuple[Column, ...]:
    return (
        Column(f"n_{origin}", pa.int64(), "datapoints", f"size of the {origin}; 0 if unknown"),
        Column(f"n_correct_{origin}", pa.int64(), "datapoints", "of these, correct; -1 if unknown"),
        fraction(f"accuracy_{origin}", f"accuracy on the {origin}"),
        fraction(f"accuracy_{origin}_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        fraction(f"accuracy_{origin}_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
    )


RESULTS = TableSchema(
    "replication results",
    (
        Column("original_rank", pa.int32(), "1", "rank on the original, ties by name"),
        Column("model", pa.string(), "", "name of the model"),
        *PAIR,
        *_of_set("original"),
        *_of_set("replication"),
        fraction("gap", "accuracy, original minus replication"),
        fraction("gap_low", "lower bound of its normal interval; NaN if n is unknown"),
        fraction("gap_high", "upper bound"),
        fraction("random_gap_low", "lower bound of the part due to the choice of new images"),
        fraction("random_gap_high", "upper bound: interval of accuracy_replication minus itself"),
        fraction("rest_gap_low", "lower bound of the rest: adaptivity gap plus distribution gap"),
        fraction("rest_gap_high", "upper bound of the rest"),
        Column("z", pa.float64(), "1", "gap over its standard error; NaN if n is unknown"),
        Column("is_paired", pa.bool_(), "", "whether error and z are those of the same images"),
        Column("replication_rank", pa.int32(), "1", "rank on the replication, ties by name"),
        Column("delta_rank", pa.int32(), "1", "original minus replication rank; < 0: worse"),
        CONFIDENCE_LEVEL,
    ),
)

_OFFSET_UNIT = "percentage points (linear), standard deviations (probit)"


def _bounds(name: str, unit: str) -> tuple[Column, ...]:
    of = "families; NaN below two" if name.startswith("family") else "models"
    return (
        Column(f"{name}_low", pa.float64(), unit, f"lower bound, bootstrap over {of}"),
        Column(f"{name}_high", pa.float64(), unit, f"upper bound, bootstrap over {of}"),
    )


FITS = TableSchema(
    "fits of replication on original accuracy",
    (
        *PAIR,
        Column("scale", pa.string(), "", "linear: percent; probit: inverse normal of the accuracy"),
        Column("slope", pa.float64(), "1", "least squares slope"),
        *_bounds("slope", "1"),
        Column("offset", pa.float64(), _OFFSET_UNIT, "least squares offset"),
        *_bounds("offset", _OFFSET_UNIT),
        Column("r_squared", pa.float64(), "1", "coefficient of determination, on the scale"),
        Column("residual_sd", pa.float64(), _OFFSET_UNIT, "of the models about the line"),
        Column("n_families", pa.int32(), "families", "of the models fitted; 0 if not all have one"),
        *_bounds("family_slope", "1"),
        *_bounds("family_offset", _OFFSET_UNIT),
        fraction("slopes_at_most_1", "share of the bootstrap slopes that are 1 or less"),
        Column("n_models", pa.int32(), "models", "models fitted"),
        Column("left_out", pa.string(), "", "models left out by name, separated by spaces"),
        Column("extreme", pa.string(), "", "models with an accuracy of 0 or 1, by name"),
        Column("extremes", pa.string(), "", "their treatment: leave_out or clip"),
        CONFIDENCE_LEVEL,
        Column("resamples", pa.int32(), "1", "bootstrap resamples of the models"),
        Column("n_degenerate", pa.int32(), "1", "of these, left out: no line determined"),
        Column("seed", pa.int64(), "1", "seed of the bootstrap"),
    ),
)

REGION = TableSchema(
    "confidence region of a fit",
    (
        Column("scale", pa.string(), "", "linear or probit"),
        fraction("accuracy_original", "accuracy on the original: the grid"),
        fraction("fit", "accuracy on the replication predicted by the line"),
        fraction("low", "bootstrap lower bound of the line at this point"),
        fraction("high", "bootstrap upper bound of the line at this point"),
    ),
)

CHANGES = TableSchema(
    "average changes",
    (
        *PAIR,
        Column("n_models", pa.int32(), "models", "models averaged: all models of the study"),
        fraction("accuracy_original", "mean accuracy on the original"),
        fraction("accuracy_replication", "mean accuracy on the replication"),
        fraction("change", "mean over models of replication minus original accuracy"),
        fraction("spread", "largest minus smallest change among pairs with this original"),
        fraction("range_original", "accuracy on the original, best minus worst of the models"),
        Column("range_without", pa.string(), "", "models left out of that range, by name"),
        fraction("selection_frequency", "mean over the new images; NaN if not sampled here"),
        Column("least_z", pa.float64(), "1", "z with the smallest |z|; NaN if n is unknown"),
        Column("n_significant", pa.int32(), "models", "with a significant gap (Bonferroni)"),
        Column("spearman", pa.float64(), "1", "rank correlation; NaN if undefined"),
        Column("kendall", pa.float64(), "1", "Kendall's tau-b; NaN if undefined"),
    ),
)
