"""The pool: all candidates, what is known of each, and why some may not be sampled."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from matcheval.analyses.sampling.allocation import histogram_targets, keyword_targets
from matcheval.analyses.sampling.duplicates import Member
from matcheval.analyses.sampling.frequencies import class_histograms, frequency_bins
from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.analyses.sampling.strategies import Candidate
from matcheval.errors import InputError

BLACKLISTED, FEW_ANSWERS, BELOW_THRESHOLD = "blacklisted", "few_answers", "below_threshold"
NEAR_DUPLICATE = "near_duplicate"


@dataclass(frozen=True)
class Pool:
    """Candidates by class, and how many images of each stratum a class is to have.

    Attributes
    ----------
    candidates : mapping
        By class, all of them.
    barred : mapping
        Why a candidate may not be sampled, by name: the first reason that holds.
    targets : mapping
        By class, images by stratum in rising order.
    of_original : mapping
        By class, images of the original by stratum, where the targets are made of these.
    """

    candidates: Mapping[str, Sequence[Candidate]]
    barred: Mapping[str, str]
    targets: Mapping[str, Mapping[str, int]]
    of_original: Mapping[str, Mapping[str, int]]

    @property
    def members(self) -> dict[str, Member]:
        """All candidates by name, for the choice among near duplicates."""
        return {
            c.name: Member(group, c.frequency, self.barred.get(c.name) == BLACKLISTED)
            for group, candidates in self.candidates.items()
            for c in candidates
        }


def make_pool(
    images: Mapping[str, str],
    classes: Sequence[str],
    settings: SamplingSettings,
    *,
    frequencies: pd.DataFrame | None = None,
    original: Mapping[str, str] | None = None,
    keywords: Mapping[str, str] | None = None,
    original_keywords: Mapping[str, Mapping[str, int]] | None = None,
    blacklist: Collection[str] = (),
) -> Pool:
    """Gather what the samplers need.

    Parameters
    ----------
    images : mapping
        Class of every candidate, by name.
    classes : sequence of str
        Of the new test set.
    settings : SamplingSettings
    frequencies : pandas.DataFrame, optional
        Columns of `schemas.FREQUENCIES`; needed by all strategies but `keywords`.
    original : mapping, optional
        Class of every image of the original set, for `matched_frequency`.
    keywords, original_keywords : mapping, optional
        Keyword of every candidate; images of the original set by class and keyword; for
        `keywords`.
    blacklist : collection of str
        Candidates that may not be sampled.

    Raises
    ------
    InputError
        If what a strategy needs is missing, the blacklist or the thresholds name what there is
        not, or the original set has too few annotated images.
    """
    _refuse_unknown(blacklist, images, "blacklist", "candidate")
    _refuse_unknown(settings.thresholds, classes, "thresholds", "class")
    by_keyword = settings.strategy is Strategy.KEYWORDS
    if frequencies is None and not by_keyword:
        raise InputError("needs selection frequencies", field=settings.strategy.value)
    if by_keyword and (keywords is None or original_keywords is None):
        raise InputError("needs keywords of pool and original set", field="keywords")
    counts = _counts(frequencies, images)
    candidates: dict[str, list[Candidate]] = {name: [] for name in classes}
    for image, group in images.items():
        n_answers, n_selected = counts.get(image, (0, 0))
        if by_keyword:
            stratum = (keywords or {}).get(image, "")
        elif settings.strategy is Strategy.MATCHED_FREQUENCY:
            stratum = f"{int(frequency_bins(n_selected, n_answers, settings.bins))}"
        else:
            stratum = ""
        candidates[group].append(Candidate(image, stratum, n_answers, n_selected))
    barred = {
        c.name: reason
        for group, of_class in candidates.items()
        for c in of_class
        if (reason := _reason(c, group, settings, blacklist))
    }
    of_original: Mapping[str, Mapping[str, int]] = {}
    if by_keyword:
        of_original = original_keywords or {}
    elif settings.strategy is Strategy.MATCHED_FREQUENCY:
        of_original = _histograms(classes, settings, frequencies, original)
    return Pool(candidates, barred, _targets(classes, settings, of_original), of_original)


def _reason(
    candidate: Candidate, group: str, settings: SamplingSettings, blacklist: Collection[str]
) -> str:
    """Why a candidate may not be sampled, before near duplicates are looked for."""
    if candidate.name in blacklist:
        return BLACKLISTED
    if candidate.n_answers < settings.min_answers:
        return FEW_ANSWERS
    if settings.strategy is Strategy.THRESHOLD:
        least = settings.thresholds.get(group, settings.threshold)
        if candidate.frequency < Fraction(str(least)):  # as it is written, not as it is stored
            return BELOW_THRESHOLD
    return ""


def _histograms(
    classes: Sequence[str],
    settings: SamplingSettings,
    frequencies: pd.DataFrame | None,
    original: Mapping[str, str] | None,
) -> dict[str, dict[str, int]]:
    """Images of the original by class and frequency bin."""
    if original is None or frequencies is None:
        raise InputError("needs an annotated original set", field=settings.strategy.value)
    histograms = class_histograms(
        frequencies,
        original,
        classes,
        bins=settings.bins,
        min_answers=settings.min_answers,
        min_images=settings.min_original,
    )
    return {
        name: {f"{i}": int(n) for i, n in enumerate(row)}
        for name, row in zip(classes, histograms, strict=True)
    }


def _targets(
    classes: Sequence[str],
    settings: SamplingSettings,
    of_original: Mapping[str, Mapping[str, int]],
) -> dict[str, dict[str, int]]:
    """Images wanted by class and stratum."""
    targets: dict[str, dict[str, int]] = {}
    for name in classes:
        if settings.strategy is Strategy.KEYWORDS:
            counts = of_original.get(name, {})
            targets[name] = keyword_targets(counts, settings.per_class, settings.top_keywords)
        elif settings.strategy is Strategy.MATCHED_FREQUENCY:
            bins = of_original[name]
            wanted = histogram_targets(list(bins.values()), settings.per_class)
            targets[name] = dict(zip(bins, wanted, strict=True))
        else:
            targets[name] = {"": settings.per_class}
    return targets


def _counts(
    frequencies: pd.DataFrame | None, images: Mapping[str, str]
) -> dict[str, tuple[int, int]]:  # fmt: skip
    """Answers and selections of each candidate under its class."""
    if frequencies is None:
        return {}
    own = frequencies[frequencies["origin"] == "pool"]
    own = own[own["image"].map(images) == own["class"]]
    pairs = zip(own["n_answers"].tolist(), own["n_selected"].tolist(), strict=True)
    return dict(zip(own["image"].tolist(), pairs, strict=True))


def _refuse_unknown(
    names: Collection[str], known: Collection[str], field: str, what: str
) -> None:  # fmt: skip
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise InputError(
            f"'{unknown[0]}' is no {what}" + f" (nor {len(unknown) - 1} more)" * (len(unknown) > 1),
            field=field,
        )
