"""The search for near duplicates, by pixels, of the images that a round of sampling added."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from matcheval.analyses.near_duplicates.distances import Pixels, nearest_neighbours, pairs_within
from matcheval.analyses.near_duplicates.images import LabelledPixels
from matcheval.analyses.near_duplicates.ssim import structural_similarity
from matcheval.analyses.sampling.duplicates import POOL, Image
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.errors import InputError


class PixelFinder:
    """Compare new candidates with the reference sets and with the other sampled candidates."""

    def __init__(
        self,
        candidates: LabelledPixels,
        references: Sequence[LabelledPixels],
        settings: SamplingSettings,
    ) -> None:
        for reference in references:
            if reference.max_value != candidates.max_value:
                raise InputError(
                    f"images with pixel values up to {reference.max_value} cannot be compared "
                    f"with images with values up to {candidates.max_value}",
                    file=f"{candidates.name}, {reference.name}",
                )
        self._candidates = candidates
        self._references = references
        self._settings = settings
        self._row = {name: i for i, name in enumerate(candidates.names)}

    def __call__(
        self, new: Collection[str], chosen: Collection[str]
    ) -> Iterator[tuple[Image, Image]]:
        """Find the near duplicates of new candidates."""
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
            # One more where the queries are references too: each is its own nearest neighbour.
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
