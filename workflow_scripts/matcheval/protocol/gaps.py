"""Decomposition of accuracy gaps, with standard errors: tables per model and of means over models.

Terms of the matching, standard errors, the standardised decomposition and the no-warning reference
are put together here. With source S, target T, matched subsets MS and MT, unmatched targets U and
u = |U| / |T|, a matching divides a gap exactly:

    a_S - a_T = (a_MS - a_MT) + (a_S - a_MS) + u (a_MT - a_UT)

References
----------
After Ñopo (2008), Review of Economics and Statistics 90.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.io.terminal import each
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import (
    ComparedModels,
    MatchedError,
    MatchedModel,
    error_of_mean,
    error_of_model,
    mean_of_defined,
)
from matcheval.protocol.comparisons import MANY_UNMATCHED, Comparison
from matcheval.protocol.decomposition import (
    CLEAR_GAP,
    FURTHER_N_BINS,
    Decomposition,
    Floats,
    bin_sets,
    decompose_models,
    parts_of_bins,
    scored,
)
from matcheval.protocol.no_warning import (
    NoWarning,
    mean_reference,
    no_reference,
    no_warning_reference,
)
from matcheval.protocol.schemas import GAPS, MEAN_GAPS
from matcheval.protocol.settings import matching_label

FEW_GROUPS = 10


@dataclass(frozen=True, eq=False)
class GapTerms:
    """What a gap consists of, signed as original minus replication; they add up to the gap."""

    matched_gap: Floats
    source_selection: Floats
    dropped_targets: Floats


def gap_terms(
    *,
    accuracy_source: npt.ArrayLike,
    matched_accuracy_source: npt.ArrayLike,
    matched_accuracy_target: npt.ArrayLike,
    unmatched_accuracy_target: npt.ArrayLike,
    fraction_unmatched: npt.ArrayLike,
    source_is_original: npt.ArrayLike = True,
) -> GapTerms:
    """Divide the gaps of runs into their terms.

    A mean over seeds is the mean of each term over the seeds with a matched pair: a product of
    means is not the mean of the products.

    Parameters
    ----------
    accuracy_source, matched_accuracy_source, matched_accuracy_target : array-like, shape (n,)
        As in `schemas.RUN_COLUMNS`, a run each.
    unmatched_accuracy_target, fraction_unmatched : array-like, shape (n,)
        Likewise. The first is not used where the second is 0.
    source_is_original : array-like of bool
        Sign of the terms: they are original minus replication.

    Returns
    -------
    GapTerms
        Arrays of shape (n,).
    """
    source, matched_source, matched_target, unmatched, share = (
        np.asarray(values, np.float64)
        for values in (
            accuracy_source, matched_accuracy_source, matched_accuracy_target,
            unmatched_accuracy_target, fraction_unmatched,
        )
    )  # fmt: skip
    sign = np.where(source_is_original, 1.0, -1.0)
    dropped = np.where(share == 0, 0.0, share * (matched_target - unmatched))
    return GapTerms(
        matched_gap=sign * (matched_source - matched_target),
        source_selection=sign * (source - matched_source),
        dropped_targets=sign * dropped,
    )


@dataclass(frozen=True)
class GapTables:
    """Gaps of a pair's models, by matching, and their means."""

    models: dict[str, pd.DataFrame]
    means: pd.DataFrame


def estimate_gaps(known: ComparedModels, *, progress: bool = False) -> GapTables:
    """Estimate the gaps of several models on one pair, by all matchings."""
    blocks, parts = known.blocks, _Parts.of(known.comparisons, known.blocks)
    sampling = {
        "paired": known.pair.paired,
        "n_groups": blocks.n if blocks is not None and blocks.grouped else 0,
    }
    models, means = {}, []
    for name, method in known.methods.items():
        label = f"estimating gaps by {matching_label(name)}"
        found = [
            _Matched.of(MatchedModel.of(comparison, method, known.seeds, name), blocks)
            for comparison in each(known.comparisons, label, progress=progress)
        ]
        rows = [
            of_model.one.identity | sampling | _quantities(of_model, decomposed, further, blocks)
            for of_model, decomposed, further in zip(
                found, parts.models, parts.further, strict=True
            )
        ]
        models[name] = pd.DataFrame(rows, columns=GAPS.names)
        defined = [of_model for of_model in found if of_model.is_defined] or found
        of_mean = parts
        if len(defined) < len(found):
            of_mean = _Parts.of([of_model.one.comparison for of_model in defined], blocks)
        means.append(
            found[0].one.identity
            | sampling
            | _counts(found, defined)
            | _quantities(
                _Matched.mean(defined, blocks), of_mean.mean, of_mean.further.mean(0), blocks
            )
        )
    return GapTables(models, pd.DataFrame(means)[MEAN_GAPS.names])


@dataclass(frozen=True)
class _Parts:
    """Decompositions of all models, of their mean, and confidence parts with `FURTHER_N_BINS`."""

    models: tuple[Decomposition, ...]
    mean: Decomposition
    further: Floats

    @classmethod
    def of(cls, comparisons: Sequence[Comparison], blocks: Blocks | None) -> "_Parts":
        sides = [scored(comparison) for comparison in comparisons]
        is_original = comparisons[0].source_is_original
        found = decompose_models(sides, source_is_original=is_original, blocks=blocks)
        further = [
            [float(parts_of_bins(*bin_sets(*both, n).counts).confidence) for n in FURTHER_N_BINS]
            for both in sides
        ]
        return cls(found.models, found.mean, np.array(further) * (1 if is_original else -1))


