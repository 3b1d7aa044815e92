"""Schemas of the tables of runs, matched pairs and results: columns, types, units, meanings."""

import pyarrow as pa

from matcheval.io.tables import MODEL, Column, TableSchema, estimate, fraction, text
from matcheval.protocol.criteria import matching_label

RUN_COLUMNS = (
    Column("seed", pa.int32(), "1", "seed of the run"),
    Column("n_source", pa.int32(), "datapoints", "size of the source set"),
    Column("n_target", pa.int32(), "datapoints", "size of the target set"),
    Column("n_matched", pa.int32(), "datapoints", "size of each matched subset"),
    fraction("accuracy_source", "accuracy on the source"),
    fraction("accuracy_target", "accuracy on the target"),
    fraction("matched_accuracy_source", "accuracy on the matched subset of the source"),
    fraction("matched_accuracy_target", "accuracy on the matched subset of the target"),
    fraction("unmatched_accuracy_target", "accuracy on the unmatched target points"),
    fraction("fraction_unmatched", "unmatched target points over all target points"),
    fraction("confidence_source", "mean probability on the source"),
    fraction("confidence_target", "mean probability on the target"),
    fraction("matched_confidence_source", "mean probability, matched subset of the source"),
    fraction("matched_confidence_target", "mean probability, matched subset of the target"),
    fraction("unmatched_confidence_target", "mean probability, unmatched target points"),
)
RUNS = TableSchema("runs", *RUN_COLUMNS)

PAIRS = TableSchema(
    "matched pairs",
    Column("seed", pa.int32(), "1", "seed of the run"),
    Column("source_index", pa.int32(), "1", "index of the matched source point"),
    Column("target_index", pa.int32(), "1", "index of the target point"),
)

PAIR = text("pair", "name of the pair of sets")
MATCHING = text("matching", "name of the matching", label=matching_label)
CRITERION = text("criterion", "label_probability (Algorithm 1) or probability (2)")

IDENTITY_COLUMNS = (
    MODEL,
    PAIR,
    CRITERION,
    text("original", "the original set"),
    text("replication", "the replication set"),
    text("source", "which of the two is the source of the matching"),
    Column("epsilon", pa.float64(), "1", "largest difference of matched probabilities"),
)

COMPARISON_RUNS = TableSchema("runs of a comparison", *IDENTITY_COLUMNS, *RUN_COLUMNS)


def _statistics(name: str, meaning: str) -> tuple[Column, ...]:
    """Make the columns of a quantity's mean, standard deviation and standard error over seeds."""
    return (
        fraction(f"{name}_mean", f"{meaning}: mean over seeds"),
        fraction(f"{name}_std", "its standard deviation (ddof = 1)"),
        fraction(f"{name}_sem", "its standard error"),
    )


MODEL_TABLE = TableSchema(
    "results by model",
    *IDENTITY_COLUMNS,
    Column("n_seeds", pa.int32(), "1", "runs averaged; undefined values are left out"),
    Column("n_original", pa.int32(), "datapoints", "size of the original set"),
    Column("n_replication", pa.int32(), "datapoints", "size of the replication set"),
    fraction("accuracy_original", "accuracy on the original set"),
    fraction("accuracy_replication", "accuracy on the replication"),
    fraction("gap", "accuracy, original minus replication"),
    *_statistics("matched_accuracy_original", "accuracy, matched subset of the original"),
    *_statistics("matched_accuracy_replication", "accuracy, matched subset of the replication"),
    *_statistics("matched_gap", "matched accuracy, original minus replication"),
    *_statistics("unmatched_accuracy_target", "accuracy on the unmatched target points"),
    *_statistics("fraction_unmatched", "unmatched target points over all target points"),
    fraction("confidence_original", "mean probability, original"),
    fraction("confidence_replication", "mean probability, replication"),
    *_statistics("matched_confidence_original", "mean probability, matched original"),
    *_statistics("matched_confidence_replication", "mean probability, matched replication"),
    *_statistics("unmatched_confidence_target", "mean probability, unmatched target points"),
)


