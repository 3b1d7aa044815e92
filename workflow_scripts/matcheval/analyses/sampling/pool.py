"""The pool: all candidates, the targets of each stratum, and which candidates are ineligible."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from matcheval.analyses.sampling.annotations import class_histograms, frequency_bins, refuse_unknown
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
    targets = {
        name: 0 if 2 * number < divisor else -(-number // divisor)
        for name, number in _leading(counts, top)
    }
    return {name: number for name, number in targets.items() if number}


def _leading(counts: Mapping[str, int], top: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]


BLACKLISTED, FEW_ANNOTATIONS, BELOW_THRESHOLD = "blacklisted", "few_annotations", "below_threshold"
NEAR_DUPLICATE = "near_duplicate"


@dataclass(frozen=True)
class Candidate:
    """An image of the pool."""

    name: str
    stratum: str = ""
    n_annotations: int = 0
    n_selected: int = 0

    @property
    def frequency(self) -> Fraction:
        """The exact selection frequency; 0 without annotations."""
        return Fraction(self.n_selected, self.n_annotations) if self.n_annotations else Fraction(0)


@dataclass(frozen=True)
class Pool:
    """The candidates of each class, and how many images of each stratum to sample."""

    candidates: Mapping[str, Sequence[Candidate]]
    barred: Mapping[str, str]
    targets: Mapping[str, Mapping[str, int]]
    of_original: Mapping[str, Mapping[str, int]]


def build_pool(
    images: Mapping[str, str],
    classes: Sequence[str],
    settings: SamplingSettings,
    *,
    original: Mapping[str, str],
    frequencies: pd.DataFrame | None = None,
    keywords: Mapping[str, str] | None = None,
    original_keywords: Mapping[str, Mapping[str, int]] | None = None,
    blacklist: Collection[str] = (),
) -> Pool:
    """Build the pool that a strategy samples from; `images` and `original` give classes by name."""
    refuse_unknown(blacklist, images, "candidate", field="blacklist")
    refuse_unknown(settings.thresholds, classes, "class", field="thresholds")
    by_keyword = settings.strategy is Strategy.KEYWORDS
    by_bin = settings.strategy is Strategy.MATCHED_FREQUENCY
    if frequencies is None and not by_keyword:
        raise InputError("needs selection frequencies", field=settings.strategy.value)
    if by_keyword and (keywords is None or original_keywords is None):
        raise InputError("needs keywords of the pool and the original set", field="keywords")
    counts = {} if frequencies is None else _counts(frequencies, images)
    candidates: dict[str, list[Candidate]] = {name: [] for name in classes}
    barred: dict[str, str] = {}
    for image, group in images.items():
        n_annotations, n_selected = counts.get(image, (0, 0))
        stratum = ""
        if by_keyword:
            stratum = (keywords or {}).get(image, "")
        elif by_bin:
            stratum = str(frequency_bins(n_selected, n_annotations, settings.bins))
        candidate = Candidate(image, stratum, n_annotations, n_selected)
        candidates[group].append(candidate)
        if reason := _reason(candidate, group, settings, blacklist):
            barred[image] = reason
    of_original: Mapping[str, Mapping[str, int]] = {}
    if by_keyword:
        of_original = original_keywords or {}
    elif by_bin and frequencies is not None:
        histograms = class_histograms(
            frequencies, original, classes, bins=settings.bins,
            min_annotations=settings.min_annotations, min_images=settings.min_original,
        )  # fmt: skip
        of_original = {
            name: {str(i): int(n) for i, n in enumerate(row)}
            for name, row in zip(classes, histograms, strict=True)
        }
    targets = {name: _targets(of_original.get(name, {}), settings) for name in classes}
    return Pool(candidates, barred, targets, of_original)


def _counts(frequencies: pd.DataFrame, images: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """The number of annotations and of selections of each candidate for its class."""
    own = frequencies[frequencies["origin"] == "pool"]
    own = own[own["image"].map(images) == own["class"]]
    pairs = zip(own["n_annotations"].tolist(), own["n_selected"].tolist(), strict=True)
    return dict(zip(own["image"].tolist(), pairs, strict=True))


def _reason(
    candidate: Candidate, group: str, settings: SamplingSettings, blacklist: Collection[str]
) -> str:
    """Give the reason why a candidate is ineligible, near duplicates aside; empty if it is not."""
    if candidate.name in blacklist:
        return BLACKLISTED
    if candidate.n_annotations < settings.min_annotations:
        return FEW_ANNOTATIONS
    if settings.strategy is Strategy.THRESHOLD:
        least = settings.thresholds.get(group, settings.threshold)
        if candidate.frequency < Fraction(str(least)):  # the decimal number, not its binary value
            return BELOW_THRESHOLD
    return ""


def _targets(of_original: Mapping[str, int], settings: SamplingSettings) -> dict[str, int]:
    """The number of images to sample from each stratum of a class."""
    if settings.strategy is Strategy.KEYWORDS:
        return keyword_targets(of_original, settings.per_class, settings.top_keywords)
    if settings.strategy is Strategy.MATCHED_FREQUENCY:
        wanted = histogram_targets(list(of_original.values()), settings.per_class)
        return dict(zip(of_original, wanted, strict=True))
    return {"": settings.per_class}
