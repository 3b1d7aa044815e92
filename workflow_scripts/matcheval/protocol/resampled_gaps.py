"""Resamples of a decomposed gap: multinomial draws for one model, whole blocks for several."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from matcheval.protocol.blocks import Blocks, Weights, datapoints
from matcheval.protocol.confidence_bins import Bins, Floats, Scored, parts_of_bins


def resampled_gaps(
    models: Sequence[tuple[Scored, Scored]],
    binned: Sequence[Bins],
    blocks: Blocks | None,
    n: int,
    generator: np.random.Generator,
) -> Floats:
    """Resample the datapoints, and decompose the gaps of all models anew in every resample."""
    is_binary = all(scored.correct.dtype == bool for scored in models[0])
    counts: Iterable[_Counts]
    if n == 0 or min(map(len, models[0])) < 2 or (blocks is not None and blocks.n < 2):
        counts = []
    elif blocks is None and len(models) == 1 and is_binary:
        # A resample of datapoints draws their (bin, correct) cells from a multinomial distribution.
        counts = [_multinomial(binned[0], n, generator)]
    else:
        counts = _of_blocks(
            models, binned, blocks or datapoints(*map(len, models[0])), n, generator
        )
    parts = [parts_of_bins(*some) for some in counts]
    stacked = [np.stack([some.gap, some.confidence, some.conditional], axis=-1) for some in parts]
    return np.concatenate(stacked) if stacked else np.empty((0, len(models), 3))


# As `Bins.counts`: arrays of shape (n_resamples, n_models, n_bins).
_Counts = tuple[Floats, Floats, Floats, Floats]


def _multinomial(bins: Bins, n: int, generator: np.random.Generator) -> _Counts:
    """Draw the numbers of datapoints and of correct predictions in the bins of one model."""
    n_source, correct_source, n_target, correct_target = bins.counts
    source = _draw_cells(n_source, correct_source, n, generator)
    return (*source, *_draw_cells(n_target, correct_target, n, generator))


def _draw_cells(
    size: Floats, correct: Floats, n: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    cells = np.concatenate([correct, size - correct])
    drawn = generator.multinomial(int(size.sum()), cells / size.sum(), size=n).astype(np.float64)
    right, wrong = np.split(drawn, 2, axis=1)
    return (right + wrong)[:, None], right[:, None]


def _of_blocks(
    models: Sequence[tuple[Scored, Scored]],
    binned: Sequence[Bins],
    blocks: Blocks,
    n: int,
    generator: np.random.Generator,
) -> Iterator[_Counts]:
    """Draw whole blocks, and sum what their datapoints add to the bins of every model."""
    width = max(len(bins.n_source) for bins in binned)
    source = _block_sums(
        blocks.source, blocks.n_source, [bins.source for bins in binned],
        [one.correct for one, _ in models], width,
    )  # fmt: skip
    target = _block_sums(
        blocks.target, blocks.n_target, [bins.target for bins in binned],
        [one.correct for _, one in models], width,
    )  # fmt: skip
    for of_source, of_target in blocks.resamples(n, generator):
        yield (*_weighted(source, of_source, width), *_weighted(target, of_target, width))


def _block_sums(
    block: npt.NDArray[np.int64],
    n_blocks: int,
    bins: Sequence[npt.NDArray[np.int64]],
    correct: Sequence[npt.NDArray[Any]],
    width: int,
) -> csr_array:
    """Count the datapoints, then the correct predictions, of a block in each model's bins."""
    columns = np.stack(bins) + width * np.arange(len(bins))[:, None]
    columns = np.concatenate([columns, columns + width * len(bins)])
    values = np.concatenate([np.ones((len(bins), len(block))), np.stack(correct)])
    cells = (np.broadcast_to(block, columns.shape).ravel(), columns.ravel())
    sums = csr_array((values.ravel(), cells), shape=(n_blocks, width * len(columns)))
    sums.eliminate_zeros()
    return sums


def _weighted(sums: csr_array, weights: Weights, width: int) -> tuple[Floats, Floats]:
    """Add the blocks up as often as they were drawn."""
    total = np.asarray(weights @ sums)
    sizes, correct = np.split(total.reshape(len(weights), -1, width), 2, axis=1)
    return sizes, correct
