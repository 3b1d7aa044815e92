"""Decomposition of accuracy gaps, with standard errors: tables per model and of means over models.

Terms of the matching, standard errors, the standardised decomposition and the no-warning reference
are put together here. With source S, target T, matched subsets MS and MT, unmatched targets U and
u = |U| / |T|, a matching divides a gap exactly:

    a_S - a_T = (a_MS - a_MT) + (a_S - a_MS) + u (a_MT - a_UT)

References
----------
After Ñopo (2008), Review of Economics and Statistics 90.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.io.terminal import map_in_order, tracked
from matcheval.protocol import compared_models, decomposition
from matcheval.protocol.compared_models import ComparedModels, MatchedModel, mean_of_defined
from matcheval.protocol.comparisons import MANY_UNMATCHED, Blocks, Comparison
from matcheval.protocol.decomposition import (
    CLEAR_GAP,
    FURTHER_N_BINS,
    N_BINS,
    Bins,
    Decomposition,
    Floats,
    parts_of_bins,
)
from matcheval.protocol.matching import SortedSets
from matcheval.protocol.no_warning import NoWarning, mean_reference, no_warning_reference
from matcheval.protocol.schemas import CALIBRATION, GAPS, MEAN_GAPS
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import (
    ErrorTerms,
    TermsTotal,
    calibration_terms,
    confidence_terms,
    error_interval,
    error_terms,
    isotonic_accuracy,
    standard_error,
)
from matcheval.statistics.claims import FEW_GROUPS


@dataclass(frozen=True, eq=False)
class GapTerms:
    """The three terms that add up to a gap, original minus replication, given a matching."""

    matched_gap: Floats
    source_selection: Floats
    dropped_targets: Floats


def gap_terms(runs: Mapping[str, npt.ArrayLike], *, source_is_original: bool = True) -> GapTerms:
    """Divide the gap of each run into matched gap, source selection and dropped targets.

    A mean over seeds is the mean of each term over the seeds with a matched pair: a product of
    means is not the mean of the products.
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
    calibration: pd.DataFrame


def estimate_gaps(compared: ComparedModels, *, progress: bool = False) -> GapTables:
    """Estimate the models' gaps, matched gaps and parts on one pair, by all matchings."""
    comparisons = tracked(compared.comparisons, "estimating gaps", progress=progress)
    return gaps_of_models(comparisons, compared.methods, compared.seeds, compared.blocks)


