"""The standardised decomposition of an accuracy gap, with intervals.

It says which part of a gap confidence explains (`confidence_bins`); matching on confidence alone
asks the same question of fewer datapoints. A pure shift of confidence leaves a conditional part of
0 only up to a bias from shifts within bins, and up to the sampling noise of both sets
(docs/protocol.md).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from matcheval.protocol.comparisons import Blocks, Comparison, Draws, datapoints
from matcheval.protocol.matching import Rows, order_by_score
from matcheval.statistics.intervals import LEVEL, percentiles

N_BINS = 20
FURTHER_N_BINS = (10, 50)  # beside the default, to show what the number of bins does
N_RESAMPLES = 1_000
_MODELS = 32  # resampled at once
_ROUNDING = 1e-9
CLEAR_GAP = 2  # shares and references are given where |gap| exceeds this many standard errors

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scored:
    """One model's confidence and correctness on the n datapoints of a set, each of shape (n,)."""

    confidence: npt.NDArray[np.floating]  # finite; compared in float64
    correct: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.confidence)

    @cached_property
    def order(self) -> Rows:
        """Rows by increasing confidence."""
        return order_by_score(self.confidence)


def scored(comparison: Comparison) -> tuple[Scored, Scored]:
    """Return a model's confidence and correctness on the source and on the target."""
    source, target = comparison.source, comparison.target
    return Scored(source.probability, source.correct), Scored(target.probability, target.correct)


# Datapoints and correct predictions in each bin, of the source and then of the target; for
# resamples of models, of shape (n_resamples, n_models, n_bins).
BinCounts = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Bins:
    """The datapoints of two sets in common bins of confidence, without empty bins."""

    edges: Floats  # highest confidences of the bins, but for the last one
    # Of source and target, twice the bin of each datapoint, plus 1 if it is correct: a byte each
    # with 128 bins or fewer, since those of all models are held.
    cells: tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.unsignedinteger]]
    counts: BinCounts
    # Whether most datapoints of a bin have one confidence, so that more bins do not divide it.
    tied: npt.NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of bins."""
        return len(self.counts[0])


@dataclass(frozen=True)
class Parts:
    """A gap, accuracy on the source minus accuracy on the target, and its parts."""

    gap: Floats
    confidence: Floats
    conditional: Floats
    source_only: Floats
    target_only: Floats


def bin_sets(source: Scored, target: Scored, n_bins: int = N_BINS) -> Bins:
    """Put the datapoints of both sets into common bins of about equally many datapoints."""
    confidences = [side.confidence[side.order].astype(np.float64) for side in (source, target)]
    both = np.sort(np.concatenate(confidences), kind="stable")  # merges what is sorted
    ranks = (len(both) * np.arange(1, n_bins) + n_bins - 1) // n_bins
    edges = np.unique(both[ranks - 1])
    # Every edge is a value of the data, so that only the bin above the last one can be empty.
    n = int(np.searchsorted(edges, both[-1])) + 1
    cells, counts = [], []
    for side, p in zip((source, target), confidences, strict=True):
        ends = np.append(np.searchsorted(p, edges[: n - 1], side="right"), len(side))
        size = np.diff(ends, prepend=0)
        right = side.correct[side.order]
        side_cells = np.empty(len(side), np.min_scalar_type(2 * n - 1))
        side_cells[side.order] = np.repeat(2 * np.arange(n), size) + right
        n_right = np.diff(np.append(0, np.cumsum(right))[ends], prepend=0)
        cells.append(side_cells)
        counts += [size.astype(np.float64), n_right.astype(np.float64)]
    ends = np.append(np.searchsorted(both, edges[: n - 1], side="right"), len(both))
    n_last = ends - np.searchsorted(both, both[ends - 1])
    tied = n_last > np.maximum(np.diff(ends, prepend=0) / 2, 1)
    return Bins(edges, (cells[0], cells[1]), (counts[0], counts[1], counts[2], counts[3]), tied)


def parts_of_bins(
    n_source: Floats, correct_source: Floats, n_target: Floats, correct_target: Floats
) -> Parts:
    """Decompose a gap, given the numbers of datapoints and of correct ones in each bin."""
    with np.errstate(invalid="ignore", divide="ignore"):
        w = n_source / n_source.sum(axis=-1, keepdims=True)
        v = n_target / n_target.sum(axis=-1, keepdims=True)
        a, b = correct_source / n_source, correct_target / n_target
    no_source, no_target = n_source == 0, n_target == 0
    # A bin that is empty on both sides has weight 0 on both, whatever its accuracy.
    a, b = np.where(no_source, np.nan_to_num(b), a), np.where(no_target, np.nan_to_num(a), b)
    return Parts(
        gap=(w * a).sum(axis=-1) - (v * b).sum(axis=-1),
        confidence=((w - v) * (a + b)).sum(axis=-1) / 2,
        conditional=((a - b) * (w + v)).sum(axis=-1) / 2,
        source_only=(w * no_target).sum(axis=-1),
        target_only=(v * no_source).sum(axis=-1),
    )


def resampled_gaps(
    binned: Sequence[Bins],
    blocks: Blocks | None,
    n: int,
    seed: int | np.random.SeedSequence,
    *,
    by_cells: bool = False,
    threads: int = 1,
) -> Floats:
    """Return gap and both parts in `n` resamples of the datapoints: shape (n, n_models, 3).

    Models on the same datapoints share the resamples, which a model has alone, too. Cells of one
    model's datapoints are drawn faster, but have no counterpart among several models.
    """
    sizes = [len(cells) for cells in binned[0].cells]
    if not n or min(sizes) < 2 or (blocks is not None and blocks.n < 2):
        return np.empty((0, len(binned), 3))
    if by_cells and blocks is None:
        # A resample of datapoints draws their (bin, correct) cells from a multinomial distribution.
        generator = np.random.default_rng(seed)
        n_source, correct_source, n_target, correct_target = binned[0].counts
        source = _draw_bin_counts(n_source, correct_source, n, generator)
        return _stacked_parts(*source, *_draw_bin_counts(n_target, correct_target, n, generator))
    chosen, width = blocks or datapoints(*sizes), max(bins.n for bins in binned)
    gaps, done = np.empty((n, len(binned), 3)), 0
    block_numbers = [side.astype(np.uint32) for side in (chosen.source, chosen.target)]

    def fill_gaps(resamples: slice, drawn: Sequence[Draws], first: int) -> None:
        """Decompose some models' gaps, from the one with number `first`, in some resamples."""
        models = slice(first, first + _MODELS)
        cells_of_sides = zip(*(bins.cells for bins in binned[models]), strict=True)
        counts = [
            _count_in_bins(cells, block, times, width)
            for cells, block, times in zip(cells_of_sides, block_numbers, drawn, strict=True)
        ]
        gaps[resamples, models] = _stacked_parts(*counts[0], *counts[1])

    with ThreadPoolExecutor(threads) as pool:
        for drawn in chosen.resamples(n, np.random.default_rng(seed)):
            resamples = slice(done, done := done + drawn[0].shape[1])
            list(pool.map(partial(fill_gaps, resamples, drawn), range(0, len(binned), _MODELS)))
    return gaps


