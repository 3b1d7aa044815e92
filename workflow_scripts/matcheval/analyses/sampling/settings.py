"""How a test set is sampled from a pool: what people choose. Light to import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Strategy(StrEnum):
    """Which of the eligible candidates make up a class."""

    MATCHED_FREQUENCY = "matched_frequency"
    THRESHOLD = "threshold"
    TOP_IMAGES = "top_images"
    KEYWORDS = "keywords"


@dataclass(frozen=True)
class SamplingSettings:
    """How a test set is sampled.

    Attributes
    ----------
    strategy : Strategy
    per_class : int
        Images of each class: the new set is exactly balanced.
    seed : int
    min_answers : int
        Answers that a candidate must have; 0 where nobody was asked (keywords).
    threshold : float
        Least selection frequency, for `threshold`.
    thresholds : mapping
        The same for single classes, by name.
    bins, min_original : int
        Of the original set's histograms: bins; images that a class must have.
    fill_upward : bool
        Whether a short frequency bin may be filled from the next higher one that has images.
    top_keywords : int
        How many keywords of a class take part, for `keywords`.
    max_distance : float, optional
        Candidates within this ℓ2 distance (pixel values) of an image of the reference sets, or of
        another sampled image, are near duplicates. None: pixels are not compared.
    min_ssim : float, optional
        So are, among the nearest by ℓ2, those with at least this structural similarity.
    neighbours : int
        How many of the nearest `min_ssim` looks at.
    compare_size : int, optional
        Side of the squares that images are brought to before they are compared: needed for image
        files, which have sizes of their own.
    """

    strategy: Strategy
    per_class: int
    seed: int = 0
    min_answers: int = 10
    threshold: float = 0.7
    thresholds: Mapping[str, float] = field(default_factory=dict)
    bins: int = 5
    min_original: int = 20
    fill_upward: bool = False
    top_keywords: int = 50
    max_distance: float | None = None
    min_ssim: float | None = None
    neighbours: int = 10
    compare_size: int | None = None

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> "SamplingSettings":
        """Read what the configuration's schema, or the command line, has passed."""
        return cls(**{**given, "strategy": Strategy(given["strategy"])})


@dataclass(frozen=True)
class PoolSettings:
    """A pool as a study has it: candidates, and files that say what is known of them.

    Attributes
    ----------
    name : str
    candidates, original : str
        Names of datasets: the pool, and the set that is replicated.
    against : tuple of str
        Further datasets that nothing sampled may be in.
    answers, keywords, blacklist, near_duplicates : str, optional
        The user's own files.
    simulate : mapping, optional
        Instead of answers: options of `running.simulate_to_file`.
    repeated : str
        What becomes of second answers: `refuse` or `first`.
    """

    name: str
    candidates: str
    original: str
    against: tuple[str, ...] = ()
    answers: str | None = None
    keywords: str | None = None
    blacklist: str | None = None
    near_duplicates: str | None = None
    simulate: Mapping[str, int] | None = None
    repeated: str = "refuse"

    @classmethod
    def from_mapping(cls, name: str, given: Mapping[str, Any]) -> "PoolSettings":
        """Read what the configuration's schema has passed."""
        return cls(name=name, **{**given, "against": tuple(given.get("against", ()))})

    @property
    def has_answers(self) -> bool:
        """Whether there are answers, given or simulated."""
        return self.answers is not None or self.simulate is not None

    @property
    def sets(self) -> list[str]:
        """Names of all datasets, each once."""
        return list(dict.fromkeys((self.candidates, self.original, *self.against)))

    @property
    def own_files(self) -> dict[str, str]:
        """The user's own files that sampling reads, by option; answers are counted before."""
        files = {key: getattr(self, key) for key in ("keywords", "blacklist", "near_duplicates")}
        return {key: path for key, path in files.items() if path is not None}
