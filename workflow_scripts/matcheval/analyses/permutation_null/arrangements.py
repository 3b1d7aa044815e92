"""Ways to divide the datapoints of two sets anew, if both are draws from one population."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.protocol.blocks import Blocks

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Arrangements:
    """Divisions of the pooled datapoints, source rows first, into a source and a target."""

    n_source: int
    n_target: int
    blocks: Blocks | None
    n_permutations: int

    @property
    def n_possible(self) -> int | None:
        """Number of divisions of blocks; None for datapoints, where it is astronomical."""
        if self.blocks is None:
            return None
        if self.blocks.joint:
            return int(2**self.blocks.n)
        return math.comb(self.blocks.n_source + self.blocks.n_target, self.blocks.n_source)

    @property
    def is_exact(self) -> bool:
        """Whether all divisions are listed."""
        return self.n_possible is not None and self.n_possible <= self.n_permutations + 1

    @property
    def n(self) -> int:
        """Number of divisions, the observed one included."""
        if self.is_exact:
            assert self.n_possible is not None
            return self.n_possible
        return self.n_permutations + 1

    def smallest_p(self, *, mirrored: bool) -> float:
        """Return the smallest p-value that can occur."""
        blocks = self.blocks
        has_mirror = blocks is not None and (blocks.joint or blocks.n_source == blocks.n_target)
        return (2 if self.is_exact and mirrored and has_mirror else 1) / self.n

    def draw(self, generator: np.random.Generator) -> Iterator[Booleans]:
        """Go through the divisions, the observed one first."""
        observed = np.arange(self.n_source + self.n_target) < self.n_source
        yield observed
        if self.blocks is None:
            for _ in range(self.n_permutations):
                yield generator.permutation(observed)
            return
        blocks = self.blocks
        choices = _all(blocks) if self.is_exact else _some(blocks, self.n_permutations, generator)
        if blocks.joint:
            block = np.concatenate([blocks.source, blocks.target])
            yield from (observed ^ exchanged[block] for exchanged in choices)
        else:
            block = np.concatenate([blocks.source, blocks.n_source + blocks.target])
            yield from (in_source[block] for in_source in choices)


def _all(blocks: Blocks) -> Iterator[Booleans]:
    """All choices but the observed one: exchanged blocks, or groups in the source."""
    if blocks.joint:
        each = itertools.product((False, True), repeat=blocks.n)
        yield from (np.array(one) for one in itertools.islice(each, 1, None))
        return
    n_groups = blocks.n_source + blocks.n_target
    for chosen in itertools.islice(
        itertools.combinations(range(n_groups), blocks.n_source), 1, None
    ):
        in_source = np.zeros(n_groups, bool)
        in_source[list(chosen)] = True
        yield in_source


def _some(blocks: Blocks, n: int, generator: np.random.Generator) -> Iterator[Booleans]:
    """Random choices, like those of `_all`."""
    in_source = np.arange(blocks.n_source + blocks.n_target) < blocks.n_source
    for _ in range(n):
        if blocks.joint:
            yield generator.random(blocks.n) < 1 / 2
        else:
            yield generator.permutation(in_source)
