"""What is drawn as a whole when sets are resampled: datapoints, images in both sets, or groups."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.records import Predictions

_CHUNK = 4_000_000  # weights that are held at once: 32 MB

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of two sets, numbered from 0 on each side, or over both sides if joint."""

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    n_source: int
    n_target: int
    joint: bool
    grouped: bool = False

    @property
    def n(self) -> int:
        """Number of blocks of the side that has fewer."""
        return min(self.n_source, self.n_target)

    def resamples(
        self, n: int, generator: np.random.Generator
    ) -> Iterator[tuple[Weights, Weights]]:
        """Draw as many blocks as there are, with replacement."""
        step = max(1, _CHUNK // max(self.n_source, self.n_target))
        for start in range(0, n, step):
            some = min(step, n - start)
            source = _draw(some, self.n_source, generator)
            yield source, source if self.joint else _draw(some, self.n_target, generator)


def datapoints(n_source: int, n_target: int) -> Blocks:
    """Return the blocks of two sets of independent datapoints: every datapoint is one."""
    return Blocks(np.arange(n_source), np.arange(n_target), n_source, n_target, joint=False)


def paired_images(source: Predictions, target: Predictions) -> Blocks:
    """Return the blocks of two sets that show the same images: a row of both sets is one."""
    if source.datapoints_digest != target.datapoints_digest:
        raise InputError(
            f"sets of {len(source)} and {len(target)} datapoints differ in size, indices or labels",
            remedy="Two sets are paired only if row by row they show the same image",
        )
    rows = np.arange(len(source))
    return Blocks(rows, rows, len(rows), len(rows), joint=True)


def groups(
    source: npt.ArrayLike, target: npt.ArrayLike, *, shared: bool = False
) -> Blocks:  # fmt: skip
    """Return the blocks of grouped sets: all datapoints of a writer, a video or a place are one."""
    names = np.asarray(source), np.asarray(target)
    if shared:
        found, block = np.unique(np.concatenate(names), return_inverse=True)
        cut = len(names[0])
        return Blocks(block[:cut], block[cut:], len(found), len(found), joint=True, grouped=True)
    (of_source, source_block), (of_target, target_block) = (
        np.unique(each, return_inverse=True) for each in names
    )
    sizes = len(of_source), len(of_target)
    return Blocks(source_block, target_block, *sizes, joint=False, grouped=True)


def _draw(n: int, n_blocks: int, generator: np.random.Generator) -> Weights:
    """Draw `n_blocks` blocks with replacement, `n` times over, and count them."""
    drawn = generator.integers(n_blocks, size=(n, n_blocks))
    drawn += n_blocks * np.arange(n)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=n * n_blocks)
    return counts.reshape(n, n_blocks).astype(np.float64)
