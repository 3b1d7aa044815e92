"""What the gaps of a pair consist of, and how certain they are: tables for models and their means.

Terms of the matching (`gap_terms`), standard errors (`standard_errors`), the standardised
decomposition (`decomposition`) and the no-warning reference (`no_warning`) are put together here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from matcheval.io.terminal import each
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.confidence_bins import Floats, bin_sets, parts_of_bins
from matcheval.protocol.criteria import matching_label
from matcheval.protocol.decomposition import FURTHER_N_BINS, Decomposition, decompose_models
from matcheval.protocol.gap_of_model import ModelGap, mean_gap, scored
from matcheval.protocol.gap_rows import counts, identity, quantities, sampling
from matcheval.protocol.gap_schemas import GAPS, MEAN_GAPS


@dataclass(frozen=True)
class GapTables:
    """Gaps of a pair's models."""

    models: dict[str, pd.DataFrame]
    means: pd.DataFrame


def estimate_gaps(known: ComparedModels, *, progress: bool = False) -> GapTables:
    """Estimate the gaps of several models on one pair, by all matchings."""
    comparisons, methods, blocks = known.comparisons, known.methods, known.blocks
    seeds = known.seeds
    parts = _Parts.of(comparisons, blocks)
    models, means = {}, []
    for name, method in methods.items():
        shown = each(comparisons, f"estimating gaps by {matching_label(name)}", progress=progress)
        found = [ModelGap.of(comparison, method, seeds) for comparison in shown]
        rows = [
            identity(estimate.comparison, method)
            | sampling(comparisons[0], blocks)
            | quantities(estimate, decomposition, further, blocks)
            for estimate, decomposition, further in zip(
                found, parts.models, parts.further, strict=True
            )
        ]
        models[name] = pd.DataFrame(rows, columns=GAPS.names)
        defined = [estimate for estimate in found if estimate.n_seeds] or found
        if len(defined) < len(found):
            of_mean = _Parts.of([estimate.comparison for estimate in defined], blocks)
        else:
            of_mean = parts
        means.append(
            {"pair": comparisons[0].pair.name, "matching": name}
            | identity(comparisons[0], method)
            | sampling(comparisons[0], blocks)
            | counts(found, defined, len(seeds))
            | quantities(mean_gap(defined), of_mean.mean, of_mean.further.mean(0), blocks)
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