@dataclass(frozen=True, eq=False)
class _Matched:
    """What a matching says of one model, the first one or, if it is of their mean, of several."""

    one: MatchedModel
    error: MatchedError
    is_defined: bool
    values: dict[str, float]  # by column
    reference: NoWarning
    n_models: int = 1
    n_reference: int = 1

    @classmethod
    def of(cls, one: MatchedModel, blocks: Blocks | None) -> "_Matched":
        """Measure a matched model and its reference."""
        runs = one.measured
        terms = gap_terms(
            accuracy_source=runs["accuracy_source"],
            matched_accuracy_source=runs["matched_accuracy_source"],
            matched_accuracy_target=runs["matched_accuracy_target"],
            unmatched_accuracy_target=runs["unmatched_accuracy_target"],
            fraction_unmatched=runs["fraction_unmatched"],
            source_is_original=one.comparison.source_is_original,
        )
        values = {
            "source_selection": mean_of_defined(terms.source_selection),
            "dropped_targets": mean_of_defined(terms.dropped_targets),
            "n_matched": one.n_matched,
            "fraction_unmatched": float(np.mean(runs["fraction_unmatched"])),
            "unmatched_accuracy_target": mean_of_defined(runs["unmatched_accuracy_target"]),
        }
        reference = no_warning_reference(one.comparison, one.method)
        return cls(one, error_of_model(one, blocks), one.n_matched > 0, values, reference)

    @classmethod
    def mean(cls, models: Sequence["_Matched"], blocks: Blocks | None) -> "_Matched":
        """Average over models: errors by datapoint, references over the models that have one."""
        first = models[0]
        references = [of.reference for of in models if not of.reference.reason]
        return cls(
            first.one,
            error_of_mean([of.one for of in models], blocks),
            first.is_defined,
            {name: mean_of_defined([of.values[name] for of in models]) for name in first.values},
            mean_reference(references) if references else first.reference,
            len(models),
            len(references),
        )


def _counts(found: Sequence[_Matched], defined: Sequence[_Matched]) -> dict[str, Any]:
    """Return the sizes of the sets and the numbers of runs and models."""
    comparison = found[0].one.comparison
    n_defined = sum(of.is_defined for of in found)
    return {
        "n_original": len(comparison.original),
        "n_replication": len(comparison.replication),
        "n_seeds": len(found[0].one.rows),
        "n_models": n_defined,
        "n_left_out": len(found) - n_defined,
        "n_mostly_unmatched": sum(of.values["fraction_unmatched"] > MANY_UNMATCHED for of in found),
        "n_narrower": sum(abs(of.error.gap) < abs(of.one.comparison.gap) for of in defined),
        "n_reference": sum(not of.reference.reason for of in defined),
    }


def _quantities(
    found: _Matched, parts: Decomposition, further: Floats, blocks: Blocks | None
) -> dict[str, Any]:
    """Return the columns of `schemas.GAP_QUANTITIES`."""
    reference = found.reference
    if not reference.reason and not abs(parts.gap) > CLEAR_GAP * parts.gap_se:
        # The ratio of two gaps would be noise, as the gap may be none.
        sizes = reference.n_original, reference.n_replication
        reference = no_reference(sizes, "the gap does not exceed twice its standard error")
    remarks = [found.error.reason, parts.reason, reference.reason, *_further_remarks(found, blocks)]
    return {
        "gap": parts.gap, "gap_low": parts.gap_low, "gap_high": parts.gap_high,
        "gap_se": parts.gap_se,
        **found.error.columns, **found.values,
        "narrowing": 1 - found.error.gap / parts.gap if parts.gap else float("nan"),
        **{
            f"{column}{end}": getattr(parts, f"{name}{end}")
            for column, name in _PART_FIELDS.items()
            for end in ("_low", "_high")
        },
        "confidence_part": parts.confidence_part, "conditional_part": parts.conditional_part,
        "confidence_share": parts.share, "n_bins": parts.n_bins,
        **{f"confidence_part_{n}": v for n, v in zip(FURTHER_N_BINS, further, strict=True)},
        "source_only": parts.source_only, "target_only": parts.target_only,
        **reference.columns,
        "remarks": "; ".join(filter(None, remarks)),
    }  # fmt: skip


_PART_FIELDS = {
    "confidence_part": "confidence", "conditional_part": "conditional", "confidence_share": "share",
}  # fmt: skip


def _further_remarks(found: _Matched, blocks: Blocks | None) -> list[str]:
    remarks = []
    if found.is_defined and found.values["fraction_unmatched"] == 0:
        remarks.append("every target is matched in every run: no targets are dropped")
    if blocks is not None and blocks.grouped and 2 <= blocks.n < FEW_GROUPS:
        remarks.append(f"only {blocks.n} groups in a set: intervals are wide, and uncertain")
    if found.n_reference < found.n_models and found.n_reference:
        remarks.append(
            f"the no-warning reference is of {found.n_reference} of {found.n_models} models"
        )
    return remarks
