"""Which candidates of a pool are sampled: strata and their targets, and rounds without duplicates.

In each round, new images are searched for near duplicates, which later rounds replace.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.analyses.sampling import annotations
from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.files import readable, write_text


def histogram_targets(histogram: Sequence[int], total: int) -> list[int]:
    """Divide `total` images among bins in proportion to a histogram, by largest remainders."""
    n = sum(histogram)
    shares = [divmod(total * count, n) for count in histogram]
    targets = [whole for whole, _ in shares]
    order = sorted(range(len(shares)), key=lambda i: (shares[i][1], i), reverse=True)
    for i in order[: total - sum(targets)]:
        targets[i] += 1
    return targets


def keyword_targets(counts: Mapping[str, int], total: int, top: int = 50) -> dict[str, int]:
    """Divide `total` images of a class among its `top` most frequent keywords, in proportion."""
    leading = _most_frequent(counts, top)
    n = sum(number for _, number in leading)
    if n <= 0 or total < 0:
        problem = f"cannot divide {total} images among {len(counts)} keywords with {n} images"
        raise InputError(problem)
    shares = {name: total * number / n for name, number in leading}
    targets = {name: math.floor(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: targets[name] - shares[name])
    for name in by_remainder[: total - sum(targets.values())]:
        targets[name] += 1
    return {name: number for name, number in targets.items() if number}


def proportional_targets(counts: Mapping[str, int], divisor: int, top: int) -> dict[str, int]:
    """Allocate to each frequent keyword one image per `divisor` of its images, rounded up."""
    if divisor < 1:
        raise InputError(f"cannot allocate one image per {divisor}", remedy="Give at least 1")
    leading = _most_frequent(counts, top)
    return {name: -(-number // divisor) for name, number in leading if 0 < 2 * number >= divisor}


def _most_frequent(counts: Mapping[str, int], top: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]


BLACKLISTED, FEW_ANNOTATIONS, BELOW_THRESHOLD = "blacklisted", "few_annotations", "below_threshold"
NEAR_DUPLICATE = "near_duplicate"

# An image: the name of its set ("pool" for candidates), and its name in that set.
Image = tuple[str, str]
POOL = "pool"


@dataclass(frozen=True)
class PoolMetadata:
    """Selection frequencies, keywords, blacklist and near duplicates of the images of a pool."""

    frequencies: pd.DataFrame | None = None
    keywords: Mapping[str, Mapping[str, str]] | None = None  # by origin and image
    blacklist: Collection[str] = ()
    near_duplicates: Collection[tuple[Image, Image]] = ()


@dataclass(frozen=True)
class Candidate:
    """An image of the pool; `barred` is the reason, other than duplicates, why it is ineligible."""

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
    targets: Mapping[str, Mapping[str, int]]  # by class and stratum
    n_original: Mapping[str, Mapping[str, int]]  # images of the original set, likewise

    @property
    def by_name(self) -> dict[str, Candidate]:
        """All candidates by name, class by class."""
        return {c.name: c for candidates in self.candidates.values() for c in candidates}


def build_pool(
    images: Mapping[str, str], original: Mapping[str, str], classes: Sequence[str],
    settings: SamplingSettings, metadata: PoolMetadata,
) -> Pool:  # fmt: skip
    """Assign candidates to strata, say which are ineligible, and set the strata's targets.

    `images` and `original` are the classes of candidates and original images, by name.
    """
    frequencies, keywords = metadata.frequencies, metadata.keywords
    annotations.refuse_unknown(metadata.blacklist, images, "candidate", field="blacklist")
    annotations.refuse_unknown(settings.thresholds, classes, "class", field="thresholds")
    by_keyword = settings.strategy is Strategy.KEYWORDS
    by_bin = settings.strategy is Strategy.MATCHED_FREQUENCY
    if frequencies is None and not by_keyword:
        raise InputError("needs selection frequencies", field=settings.strategy.value)
    if by_keyword and keywords is None:
        raise InputError("needs keywords of the pool and the original set", field="keywords")
    counts = {} if frequencies is None else _annotation_counts(frequencies, images)
    candidates: dict[str, list[Candidate]] = {name: [] for name in classes}
    for image, group in images.items():
        n_annotations, n_selected = counts.get(image, (0, 0))
        stratum = ""
        if keywords is not None and by_keyword:
            stratum = keywords["pool"].get(image, "")
        elif by_bin:
            stratum = str(annotations.frequency_bins(n_selected, n_annotations, settings.bins))
        barred, frequency = "", n_selected / (n_annotations or 1)
        least = settings.thresholds.get(group, settings.threshold)
        if image in metadata.blacklist:
            barred = BLACKLISTED
        elif frequencies is not None and n_annotations < annotations.MIN_ANNOTATIONS:
            barred = FEW_ANNOTATIONS
        elif settings.strategy is Strategy.THRESHOLD and frequency < least:
            barred = BELOW_THRESHOLD
        candidates[group].append(
            Candidate(image, group, stratum, n_annotations, n_selected, barred)
        )
    n_original: dict[str, Counter[str]] = {name: Counter() for name in classes}
    targets = {name: {"": settings.per_class} for name in classes}
    if keywords is not None and by_keyword:
        for image, group in original.items():
            if image in keywords["original"]:
                n_original[group][keywords["original"][image]] += 1
        for name, counted in n_original.items():
            targets[name] = keyword_targets(counted, settings.per_class)
    elif frequencies is not None and by_bin:
        histograms = annotations.class_histograms(frequencies, original, classes, settings).tolist()
        for name, histogram in zip(classes, histograms, strict=True):
            n_original[name] = Counter({str(i): n for i, n in enumerate(histogram)})
            bin_targets = histogram_targets(histogram, settings.per_class)
            targets[name] = dict(zip(n_original[name], bin_targets, strict=True))
    return Pool(candidates, targets, n_original)


def _annotation_counts(
    frequencies: pd.DataFrame, images: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    """Return each candidate's numbers of annotations and of selections for its own class."""
    own = frequencies[frequencies["origin"] == "pool"]
    own = own[own["image"].map(images) == own["class"]]
    pairs = zip(own["n_annotations"].tolist(), own["n_selected"].tolist(), strict=True)
    return dict(zip(own["image"].tolist(), pairs, strict=True))


