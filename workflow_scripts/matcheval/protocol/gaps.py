"""Decomposition of accuracy gaps, with standard errors: tables per model and of means over models.

Terms of the matching, standard errors, the standardised decomposition and the no-warning reference
are put together here. With source S, target T, matched subsets MS and MT, unmatched targets U and
u = |U| / |T|, a matching divides a gap exactly:

    a_S - a_T = (a_MS - a_MT) + (a_S - a_MS) + u (a_MT - a_UT)

References
----------
After Ñopo (2008), Review of Economics and Statistics 90.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.io.terminal import each
from matcheval.protocol import compared_models, decomposition
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import ComparedModels, MatchedModel, mean_of_defined
from matcheval.protocol.comparisons import MANY_UNMATCHED, Comparison
from matcheval.protocol.decomposition import CLEAR_GAP, FURTHER_N_BINS, Decomposition, Floats
from matcheval.protocol.no_warning import NoWarning, mean_reference, no_warning_reference
from matcheval.protocol.schemas import GAPS, MEAN_GAPS
from matcheval.protocol.settings import matching_label

FEW_GROUPS = 10


@dataclass(frozen=True, eq=False)
class GapTerms:
    """What a gap consists of, signed as original minus replication; they add up to the gap."""

    matched_gap: Floats
    source_selection: Floats
    dropped_targets: Floats


def gap_terms(runs: Mapping[str, npt.ArrayLike], *, source_is_original: bool = True) -> GapTerms:
    """Divide the gaps of runs into their terms.

    A mean over seeds is the mean of each term over the seeds with a matched pair: a product of
    means is not the mean of the products.

    Parameters
    ----------
    runs : mapping of str to array-like, shape (n,)
        Accuracies of runs and `fraction_unmatched`, by column of `schemas.RUN_COLUMNS`.
    source_is_original : bool
        Sign of the terms: they are original minus replication.

    Returns
    -------
    GapTerms
        Arrays of shape (n,).
    """
    share, sign = np.asarray(runs["fraction_unmatched"]), 1.0 if source_is_original else -1.0
    source, target = runs["matched_accuracy_source"], runs["matched_accuracy_target"]
    dropped = share * np.subtract(target, runs["unmatched_accuracy_target"])
    return GapTerms(
        matched_gap=sign * np.subtract(source, target),
        source_selection=sign * np.subtract(runs["accuracy_source"], source),
        dropped_targets=sign * np.where(share == 0, 0.0, dropped),
    )


@dataclass(frozen=True)
class GapTables:
    """Gaps of a pair's models by matching, their means, and the runs of every model."""

    models: dict[str, pd.DataFrame]
    means: pd.DataFrame
    runs: dict[str, list[pa.Table]]  # of schema `COMPARISON_RUNS`


def estimate_gaps(compared: ComparedModels, *, progress: bool = False) -> GapTables:
    """Estimate the gaps of several models on one pair, by all matchings."""
    blocks, first = compared.blocks, compared.comparisons[0]
    sampling = {
        "paired": compared.pair.paired,
        "n_groups": blocks.n if blocks is not None and blocks.grouped else 0,
    }
    sizes = {"n_original": len(first.original), "n_replication": len(first.replication)}
    parts = _decomposed(compared.comparisons, blocks)
    models, means, runs = {}, [], {}
    for name in compared.methods:
        found = list[_Matched]()
        matched = _matched(compared, name, found, progress=progress)
        error = compared_models.error_of_mean(matched, blocks)
        runs[name] = [of_model.runs for of_model in found]
        rows = [
            of_model.identity | sampling | _quantities(of_model, of_gap, blocks)
            for of_model, of_gap in zip(found, parts[:-1], strict=True)
        ]
        models[name] = pd.DataFrame(rows, columns=GAPS.names)
        defined = [of_model for of_model in found if of_model.is_defined]
        left_out = len(found) - len(defined)
        averaged, of_mean = defined or found, parts[-1]
        if defined and left_out:
            both = zip(compared.comparisons, found, strict=True)
            of_mean = _decomposed([one for one, of in both if of.is_defined], blocks)[-1]
        unmatched = [of_model.values["fraction_unmatched"] for of_model in found]
        gaps = [(of.error.matched_gap, of.gap) for of in averaged]
        means.append(
            found[0].identity | sampling | sizes
            | {
                "n_seeds": len(compared.seeds), "n_models": len(defined), "n_left_out": left_out,
                "n_mostly_unmatched": sum(share > MANY_UNMATCHED for share in unmatched),
                "n_narrower": sum(abs(matched) < abs(gap) for matched, gap in gaps),
                "n_reference": sum(not of_model.reference.reason for of_model in averaged),
            }
            | _quantities(_Matched.mean(averaged, error), of_mean, blocks)
        )  # fmt: skip
    return GapTables(models, pd.DataFrame(means)[MEAN_GAPS.names], runs)