# Gaps and parts are original minus replication. Where a value is NaN, `remarks` says why.
GAP_QUANTITIES = (
    *estimate("gap", "accuracy on the original minus accuracy on the replication"),
    fraction("gap_se", "its standard error: standard deviation over resamples of the datapoints"),
    *estimate("matched_gap", "gap of the matched subsets, mean over seeds"),
    fraction("matched_gap_se", "its standard error, given confidences and picks; not over seeds"),
    fraction("source_selection", "accuracy on the source minus on its matched subset, signed"),
    fraction("dropped_targets", "what the unmatched targets add: the rest of the gap"),
    fraction("narrowing", "1 minus matched gap over gap; NaN for gap 0"),
    Column("n_matched", pa.float64(), "datapoints", "matched pairs, mean over seeds"),
    fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
    fraction("unmatched_accuracy_target", "accuracy on the unmatched targets, mean over seeds"),
    *estimate("confidence_part", "part of the gap that confidence explains, in bins"),
    *estimate("conditional_part", "part of the gap at equal confidence, in bins"),
    *estimate("confidence_share", "confidence part over gap; NaN if |gap| < 2 gap_se"),
    Column("n_bins", pa.int32(), "1", "bins of confidence that hold a datapoint; 20 are asked for"),
    fraction("confidence_part_10", "confidence part with 10 bins"),
    fraction("confidence_part_50", "confidence part with 50 bins"),
    fraction("binning_bound", "bound for what a part may change: bins, unshared and tied ones"),
    fraction("unshared_bound", "of this, from bins of confidence that one set lacks"),
    fraction("tied_share", "share of a set in confidences so common that bins do not divide them"),
    fraction("confidence_part_wide_low", "confidence part: its interval, wider by binning_bound"),
    fraction("confidence_part_wide_high", "confidence part: upper bound of this interval"),
    fraction("conditional_part_wide_low", "conditional part: its interval, wider by this bound"),
    fraction("conditional_part_wide_high", "conditional part: upper bound of this interval"),
    *estimate("confidence_fall", "mean confidence, original minus replication"),
    fraction("confidence_fall_se", "its standard error"),
    *estimate("overconfidence_original", "mean confidence minus accuracy on the original"),
    fraction("overconfidence_original_se", "its standard error"),
    *estimate("overconfidence_replication", "mean confidence minus accuracy, replication"),
    fraction("overconfidence_replication_se", "its standard error"),
    fraction("source_only", "share of the source in bins without a target"),
    fraction("target_only", "share of the target in bins without a source"),
    Column("error_ratio", pa.float64(), "1", "no-warning reference: factor on all error rates"),
    Column("n_reference_original", pa.int32(), "datapoints", "original's part of a split"),
    Column("n_reference_replication", pa.int32(), "datapoints", "replication's part of a split"),
    fraction("reference_gap", "no-warning reference: gap, mean over splits"),
    fraction("reference_matched_gap", "no-warning reference: matched gap, mean over splits"),
    fraction("reference_narrowing", "no-warning reference: narrowing"),
    fraction("same_size_gap", "gap of the real pair at the sizes of the reference"),
    fraction("same_size_matched_gap", "matched gap of the real pair at these sizes"),
    fraction("same_size_narrowing", "narrowing of the real gap at these sizes"),
    fraction("excess_narrowing", "same_size_narrowing minus reference_narrowing"),
    fraction("excess_spread", "its standard deviation with the random splits; not over sets"),
    text("remarks", "why values are NaN, and what else to know"),
)

SAMPLING_COLUMNS = (
    Column("paired", pa.bool_(), "", "whether both sets show the same images"),
    Column("n_groups", pa.int32(), "1", "groups of the set that has fewer; 0 without groups"),
    Column("groups_in_one", pa.bool_(), "", "whether only one of the sets has groups"),
)

GAPS = TableSchema("gaps by model", *IDENTITY_COLUMNS, *SAMPLING_COLUMNS, *GAP_QUANTITIES)

CALIBRATION = TableSchema(
    "confidence and accuracy",
    text("origin", "original or replication"),
    Column("tenth", pa.int32(), "1", "part of the set, from 1: a tenth, by rising confidence"),
    fraction("confidence", "mean probability of its datapoints, mean over models"),
    fraction("accuracy", "their accuracy, mean over models"),
)

MEAN_GAPS = TableSchema(
    "gaps, means over models",
    PAIR,
    MATCHING,
    *IDENTITY_COLUMNS[2:],
    Column("n_original", pa.int32(), "datapoints", "size of the original set"),
    Column("n_replication", pa.int32(), "datapoints", "size of the replication set"),
    Column("n_seeds", pa.int32(), "1", "runs per model"),
    *SAMPLING_COLUMNS,
    Column("n_models", pa.int32(), "1", "models with a matched pair, of which matched gaps are"),
    Column("n_left_out", pa.int32(), "1", "models without a matched pair in any run"),
    Column("n_mostly_unmatched", pa.int32(), "1", "models with half of the targets unmatched"),
    Column("n_narrower", pa.int32(), "1", "models with |matched gap| < |gap|"),
    Column("n_reference", pa.int32(), "1", "models with a no-warning reference, of these"),
    *GAP_QUANTITIES,
)