@dataclass(frozen=True)
class Draw:
    """The images drawn for a class, and how many are missing of each stratum."""

    taken: Mapping[str, str]  # stratum that each image fills
    missing: Mapping[str, int]  # only strata where some are


def draw_strata(
    candidates: Sequence[Candidate], targets: Mapping[str, int], previous: Collection[str],
    rng: random.Random, *, fill_upward: bool = False,
) -> Draw:  # fmt: skip
    """Draw the target number of candidates of each stratum at random, those in `previous` first."""
    free: dict[str, list[str]] = {stratum: [] for stratum in targets}
    for candidate in sorted(candidates, key=lambda c: c.name):
        if candidate.stratum in free:
            free[candidate.stratum].append(candidate.name)
    taken: dict[str, str] = {}

    def take(stratum: str, source: str, n: int) -> int:
        """Take up to n candidates of `source` to fill `stratum`; return how many are missing."""
        kept = [name for name in free[source] if name in previous]
        if len(kept) > n:
            chosen = rng.sample(kept, n)
        else:
            rest = [name for name in free[source] if name not in previous]
            chosen = kept + rng.sample(rest, min(n - len(kept), len(rest)))
        taken.update(dict.fromkeys(chosen, stratum))
        free[source] = [name for name in free[source] if name not in taken]
        return n - len(chosen)

    missing = {stratum: take(stratum, stratum, n) for stratum, n in targets.items()}
    if fill_upward:
        strata = list(targets)
        for stratum in reversed([stratum for stratum, n in missing.items() if n]):
            for higher in strata[strata.index(stratum) :]:
                missing[stratum] = take(stratum, higher, missing[stratum])
    return Draw(taken, {stratum: n for stratum, n in missing.items() if n})