def _matched(
    compared: ComparedModels, name: str, found: list["_Matched"], *, progress: bool
) -> Iterator[MatchedModel]:
    """Match models one by one, as all their pairs would be large, and keep what is said of them."""
    label = f"estimating gaps by {matching_label(name)}"
    for comparison in each(compared.comparisons, label, progress=progress):
        one = MatchedModel.of(comparison, compared.methods[name], compared.seeds, name)
        found.append(_Matched.of(one, compared.blocks))
        yield one


def _decomposed(
    comparisons: Sequence[Comparison], blocks: Blocks | None
) -> list[tuple[Decomposition, Floats]]:
    """Decompose the gaps of all models, then their mean, also with `FURTHER_N_BINS`."""
    sides = [decomposition.scored(comparison) for comparison in comparisons]
    is_original = comparisons[0].source_is_original
    found = decomposition.decompose_models(
        sides, source_is_original=is_original, blocks=blocks, level=comparisons[0].pair.confidence
    )
    further = np.array([decomposition.further_parts(*both) for both in sides])
    further *= 1 if is_original else -1
    return [*zip(found.models, further, strict=True), (found.mean, further.mean(0))]


@dataclass(frozen=True, eq=False)
class _Matched:
    """Results of a matching for one model, or means over several under the name of the first."""

    identity: dict[str, str | float]
    gap: float
    runs: pa.Table
    error: compared_models.MatchedError
    values: dict[str, float]  # by column
    reference: NoWarning
    n_models: int = 1
    n_reference: int = 1

    @property
    def is_defined(self) -> bool:
        """Whether a target is matched in any run."""
        return self.values["n_matched"] > 0

    @classmethod
    def of(cls, one: MatchedModel, blocks: Blocks | None) -> "_Matched":
        """Measure a matched model and its reference."""
        runs = one.measured
        terms = gap_terms(runs, source_is_original=one.comparison.source_is_original)
        values = {
            "source_selection": mean_of_defined(terms.source_selection),
            "dropped_targets": mean_of_defined(terms.dropped_targets),
            "n_matched": one.n_matched,
            "fraction_unmatched": float(np.mean(runs["fraction_unmatched"])),
            "unmatched_accuracy_target": mean_of_defined(runs["unmatched_accuracy_target"]),
        }
        reference = no_warning_reference(one.comparison, one.method)
        error = compared_models.error_of_model(one, blocks)
        return cls(one.identity, one.comparison.gap, one.runs(), error, values, reference)

    @classmethod
    def mean(cls, models: Sequence["_Matched"], error: compared_models.MatchedError) -> "_Matched":
        """Average over models, given the error; references over the models that have one."""
        first = models[0]
        references = [of.reference for of in models if not of.reference.reason]
        values = {
            name: mean_of_defined([of.values[name] for of in models]) for name in first.values
        }
        reference = mean_reference(references) if references else first.reference
        return replace(
            first, error=error, values=values, reference=reference,
            n_models=len(models), n_reference=len(references),
        )  # fmt: skip


def _quantities(
    found: _Matched, decomposed: tuple[Decomposition, Floats], blocks: Blocks | None
) -> dict[str, Any]:
    """Return the columns of `schemas.GAP_QUANTITIES`, and reasons that make up its remarks."""
    (parts, further), reference = decomposed, found.reference
    if not reference.reason and not abs(parts.gap) > CLEAR_GAP * parts.gap_se:
        # The ratio of two gaps would be noise, as the gap may be none.
        reference = reference.without("the gap does not exceed twice its standard error")
    remarks = [found.error.reason, parts.reason, reference.reason]
    if found.is_defined and found.values["fraction_unmatched"] == 0:
        remarks.append("every target is matched in every run: no targets are dropped")
    if blocks is not None and blocks.grouped and 2 <= blocks.n < FEW_GROUPS:
        remarks.append(f"only {blocks.n} groups in a set: intervals are wide, and uncertain")
    if 0 < found.n_reference < found.n_models:
        remarks.append(
            f"the no-warning reference is of {found.n_reference} of {found.n_models} models"
        )
    matched_gap = found.error.matched_gap
    return (
        vars(parts)
        | {f"confidence_part_{n}": v for n, v in zip(FURTHER_N_BINS, further, strict=True)}
        | vars(found.error)
        | found.values
        | {"narrowing": 1 - matched_gap / parts.gap if parts.gap else float("nan")}
        | reference.columns
        | {"remarks": "; ".join(filter(None, remarks))}
    )
