"""The pool: all candidates, the targets of each stratum, and which candidates are ineligible."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from matcheval.analyses.sampling.annotations import (
    MIN_ANNOTATIONS,
    class_histograms,
    frequency_bins,
    refuse_unknown,
)
from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.errors import InputError


def histogram_targets(histogram: Sequence[int], total: int) -> list[int]:
    """Divide a number of images in proportion to a histogram."""
    n = sum(histogram)
    shares = [divmod(total * count, n) for count in histogram]
    targets = [whole for whole, _ in shares]
    order = sorted(range(len(shares)), key=lambda i: (shares[i][1], i), reverse=True)
    for i in order[: total - sum(targets)]:
        targets[i] += 1
    return targets


def keyword_targets(counts: Mapping[str, int], total: int, top: int = 50) -> dict[str, int]:
    """Divide the images of a class among its most frequent keywords."""
    leading = _leading(counts, top)
    n = sum(number for _, number in leading)
    if n <= 0 or total < 0:
        raise InputError(
            f"cannot divide {total} images among {len(counts)} keywords with {n} images"
        )
    shares = {name: total * number / n for name, number in leading}
    targets = {name: math.floor(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: targets[name] - shares[name])
    for name in by_remainder[: total - sum(targets.values())]:
        targets[name] += 1
    return {name: number for name, number in targets.items() if number}


def proportional_targets(counts: Mapping[str, int], divisor: int, top: int) -> dict[str, int]:
    """Allocate one image per `divisor` images of the original set to each frequent keyword."""
    if divisor < 1:
        raise InputError(f"cannot allocate one image per {divisor}", remedy="Give at least 1")
    leading = _leading(counts, top)
    return {name: -(-number // divisor) for name, number in leading if 0 < 2 * number >= divisor}


def _leading(counts: Mapping[str, int], top: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]


BLACKLISTED, FEW_ANNOTATIONS, BELOW_THRESHOLD = "blacklisted", "few_annotations", "below_threshold"
NEAR_DUPLICATE = "near_duplicate"

# An image: the name of its set ("pool" for candidates), and its name in that set.
Image = tuple[str, str]
POOL = "pool"


@dataclass(frozen=True)
class PoolMetadata:
    """What is known about the candidates and the images of the original set."""

    frequencies: pd.DataFrame | None = None
    keywords: Mapping[str, Mapping[str, str]] | None = None  # by origin and image
    blacklist: Collection[str] = ()
    near_duplicates: Collection[tuple[Image, Image]] = ()


@dataclass(frozen=True)
class Candidate:
    """An image of the pool; `barred` says why it is ineligible, near duplicates aside."""

    name: str
    group: str
    stratum: str = ""
    n_annotations: int = 0
    n_selected: int = 0
    barred: str = ""

    @property
    def frequency(self) -> float:
        """The selection frequency; 0 without annotations."""
        return self.n_selected / (self.n_annotations or 1)


@dataclass(frozen=True)
class Pool:
    """The candidates of each class, and how many images of each stratum to sample."""

    candidates: Mapping[str, Sequence[Candidate]]
    targets: Mapping[str, Mapping[str, int]]
    of_original: Mapping[str, Mapping[str, int]]

    @property
    def by_name(self) -> dict[str, Candidate]:
        """All candidates, class by class."""
        return {c.name: c for of_class in self.candidates.values() for c in of_class}


def build_pool(
    images: Mapping[str, str],
    original: Mapping[str, str],
    classes: Sequence[str],
    settings: SamplingSettings,
    metadata: PoolMetadata,
) -> Pool:
    """Build the pool that a strategy samples from; `images` and `original` give classes by name."""
    frequencies, keywords = metadata.frequencies, metadata.keywords
    refuse_unknown(metadata.blacklist, images, "candidate", field="blacklist")
    refuse_unknown(settings.thresholds, classes, "class", field="thresholds")
    by_keyword = settings.strategy is Strategy.KEYWORDS
    by_bin = settings.strategy is Strategy.MATCHED_FREQUENCY
    if frequencies is None and not by_keyword:
        raise InputError("needs selection frequencies", field=settings.strategy.value)
    if by_keyword and keywords is None:
        raise InputError("needs keywords of the pool and the original set", field="keywords")
    counts = {} if frequencies is None else _counts(frequencies, images)
    candidates: dict[str, list[Candidate]] = {name: [] for name in classes}
    for image, group in images.items():
        n_annotations, n_selected = counts.get(image, (0, 0))
        stratum = ""
        if keywords is not None and by_keyword:
            stratum = keywords["pool"].get(image, "")
        elif by_bin:
            stratum = str(frequency_bins(n_selected, n_annotations, settings.bins))
        barred, frequency = "", n_selected / (n_annotations or 1)
        least = settings.thresholds.get(group, settings.threshold)
        if image in metadata.blacklist:
            barred = BLACKLISTED
        elif frequencies is not None and n_annotations < MIN_ANNOTATIONS:
            barred = FEW_ANNOTATIONS
        elif settings.strategy is Strategy.THRESHOLD and frequency < least:
            barred = BELOW_THRESHOLD
        candidates[group].append(
            Candidate(image, group, stratum, n_annotations, n_selected, barred)
        )
    of_original: dict[str, Counter[str]] = {name: Counter() for name in classes}
    targets = {name: {"": settings.per_class} for name in classes}
    if keywords is not None and by_keyword:
        for image, group in original.items():
            if image in keywords["original"]:
                of_original[group][keywords["original"][image]] += 1
        for name, counted in of_original.items():
            targets[name] = keyword_targets(counted, settings.per_class)
    elif frequencies is not None and by_bin:
        histograms = class_histograms(frequencies, original, classes, settings).tolist()
        for name, histogram in zip(classes, histograms, strict=True):
            of_original[name] = Counter({str(i): n for i, n in enumerate(histogram)})
            wanted = histogram_targets(histogram, settings.per_class)
            targets[name] = dict(zip(of_original[name], wanted, strict=True))
    return Pool(candidates, targets, of_original)


def _counts(frequencies: pd.DataFrame, images: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """The number of annotations and of selections of each candidate for its class."""
    own = frequencies[frequencies["origin"] == "pool"]
    own = own[own["image"].map(images) == own["class"]]
    pairs = zip(own["n_annotations"].tolist(), own["n_selected"].tolist(), strict=True)
    return dict(zip(own["image"].tolist(), pairs, strict=True))