def draw_best(candidates: Sequence[Candidate], n: int, previous: Collection[str] = ()) -> Draw:
    """Take the n candidates with the highest selection frequencies."""
    ranked = sorted(
        candidates,
        key=lambda c: (c.frequency, c.n_annotations, c.name in previous, c.name),
        reverse=True,
    )
    taken = {candidate.name: candidate.stratum for candidate in ranked[:n]}
    return Draw(taken, {"": n - len(taken)} if len(taken) < n else {})


# The survivor of a group has at least the first of these selection frequencies that any of the
# group's candidates reaches. Candidates that reach the highest count as good.
_LEVELS = (0.7, 0.6, 0.0)


def connected_components(edges: Iterable[tuple[Image, Image]]) -> list[list[Image]]:
    """Group images that are near duplicates of each other, directly or through others."""
    from scipy.cluster.hierarchy import DisjointSet

    pairs = list(edges)
    groups = DisjointSet(sorted({image for pair in pairs for image in pair}))
    for pair in pairs:
        groups.merge(*pair)
    return [sorted(group) for group in groups.subsets()]


def duplicates_to_leave_out(
    edges: Iterable[tuple[Image, Image]], candidates: Mapping[str, Candidate]
) -> dict[str, str]:
    """Return, for each candidate to leave out as a near duplicate, the image that it duplicates."""
    n_good = Counter(
        c.group
        for c in candidates.values()
        if c.frequency >= _LEVELS[0] and c.barred != BLACKLISTED
    )
    duplicates: dict[str, str] = {}
    for component in connected_components(edges):
        names = [name for origin, name in component if origin == POOL and name in candidates]
        other_images = [image for image in component if image[0] != POOL]
        if other_images:
            keeper = other_images[0]
        elif names:
            keeper = (POOL, _choose_survivor([candidates[name] for name in names], n_good))
        for name in names:
            if (POOL, name) != keeper:
                duplicates[name] = "/".join(keeper)
    return duplicates


def _choose_survivor(candidates: Sequence[Candidate], n_good: Mapping[str, int]) -> str:
    """Return which near duplicate to keep: the best, of a class with the fewest good candidates."""
    usable = [c for c in candidates if c.barred != BLACKLISTED] or candidates
    best = max(c.frequency for c in usable)
    level = next(level for level in _LEVELS if best >= level)
    # Where no candidate reaches a higher level than 0, only classes of the best ones count.
    groups = {c.group for c in usable if c.frequency >= (level or best)}
    group = min(groups, key=lambda name: (n_good.get(name, 0), name))
    return max((c.frequency, c.name) for c in usable if c.group == group)[1]


# Given the names of new candidates and of all sampled ones: the pairs of near duplicates that
# contain a new candidate.
Finder = Callable[[Sequence[str], Sequence[str]], Iterable[tuple[Image, Image]]]


@dataclass(frozen=True)
class Sampled:
    """A sample without near duplicates, and the rounds in which it was drawn."""

    drawn_for: dict[str, str]  # stratum that each image fills
    round_of: dict[str, int]  # in which each image was sampled; 0: an earlier version
    duplicates: dict[str, tuple[str, int]]  # by candidate: the image it duplicates, and the round
    rounds: list[dict[str, int]]  # numbers of new images, and of duplicates found among them


def sample_in_rounds(
    pool: Pool, settings: SamplingSettings, *, find: Finder | None = None,
    reviewed: Iterable[tuple[Image, Image]] = (), previous: Collection[str] = (),
) -> Sampled:  # fmt: skip
    """Sample in rounds that replace near duplicates, `reviewed` or found, until there are none."""
    edges, candidates = list(reviewed), pool.by_name
    duplicates = {name: (of, 0) for name, of in duplicates_to_leave_out(edges, candidates).items()}
    round_of = dict.fromkeys(previous, 0)
    searched: set[str] = set()
    rounds: list[dict[str, int]] = []
    while True:
        number = len(rounds) + 1
        drawn_for = _sample_once(pool, settings, duplicates, round_of, number)
        round_of = {name: round_of.get(name, number) for name in drawn_for}
        new = sorted(set(drawn_for) - searched)
        searched.update(new)
        if find is not None and new:
            edges.extend(find(new, sorted(drawn_for)))
        n_before = len(duplicates)
        for name, of in duplicates_to_leave_out(edges, candidates).items():
            duplicates.setdefault(name, (of, number))
        rounds.append({"n_new": len(new), "n_duplicates": len(duplicates) - n_before})
        if not duplicates.keys() & drawn_for.keys():
            return Sampled(drawn_for, round_of, duplicates, rounds)
        round_of = {name: r for name, r in round_of.items() if name not in duplicates}


