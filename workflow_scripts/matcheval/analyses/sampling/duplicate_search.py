"""Near duplicates by pixels, of the images that a round brought in."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from matcheval.analyses.near_duplicates.distances import Pixels, nearest_neighbours, pairs_within
from matcheval.analyses.near_duplicates.images import LabelledPixels
from matcheval.analyses.near_duplicates.ssim import structural_similarity
from matcheval.analyses.sampling.duplicates import POOL, Image
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.errors import InputError


class PixelFinder:
    """Compares new candidates with the reference sets and with what else is sampled.

    Parameters
    ----------
    candidates : LabelledPixels
        The pool.
    references : sequence of LabelledPixels
        The sets that nothing sampled may be in: original, training, ...
    settings : SamplingSettings
        `max_distance` and `min_ssim`, at least one of them given.

    Raises
    ------
    InputError
        If a set has another pixel range than the pool.
    """

    def __init__(
        self,
        candidates: LabelledPixels,
        references: Sequence[LabelledPixels],
        settings: SamplingSettings,
    ) -> None:
        for reference in references:
            if reference.max_value != candidates.max_value:
                raise InputError(
                    f"pixels to {reference.max_value} are not compared with pixels to "
                    f"{candidates.max_value}",
                    file=f"{candidates.name}, {reference.name}",
                )
        self._candidates = candidates
        self._references = references
        self._settings = settings
        self._row = {name: i for i, name in enumerate(candidates.names)}

    def __call__(
        self, new: Collection[str], chosen: Collection[str]
    ) -> Iterator[tuple[Image, Image]]:
        """Yield the pairs of near duplicates that new candidates are in."""
        new, chosen = list(new), list(chosen)
        images = self._pixels(new)
        for reference in self._references:
            for i, j in self._pairs(images, reference.pixels):
                yield (POOL, new[i]), (reference.name, reference.names[j])
        for i, j in self._pairs(images, self._pixels(chosen), among_themselves=True):
            if new[i] != chosen[j]:
                yield (POOL, new[i]), (POOL, chosen[j])

    def _pixels(self, names: Sequence[str]) -> Pixels:
        return self._candidates.pixels[[self._row[name] for name in names]]

    def _pairs(
        self, queries: Pixels, references: Pixels, *, among_themselves: bool = False
    ) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        if self._settings.max_distance is not None:
            close = pairs_within(queries, references, self._settings.max_distance)
            found |= {(i, j) for i, j, _ in close}
        if self._settings.min_ssim is not None and len(references):
            # One more where every image is its own nearest.
            k = min(self._settings.neighbours + among_themselves, len(references))
            index = nearest_neighbours(queries, references, k).index
            rows = np.repeat(np.arange(len(queries)), k)
            similarity = structural_similarity(
                queries[rows], references[index.ravel()], self._candidates.max_value
            )
            close_by = similarity >= self._settings.min_ssim
            pairs = zip(rows[close_by], index.ravel()[close_by], strict=True)
            found |= {(int(i), int(j)) for i, j in pairs}
        return found
