"""The standardised decomposition of an accuracy gap, with intervals.

It says which part of a gap goes with confidence (`confidence_bins`); matching on confidence alone
asks the same question of fewer datapoints. A pure shift of confidence leaves a conditional part of
0 only up to a bias from shifts within bins, and up to the sampling noise of both sets
(docs/protocol.md).
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from matcheval.errors import InputError
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.confidence_bins import N_BINS, Floats, Scored, bin_sets, parts_of_bins
from matcheval.protocol.resampled_gaps import resampled_gaps

FURTHER_N_BINS = (10, 50)  # beside the default, to show what the number of bins does
N_RESAMPLES = 1_000
_PERCENTILES = (2.5, 97.5)
CLEAR_GAP = 2  # shares and references are given where |gap| exceeds this many standard errors


@dataclass(frozen=True)
class Decomposition:
    """The decomposition of one gap, signed as original minus replication; accuracies in [0, 1]."""

    n_bins: int
    n_resamples: int
    gap: float
    gap_se: float
    gap_low: float
    gap_high: float
    confidence_part: float
    confidence_low: float
    confidence_high: float
    conditional_part: float
    conditional_low: float
    conditional_high: float
    source_only: float
    target_only: float
    share: float
    share_low: float
    share_high: float
    reason: str


@dataclass(frozen=True)
class ModelDecompositions:
    """Decompositions for several models on the same two sets, and of their means."""

    models: tuple[Decomposition, ...]
    mean: Decomposition


def decompose(
    source: Scored,
    target: Scored,
    *,
    source_is_original: bool = True,
    n_bins: int = N_BINS,
    blocks: Blocks | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.SeedSequence = 0,
) -> Decomposition:
    """Decompose one model's gap."""
    found = decompose_models(
        [(source, target)], source_is_original=source_is_original, n_bins=n_bins, blocks=blocks,
        n_resamples=n_resamples, seed=seed,
    )  # fmt: skip
    return found.mean


def decompose_models(
    models: Sequence[tuple[Scored, Scored]],
    *,
    source_is_original: bool = True,
    n_bins: int = N_BINS,
    blocks: Blocks | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.SeedSequence = 0,
) -> ModelDecompositions:
    """Decompose the gaps of several models on the same datapoints, and their mean."""
    sizes = sorted({(len(source), len(target)) for source, target in models})
    if len(sizes) != 1:
        raise InputError(
            f"models on sets of {sizes} datapoints", remedy="All must be of the same datapoints"
        )
    if n_resamples < 0:
        raise InputError(f"{n_resamples} resamples", remedy="Give 0 for no intervals, or more")
    if blocks is not None and sizes != [(len(blocks.source), len(blocks.target))]:
        raise InputError(
            f"blocks of {len(blocks.source)} and {len(blocks.target)} datapoints, sets of "
            f"{sizes[0][0]} and {sizes[0][1]}",
            remedy="Give the block of every datapoint",
        )
    binned = [bin_sets(source, target, n_bins) for source, target in models]
    sign = np.array([1 if source_is_original else -1] * 3)
    values = np.array([astuple(parts_of_bins(*bins.counts)) for bins in binned])
    values[:, :3] *= sign
    generator = np.random.default_rng(seed)
    resampled = resampled_gaps(models, binned, blocks, n_resamples, generator) * sign
    n_found = [len(bins.n_source) for bins in binned]
    each = zip(n_found, values, np.moveaxis(resampled, 1, 0), strict=True)
    return ModelDecompositions(
        tuple(_summarise(*one) for one in each),
        _summarise(min(n_found), values.mean(axis=0), resampled.mean(axis=1)),
    )


def _summarise(n_bins: int, values: Floats, resampled: Floats) -> Decomposition:
    """Add intervals to gap, parts and masses; `resampled` is of shape (n_resamples, 3)."""
    gap, confidence, conditional, source_only, target_only = map(float, values)
    defined = resampled[~np.isnan(resampled[:, 0])]
    nan = float("nan")
    se, bounds, reason = nan, np.full((2, 3), nan), ""
    share, share_low, share_high = nan, nan, nan
    if len(defined) < 2:
        reason = "no standard error: fewer than two resamples, or a set with fewer than two blocks"
    else:
        se = float(defined[:, 0].std(ddof=1))
        bounds = np.percentile(defined, _PERCENTILES, axis=0)
        if abs(gap) > CLEAR_GAP * se:
            share = confidence / gap
            share_low, share_high = _share_bounds(defined)
        else:
            reason = "no share: the gap does not exceed twice its standard error"
    low, high = bounds.tolist()
    return Decomposition(
        n_bins, len(defined), gap, se, low[0], high[0], confidence, low[1], high[1],
        conditional, low[2], high[2], source_only, target_only,
        share, share_low, share_high, reason,
    )  # fmt: skip


def _share_bounds(resampled: Floats) -> tuple[float, float]:
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = resampled[:, 1] / resampled[:, 0]
    low, high = np.percentile(shares[np.isfinite(shares)], _PERCENTILES)
    return float(low), float(high)
