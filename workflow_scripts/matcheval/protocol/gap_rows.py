"""Rows of the tables of gaps: values, and in words why one is missing."""

from collections.abc import Sequence
from typing import Any

from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import matched_error
from matcheval.protocol.comparisons import MANY_UNMATCHED, Comparison
from matcheval.protocol.decomposition import CLEAR_GAP, FURTHER_N_BINS, Decomposition, Floats
from matcheval.protocol.gap_of_model import ModelGap
from matcheval.protocol.no_warning import NoWarning, no_reference
from matcheval.protocol.settings import MatchingMethod

FEW_GROUPS = 10
_NAN = float("nan")


def identity(comparison: Comparison, method: MatchingMethod) -> dict[str, Any]:
    """Return the columns of `schemas.IDENTITY_COLUMNS`."""
    pair = comparison.pair
    return {
        "model": comparison.model, "pair": pair.name, "criterion": method.criterion.value,
        "original": pair.original, "replication": pair.replication,
        "source": comparison.source_name, "epsilon": method.epsilon,
    }  # fmt: skip


def sampling(comparison: Comparison, blocks: Blocks | None) -> dict[str, Any]:
    """Return the columns of `gap_schemas.SAMPLING_COLUMNS`."""
    grouped = blocks is not None and blocks.grouped
    return {
        "paired": comparison.pair.paired,
        "n_groups": blocks.n if blocks is not None and grouped else 0,
    }


def counts(found: Sequence[ModelGap], defined: Sequence[ModelGap], n_seeds: int) -> dict[str, Any]:
    """Return the sizes of the sets and the numbers of runs and models."""
    comparison = found[0].comparison
    gaps = [
        (abs(float(m.comparison.original.correct.mean() - m.comparison.replication.correct.mean())),
         abs(m.matched_gap))
        for m in defined
    ]  # fmt: skip
    n_defined = sum(model.n_seeds > 0 for model in found)
    return {
        "n_original": len(comparison.original),
        "n_replication": len(comparison.replication),
        "n_seeds": n_seeds,
        "n_models": n_defined,
        "n_left_out": len(found) - n_defined,
        "n_mostly_unmatched": sum(model.fraction_unmatched > MANY_UNMATCHED for model in found),
        "n_narrower": sum(matched < gap for gap, matched in gaps),
        "n_reference": sum(not model.reference.reason for model in defined),
    }


def quantities(
    found: ModelGap, parts: Decomposition, further: Floats, blocks: Blocks | None
) -> dict[str, Any]:
    """Return the columns of `gap_schemas.GAP_QUANTITIES`."""
    matched = matched_error(
        found.matched_gap, found.n_matched, found.one_sided, found.errors, blocks
    )
    reference = _clear_reference(found.reference, parts)
    return {
        "gap": parts.gap, "gap_low": parts.gap_low, "gap_high": parts.gap_high,
        "gap_se": parts.gap_se,
        **matched.columns,
        "source_selection": found.source_selection, "dropped_targets": found.dropped_targets,
        "narrowing": 1 - found.matched_gap / parts.gap if parts.gap else _NAN,
        "n_matched": found.n_matched, "fraction_unmatched": found.fraction_unmatched,
        "unmatched_accuracy_target": found.unmatched_accuracy,
        **{
            name + end: getattr(parts, field + end)
            for name, field in _PART_FIELDS.items()
            for end in ("_low", "_high")
        },
        "confidence_part": parts.confidence_part, "conditional_part": parts.conditional_part,
        "confidence_share": parts.share, "n_bins": parts.n_bins,
        **{f"confidence_part_{n}": v for n, v in zip(FURTHER_N_BINS, further, strict=True)},
        "source_only": parts.source_only, "target_only": parts.target_only,
        "error_ratio": reference.error_ratio,
        "n_reference_original": reference.n_original,
        "n_reference_replication": reference.n_replication,
        "reference_gap": reference.reference_gap,
        "reference_matched_gap": reference.reference_matched_gap,
        "reference_narrowing": reference.reference_narrowing,
        "same_size_gap": reference.gap, "same_size_matched_gap": reference.matched_gap,
        "same_size_narrowing": reference.narrowing, "excess_narrowing": reference.excess,
        "remarks": "; ".join(filter(None, [matched.reason, parts.reason, reference.reason,
                                           *_further_remarks(found, blocks)])),
    }  # fmt: skip


_PART_FIELDS = {
    "confidence_part": "confidence", "conditional_part": "conditional", "confidence_share": "share",
}  # fmt: skip


def _clear_reference(reference: NoWarning, parts: Decomposition) -> NoWarning:
    """Leave out the reference of a gap that may be none: the ratio of two gaps is then noise."""
    if reference.reason or abs(parts.gap) > CLEAR_GAP * parts.gap_se:
        return reference
    sizes = reference.n_original, reference.n_replication
    return no_reference(sizes, "the gap does not exceed twice its standard error")


def _further_remarks(found: ModelGap, blocks: Blocks | None) -> list[str]:
    remarks = []
    if found.n_seeds and found.fraction_unmatched == 0:
        remarks.append("every target is matched in every run: no targets are dropped")
    if blocks is not None and blocks.grouped and 2 <= blocks.n < FEW_GROUPS:
        remarks.append(f"only {blocks.n} groups in a set: intervals are wide, and uncertain")
    if found.n_reference < found.n_models and found.n_reference:
        remarks.append(
            f"the no-warning reference is of {found.n_reference} of {found.n_models} models"
        )
    return remarks