def _stacked_parts(
    n_source: Floats, correct_source: Floats, n_target: Floats, correct_target: Floats
) -> Floats:
    """Decompose gaps; stack gap, confidence and conditional part: (n_resamples, n_models, 3)."""
    p = parts_of_bins(n_source, correct_source, n_target, correct_target)
    return np.stack([p.gap, p.confidence, p.conditional], axis=-1)


def _draw_bin_counts(
    size: Floats, correct: Floats, n: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw `n` resamples of one model's datapoints: numbers of all and of correct ones in bins."""
    cells = np.concatenate([correct, size - correct])
    drawn = generator.multinomial(int(size.sum()), cells / size.sum(), size=n).astype(np.float64)
    right, wrong = np.split(drawn, 2, axis=1)
    return (right + wrong)[:, None], right[:, None]


def _count_in_bins(
    cells: Sequence[npt.NDArray[np.unsignedinteger]],
    block: npt.NDArray[np.uint32],
    drawn: Draws,
    width: int,
) -> tuple[Floats, Floats]:
    """Count all datapoints, and the correct ones, by resample, model and bin."""
    from matcheval.protocol.kernel import add_draws

    counts = np.zeros((len(cells), 2 * width, drawn.shape[1]), np.int32)
    for model_cells, model_counts in zip(cells, counts, strict=True):
        add_draws(model_cells, block, drawn, model_counts)
    # Resamples stay next to each other in memory: sums over bins add in another order otherwise.
    by_cell = counts.astype(np.float64).transpose(2, 0, 1)
    wrong, right = by_cell[..., ::2], by_cell[..., 1::2]
    return wrong + right, right


def binning_bound(part: float, part_10: float, part_50: float) -> float:
    """Bound the error that bins cause in a part, given the part with 20, 10 and 50 bins.

    The bias of bins falls with their number K by 1/K or faster: what is left at 20 is then at most
    the change from 10 to 20, and at most the change from 20 to 50 over 1 - 20/50.
    """
    return max(abs(part - part_10), abs(part_50 - part) / (1 - N_BINS / 50))


def unshared_bound(bins: Bins) -> float:
    """Bound a part's error from bins that only one set fills: the other's accuracy is unknown."""
    n_source, correct_source, n_target, correct_target = bins.counts
    return sum(
        float(np.maximum(right, n - right)[other == 0].sum() / n.sum() / 2)
        for n, right, other in (
            (n_source, correct_source, n_target), (n_target, correct_target, n_source)
        )
    )  # fmt: skip


def tied_part(bins: Bins) -> float:
    """Return how much of the conditional part may be a shift that tied confidences hide.

    Had they more digits, accuracy would go from that of the bin below to that of the bin above, of
    both sets together; and from 0, or to 1, beyond the first and the last bin.
    """
    n_source, correct_source, n_target, correct_target = bins.counts
    accuracy = (correct_source + correct_target) / (n_source + n_target)
    most = np.maximum(np.append(accuracy[1:], 1) - np.append(0, accuracy[:-1]), 0)
    shared = bins.tied & (n_source > 0) & (n_target > 0)
    difference = correct_source[shared] / n_source[shared]
    difference -= correct_target[shared] / n_target[shared]
    weight = n_source[shared] / n_source.sum() + n_target[shared] / n_target.sum()
    return float((np.clip(difference, -most[shared], most[shared]) * weight).sum() / 2)


def tied_share(bins: Bins) -> float:
    """Return the share of datapoints in bins of mostly equal confidences, the larger of both."""
    return max(float(n[bins.tied].sum() / n.sum()) for n in (bins.counts[0], bins.counts[2]))


@dataclass(frozen=True)
class Decomposition:
    """A gap, original minus replication, and its parts, with intervals; fields are columns."""

    n_bins: int
    source_only: float
    target_only: float
    gap: float
    gap_low: float
    gap_high: float
    confidence_part: float
    confidence_part_low: float
    confidence_part_high: float
    conditional_part: float
    conditional_part_low: float
    conditional_part_high: float
    gap_se: float
    confidence_share: float
    confidence_share_low: float
    confidence_share_high: float
    reason: str

    @property
    def parts(self) -> dict[str, float]:
        """Both parts with their bounds, by shorter names of columns, such as `confidence_low`."""
        return {k.replace("_part_", "_"): v for k, v in vars(self).items() if "_part" in k}


def decompose(
    source: Scored,
    target: Scored,
    *,
    source_is_original: bool = True,
    blocks: Blocks | None = None,
    seed: int | np.random.SeedSequence = 0,
    level: float = LEVEL,
) -> Decomposition:
    """Decompose one model's gap, with resamples that do not depend on other models."""
    return decompose_models(
        [bin_sets(source, target)], source_is_original=source_is_original, blocks=blocks, seed=seed,
        by_cells=True, level=level,
    )[1]  # fmt: skip


def decompose_models(
    binned: Sequence[Bins],
    *,
    source_is_original: bool = True,
    blocks: Blocks | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.SeedSequence = 0,
    by_cells: bool = False,
    level: float = LEVEL,
    threads: int = 1,
) -> tuple[list[Decomposition], Decomposition]:
    """Decompose the gaps of several models on the same datapoints, and then their mean."""
    sign = np.array([1 if source_is_original else -1] * 3)
    values = np.array([astuple(parts_of_bins(*bins.counts)) for bins in binned])
    values[:, :3] *= sign
    resampled = sign * resampled_gaps(
        binned, blocks, n_resamples, seed, by_cells=by_cells, threads=threads
    )
    n_bins = [bins.n for bins in binned]
    by_model = zip(n_bins, values, np.moveaxis(resampled, 1, 0), strict=True)
    mean = _summarise(min(n_bins), values.mean(axis=0), resampled.mean(axis=1), level)
    return [_summarise(*parts, level) for parts in by_model], mean


def _summarise(n_bins: int, values: Floats, resampled: Floats, level: float) -> Decomposition:
    """Add intervals to the `values` of `Parts`, from resampled gaps and parts: (n_resamples, 3)."""
    defined = resampled[~np.isnan(resampled[:, 0])]
    gap, confidence, conditional, source_only, target_only = values.tolist()
    nan, reason = float("nan"), ""
    low, high, error, share = [nan] * 3, [nan] * 3, nan, (nan, nan, nan)
    if len(defined) < 2:
        why = "fewer than two resamples, or a set with fewer than two blocks"
        reason = f"no standard error: {why}"
    else:
        low, high = np.percentile(defined, percentiles(level), axis=0).tolist()
        error = float(defined[:, 0].std(ddof=1))
        # Resamples of a few bins that hold one kind of datapoint each may all miss the estimate.
        off = np.maximum(np.subtract(low, values[:3]), np.subtract(values[:3], high))
        if off.max() > _ROUNDING:
            name = ("gap", "confidence part", "conditional part")[int(off.argmax())]
            reason = f"no interval of the {name}: its resamples do not hold it"
        low, high = np.where(off > _ROUNDING, nan, [low, high]).tolist()
        if abs(gap) > CLEAR_GAP * error:
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = defined[:, 1] / defined[:, 0]
            bounds = np.percentile(shares[np.isfinite(shares)], percentiles(level)).tolist()
            if bounds[0] - _ROUNDING <= confidence / gap <= bounds[1] + _ROUNDING:
                share = (confidence / gap, *bounds)
        elif not reason:
            reason = "no share: the gap does not exceed twice its standard error"
    return Decomposition(
        n_bins, source_only, target_only, gap, low[0], high[0],
        confidence, low[1], high[1], conditional, low[2], high[2], error, *share, reason,
    )  # fmt: skip