def _sample_once(
    pool: Pool, settings: SamplingSettings, duplicates: Collection[str], previous: Collection[str],
    round_number: int,
) -> dict[str, str]:  # fmt: skip
    """Draw all classes once; return the stratum each image fills; raise if too few are left."""
    drawn_for: dict[str, str] = {}
    problems = ErrorCollector()
    fill_upward = settings.fill_upward and settings.strategy is Strategy.MATCHED_FREQUENCY
    for group, candidates in pool.candidates.items():
        eligible = [c for c in candidates if not c.barred and c.name not in duplicates]
        if settings.strategy is Strategy.TOP_IMAGES:
            draw = draw_best(eligible, settings.per_class, previous)
        else:
            # Of its own, so that no class depends on the draws of another.
            rng = random.Random(f"{settings.seed} {group} {round_number}")
            targets = pool.targets[group]
            draw = draw_strata(eligible, targets, previous, rng, fill_upward=fill_upward)
        drawn_for |= dict(sorted(draw.taken.items()))
        with problems.collected():
            if draw.missing:
                reasons = Counter(
                    c.barred or (NEAR_DUPLICATE if c.name in duplicates else "eligible")
                    for c in candidates
                )
                raise _too_few_candidates(settings, group, draw.missing, reasons)
    problems.raise_any()
    return drawn_for


_REMEDIES = {
    Strategy.MATCHED_FREQUENCY: "Give more candidates, or allow 'fill_upward'",
    Strategy.THRESHOLD: "Give more candidates, or lower the class's threshold in 'thresholds'",
    Strategy.KEYWORDS: "Give more candidates of these keywords",
    Strategy.TOP_IMAGES: "Give more candidates",
}


def _too_few_candidates(
    settings: SamplingSettings, group: str, missing: Mapping[str, int], reasons: Counter[str]
) -> InputError:
    """Build the error for a class of too few candidates, which says why others are ineligible."""
    strata = ", ".join(f"{n} of stratum {stratum}" for stratum, n in missing.items())
    where = "" if set(missing) == {""} else f" ({strata})"
    why = ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) or "there are none"
    return InputError(
        f"{sum(missing.values())} of {settings.per_class} images are missing{where}; "
        f"of {reasons.total()} candidates {why}",
        file=f"class '{group}'",
        remedy=f"{_REMEDIES[settings.strategy]}, or lower 'per_class'",
    )


def allocate(
    counts: Path, *, file: Path, per_class: int | None = None, one_per: int | None = None,
    top_keywords: int = 50,
) -> Mapping[str, Any]:  # fmt: skip
    """Divide each class's images among its keywords; write this as JSON, return the file's path.

    Parameters
    ----------
    counts : path-like
        JSON file with the number of images by class and keyword.
    file : path-like
        The allocation to write (.json).
    per_class : int
        Images to allocate per class.
    one_per : int
        Instead of a fixed total: one image per so many images of a keyword, rounded up.
    top_keywords : int
        Only so many keywords of a class, the most frequent ones.
    """
    if (per_class is None) == (one_per is None):
        raise InputError("give one of --per-class and --one-per")
    if top_keywords < 1:
        raise InputError(f"--top-keywords is {top_keywords}. Give at least 1")
    allocated = keyword_targets if one_per is None else proportional_targets
    number = int((per_class if one_per is None else one_per) or 0)
    what = "readable as JSON with image counts by class and keyword"
    with readable(counts, what, AttributeError, TypeError):
        targets = {
            name: allocated({k: int(n) for k, n in of.items()}, number, top_keywords)
            for name, of in json.loads(counts.read_text(encoding="utf-8")).items()
        }
    text = json.dumps(targets, indent=2, ensure_ascii=False)
    write_text(file, text + "\n")
    return {"written": [str(file)]}