def gaps_of_models(
    comparisons: Iterable[Comparison],
    methods: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    blocks: Blocks | None,
    *,
    threads: int = 1,
) -> GapTables:
    """Do what `estimate_gaps` does, for models on the same datapoints that are read one by one.

    Of each model, a byte per datapoint is held, and what its rows of the tables are made from.
    Nothing depends on the number of threads.
    """
    models, falls, excesses = list[_Model](), TermsTotal(), TermsTotal()
    errors = {name: compared_models.ErrorOfMean() for name in methods}
    measure = partial(_Model.of, methods=methods, seeds=seeds, blocks=blocks)
    measured: Iterable[Any] = map(measure, comparisons)
    if threads > 1:
        measured = map_in_order(measure, comparisons, threads, ahead=1)
    for model, matched_terms, calibration_errors in measured:
        models.append(model)
        falls.add(calibration_errors.fall)
        excesses.add(calibration_errors.overconfidence)
        for name, (matched_model, terms) in matched_terms.items():
            errors[name].add(matched_model, terms)
    parts = _decompose_all(models, blocks, threads)
    first = models[0]
    sampling = {
        "paired": first.pair.paired,
        "n_groups": blocks.n if blocks is not None and blocks.grouped else 0,
        "groups_in_one": blocks is not None and blocks.is_grouped_on_one_side,
    }
    level = first.pair.confidence
    mean_errors = _CalibrationTerms(falls.mean, excesses.mean)
    calibration = _Calibration.mean([model.calibration for model in models]).columns(
        mean_errors, blocks, level, source_is_original=first.source_is_original
    )
    sizes = {"n_original": first.n_original, "n_replication": first.n_replication}
    tables, means = {}, []
    for name in methods:
        matched = [model.matched[name] for model in models]
        rows = [
            result.identity | sampling
            | _gap_columns(result, decomposed, blocks) | model.calibration_columns
            for model, result, decomposed in zip(models, matched, parts[:-1], strict=True)
        ]  # fmt: skip
        tables[name] = pd.DataFrame(rows, columns=GAPS.names)
        defined = [model for model in models if model.matched[name].is_defined]
        left_out = len(matched) - len(defined)
        averaged = [model.matched[name] for model in defined or models]
        unmatched = [result.values["fraction_unmatched"] for result in matched]
        gap_of_matched = float(np.mean([r.gap for r in averaged])) if left_out else None
        gaps = [(result.error.matched_gap, result.gap) for result in averaged]
        mean = _Matched.mean(averaged, errors[name].result(blocks))
        means.append(
            matched[0].identity | sampling | sizes
            | {
                "n_seeds": len(seeds), "n_models": len(defined), "n_left_out": left_out,
                "n_mostly_unmatched": sum(share > MANY_UNMATCHED for share in unmatched),
                "n_narrower": sum(abs(matched_gap) < abs(gap) for matched_gap, gap in gaps),
                "n_reference": sum(not result.reference.reason for result in averaged),
            }
            | _gap_columns(mean, parts[-1], blocks, gap_of_matched) | calibration
        )  # fmt: skip
    runs = {name: [model.matched[name].runs for model in models] for name in methods}
    return GapTables(tables, pd.DataFrame(means)[MEAN_GAPS.names], runs, _mean_curves(models))


def _mean_curves(models: Sequence["_Model"]) -> pd.DataFrame:
    """Average the models' calibration curves on each set, as the table `CALIBRATION`."""
    curves = [np.mean([model.curves[side] for model in models], axis=0) for side in (0, 1)]
    points = [
        (origin, tenth, *values)
        for origin, curve in zip(("original", "replication"), curves, strict=True)
        for tenth, values in enumerate(curve.tolist(), 1)
    ]
    return pd.DataFrame(points, columns=CALIBRATION.names)


def calibration_curve(scored: decomposition.Scored) -> Floats:
    """Return mean confidence and accuracy of each tenth of a set, by rising confidence."""
    parts = np.array_split(scored.order, min(_TENTHS, len(scored)))  # or a part per datapoint
    confidence, correct = scored.confidence.astype(np.float64), scored.correct
    return np.array([[confidence[rows].mean(), correct[rows].mean()] for rows in parts])


_TENTHS = 10


class _CalibrationTerms(NamedTuple):
    """Datapoints' contributions to the sampling errors of fall and overconfidence."""

    fall: ErrorTerms  # of mean confidence
    overconfidence: ErrorTerms  # confidence minus accuracy, of each set by itself


@dataclass(frozen=True)
class _Calibration:
    """A model's fall of confidence and overconfidence on both sets; or their means over models."""

    fall: float  # of mean confidence, original minus replication
    overconfidence: tuple[float, float]  # confidence minus accuracy: original, replication

    @classmethod
    def of(cls, comparison: Comparison) -> "_Calibration":
        """Measure a model's calibration on both sets."""
        sets = comparison.original, comparison.replication
        before, after = (float(side.probability.mean(dtype=np.float64)) for side in sets)
        original, replication = (float(side.correct.mean()) for side in sets)
        return cls(before - after, (before - original, after - replication))

    @classmethod
    def mean(cls, models: Sequence["_Calibration"]) -> "_Calibration":
        """Average the calibration of models."""
        fall = float(np.mean([model.fall for model in models]))
        excess = np.mean([model.overconfidence for model in models], axis=0)
        return cls(fall, (float(excess[0]), float(excess[1])))

    def columns(
        self, terms: _CalibrationTerms, blocks: Blocks | None, level: float, *,
        source_is_original: bool,
    ) -> dict[str, float]:  # fmt: skip
        """Return fall and overconfidence with standard errors and intervals, by column."""
        excess = terms.overconfidence
        zeros = np.zeros_like(excess.source), np.zeros_like(excess.target)
        sides = ErrorTerms(excess.source, zeros[1]), ErrorTerms(zeros[0], excess.target)
        original, replication = sides if source_is_original else sides[::-1]
        quantities = {
            "confidence_fall": (self.fall, terms.fall),
            "overconfidence_original": (self.overconfidence[0], original),
            "overconfidence_replication": (self.overconfidence[1], replication),
        }
        columns = dict[str, float]()
        for name, (value, value_terms) in quantities.items():
            error = standard_error(value_terms, blocks)
            low, high = error_interval(value, error, blocks, level)
            columns |= {name: value, f"{name}_se": error, f"{name}_low": low, f"{name}_high": high}
        return columns


