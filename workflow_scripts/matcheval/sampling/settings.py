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

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> "SamplingSettings":
        """Read what the configuration's schema, or the command line, has passed."""
        return cls(**{**given, "strategy": Strategy(given["strategy"])})