@dataclass(frozen=True, eq=False)
class _Model:
    """Results of a model that are kept when its predictions are not."""

    pair: Pair
    source_is_original: bool
    n_original: int
    n_replication: int
    bins: Bins
    further: list[float]  # confidence parts with `FURTHER_N_BINS`, and what else bounds parts
    calibration: _Calibration
    calibration_columns: dict[str, float]
    curves: tuple[Floats, Floats]  # of original and replication, `calibration_curve`
    matched: Mapping[str, "_Matched"]

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        methods: Mapping[str, MatchingMethod],
        seeds: Sequence[int],
        blocks: Blocks | None,
    ) -> tuple["_Model", dict[str, tuple[MatchedModel, ErrorTerms]], _CalibrationTerms]:
        """Measure a model; return also its matches and error terms, for the errors of means."""
        sides = decomposition.scored(comparison)
        bins, *others = (decomposition.bin_sets(*sides, n) for n in (N_BINS, *FURTHER_N_BINS))
        orders = sides[0].order, sides[1].order
        accuracies = isotonic_accuracy(sides[0]), isotonic_accuracy(sides[1])
        accuracy_original = accuracies[0 if comparison.source_is_original else 1]
        matched, matched_terms = {}, {}
        for name, method in methods.items():
            sets = SortedSets.of(comparison.source, comparison.target, method, orders)
            matched_model = MatchedModel.of(comparison, method, seeds, name, sets.plan)
            terms = error_terms(*sides, matched_model.rows, accuracies)
            reference = no_warning_reference(comparison, method, accuracy_original, sets)
            matched[name] = _Matched.of(matched_model, terms, reference, blocks)
            matched_terms[name] = matched_model, terms
        curves = [calibration_curve(side) for side in sides]
        if not comparison.source_is_original:
            curves.reverse()
        calibration = _Calibration.of(comparison)
        calibration_errors = _CalibrationTerms(confidence_terms(*sides), calibration_terms(*sides))
        model = cls(
            comparison.pair, comparison.source_is_original,
            len(comparison.original), len(comparison.replication), bins,
            [
                *(float(parts_of_bins(*other.counts).confidence) for other in others),
                decomposition.unshared_bound(bins), decomposition.tied_part(others[-1]),
                decomposition.tied_share(others[-1]),
            ],
            calibration,
            calibration.columns(
                calibration_errors, blocks, comparison.pair.confidence,
                source_is_original=comparison.source_is_original,
            ),
            (curves[0], curves[1]), matched,
        )  # fmt: skip
        return model, matched_terms, calibration_errors


def _decompose_all(
    models: Sequence[_Model], blocks: Blocks | None, threads: int
) -> list[tuple[Decomposition, Floats]]:
    """Decompose each model's gap and, last, their mean; return each with what bounds its parts."""
    first = models[0]
    decompositions, mean = decomposition.decompose_models(
        [model.bins for model in models], source_is_original=first.source_is_original,
        blocks=blocks, level=first.pair.confidence, threads=threads,
    )  # fmt: skip
    further = np.array([model.further for model in models])
    further[:, : len(FURTHER_N_BINS)] *= 1 if first.source_is_original else -1
    return [*zip(decompositions, further, strict=True), (mean, further.mean(0))]


@dataclass(frozen=True, eq=False)
class _Matched:
    """Results of one matching for a model, or their means over models, named as the first."""

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
        """Whether any target is matched in any run."""
        return self.values["n_matched"] > 0

    @classmethod
    def of(
        cls, model: MatchedModel, terms: ErrorTerms, reference: NoWarning, blocks: Blocks | None
    ) -> "_Matched":
        """Put the results of one matched model together."""
        runs = model.measured
        parts = gap_terms(runs, source_is_original=model.comparison.source_is_original)
        values = {
            "source_selection": mean_of_defined(parts.source_selection),
            "dropped_targets": mean_of_defined(parts.dropped_targets),
            "n_matched": model.n_matched,
            "fraction_unmatched": float(np.mean(runs["fraction_unmatched"])),
            "unmatched_accuracy_target": mean_of_defined(runs["unmatched_accuracy_target"]),
        }
        error = compared_models.error_of_model(model, blocks, terms)
        return cls(model.identity, model.comparison.gap, model.runs(), error, values, reference)

    @classmethod
    def mean(cls, models: Sequence["_Matched"], error: compared_models.MatchedError) -> "_Matched":
        """Average the models' results; references over those models that have one."""
        first = models[0]
        references = [model.reference for model in models if not model.reference.reason]
        values = {
            name: mean_of_defined([model.values[name] for model in models]) for name in first.values
        }
        reference = mean_reference(references) if references else first.reference
        return replace(
            first, error=error, values=values, reference=reference,
            n_models=len(models), n_reference=len(references),
        )  # fmt: skip


def _gap_columns(
    matched: _Matched, decomposed: tuple[Decomposition, Floats], blocks: Blocks | None,
    gap_of_matched: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the columns `schemas.GAP_QUANTITIES` of one row, without those of calibration.

    `gap_of_matched` is the gap of those models that have a match, if these are not all.
    """
    (parts, further), reference = decomposed, matched.reference
    if not reference.reason and not abs(parts.gap) > CLEAR_GAP * parts.gap_se:
        # The ratio of two gaps would be noise, as the gap may be none.
        reference = reference.undefined("the gap does not exceed twice its standard error")
    remarks = [matched.error.reason, parts.reason, reference.reason]
    if matched.is_defined and matched.values["fraction_unmatched"] == 0:
        remarks.append("every target is matched in every run: no targets are dropped")
    if blocks is not None and blocks.grouped and 2 <= blocks.n < FEW_GROUPS:
        remarks.append(f"only {blocks.n} groups in a set: intervals are wide, and uncertain")
    if 0 < matched.n_reference < matched.n_models:
        remarks.append(
            f"the no-warning reference is of {matched.n_reference} of {matched.n_models} models"
        )
    matched_gap = matched.error.matched_gap
    gap = parts.gap if gap_of_matched is None else gap_of_matched
    *rebinned, unshared, tied, tied_share = map(float, further)
    bound = decomposition.binning_bound(parts.confidence_part, *rebinned) + unshared + abs(tied)
    wide = {
        f"{name}_wide_{end}": vars(parts)[f"{name}_{end}"] + sign * bound
        for name in ("confidence_part", "conditional_part")
        for end, sign in (("low", -1), ("high", 1))
    }
    return (
        vars(parts)
        | {f"confidence_part_{n}": v for n, v in zip(FURTHER_N_BINS, rebinned, strict=True)}
        | {"binning_bound": bound, "unshared_bound": unshared, "tied_share": tied_share, **wide}
        | vars(matched.error)
        | matched.values
        | {"narrowing": 1 - matched_gap / gap if gap else float("nan")}
        | reference.columns
        | {"remarks": "; ".join(filter(None, remarks))}
    )
