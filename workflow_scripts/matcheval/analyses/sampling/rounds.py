"""Sampling in rounds: sample, search new images for near duplicates, replace these, repeat."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from matcheval.analyses.sampling import pool as pools
from matcheval.analyses.sampling.pool import POOL, Candidate, Image, Pool
from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.errors import ErrorCollector, InputError


@dataclass(frozen=True)
class Draw:
    """The images sampled for a class: the stratum that each fills; and how many are missing."""

    taken: Mapping[str, str]
    missing: Mapping[str, int]


def draw_strata(
    candidates: Sequence[Candidate],
    targets: Mapping[str, int],
    previous: Collection[str],
    rng: random.Random,
    *,
    fill_upward: bool = False,
) -> Draw:
    """Sample candidates of every stratum at random, those of the round before first."""
    free: dict[str, list[str]] = {stratum: [] for stratum in targets}
    for candidate in sorted(candidates, key=lambda c: c.name):
        if candidate.stratum in free:
            free[candidate.stratum].append(candidate.name)
    taken: dict[str, str] = {}

    def take(stratum: str, source: str, n: int) -> int:
        """Take up to n candidates of one stratum for another; return how many are missing."""
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
    """Take the candidates with the highest selection frequencies."""
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


def duplicates_among(
    edges: Iterable[tuple[Image, Image]], candidates: Mapping[str, Candidate]
) -> dict[str, str]:
    """Decide which candidates must not be sampled because they are near duplicates, of what."""
    good = Counter(
        c.group
        for c in candidates.values()
        if c.frequency >= _LEVELS[0] and c.barred != pools.BLACKLISTED
    )
    found: dict[str, str] = {}
    for component in connected_components(edges):
        inside = [name for origin, name in component if origin == POOL and name in candidates]
        outside = [image for image in component if image[0] != POOL]
        if outside:
            keeper = outside[0]
        elif inside:
            keeper = (POOL, _survivor([candidates[name] for name in inside], good))
        for name in inside:
            if (POOL, name) != keeper:
                found[name] = "/".join(keeper)
    return found


def _survivor(candidates: Sequence[Candidate], good: Mapping[str, int]) -> str:
    """Choose the candidate of a group of near duplicates that is kept."""
    usable = [c for c in candidates if c.barred != pools.BLACKLISTED] or candidates
    best = max(c.frequency for c in usable)
    level = next(level for level in _LEVELS if best >= level)
    # Where no candidate reaches a higher level than 0, only classes of the best ones count.
    groups = {c.group for c in usable if c.frequency >= (level or best)}
    group = min(groups, key=lambda name: (good.get(name, 0), name))
    return max((c.frequency, c.name) for c in usable if c.group == group)[1]


# Given the names of new candidates and of all sampled ones: the pairs of near duplicates that
# contain a new candidate.
Finder = Callable[[Sequence[str], Sequence[str]], Iterable[tuple[Image, Image]]]


@dataclass(frozen=True)
class Round:
    """The counts of one round of sampling."""

    n_new: int
    n_duplicates: int


@dataclass(frozen=True)
class Sampled:
    """A sample without near duplicates."""

    drawn_for: dict[str, str]
    came_in: dict[str, int]
    duplicates: dict[str, tuple[str, int]]
    rounds: list[Round]


def sample_in_rounds(
    pool: Pool,
    settings: SamplingSettings,
    *,
    find: Finder | None = None,
    given: Iterable[tuple[Image, Image]] = (),
    previous: Collection[str] = (),
) -> Sampled:
    """Sample until no sampled image is a near duplicate, by those `given` and those found."""
    edges, candidates = list(given), pool.by_name
    duplicates = {name: (of, 0) for name, of in duplicates_among(edges, candidates).items()}
    came_in = dict.fromkeys(previous, 0)
    searched: set[str] = set()
    rounds: list[Round] = []
    while True:
        number = len(rounds) + 1
        drawn_for = _sample(pool, settings, duplicates, came_in, number)
        came_in = {name: came_in.get(name, number) for name in drawn_for}
        new = sorted(set(drawn_for) - searched)
        searched.update(new)
        if find is not None and new:
            edges.extend(find(new, sorted(drawn_for)))
        found = duplicates_among(edges, candidates)
        fresh = {name: (of, number) for name, of in found.items() if name not in duplicates}
        duplicates |= fresh
        rounds.append(Round(len(new), len(fresh)))
        if not duplicates.keys() & drawn_for.keys():
            return Sampled(drawn_for, came_in, duplicates, rounds)
        came_in = {name: r for name, r in came_in.items() if name not in duplicates}


def _sample(
    pool: Pool,
    settings: SamplingSettings,
    duplicates: Collection[str],
    previous: Collection[str],
    number: int,
) -> dict[str, str]:
    """Sample all classes once, each with its own random generator."""
    drawn_for: dict[str, str] = {}
    problems = ErrorCollector()
    fill_upward = settings.fill_upward and settings.strategy is Strategy.MATCHED_FREQUENCY
    for group, candidates in pool.candidates.items():
        eligible = [c for c in candidates if not c.barred and c.name not in duplicates]
        if settings.strategy is Strategy.TOP_IMAGES:
            draw = draw_best(eligible, settings.per_class, previous)
        else:
            rng = random.Random(f"{settings.seed} {group} {number}")
            draw = draw_strata(
                eligible, pool.targets[group], previous, rng, fill_upward=fill_upward
            )
        drawn_for |= dict(sorted(draw.taken.items()))
        with problems.collected():
            if draw.missing:
                reasons = Counter(
                    c.barred or (pools.NEAR_DUPLICATE if c.name in duplicates else "eligible")
                    for c in candidates
                )
                raise _missing_error(settings, group, draw.missing, reasons)
    problems.raise_any()
    return drawn_for


_REMEDIES = {
    Strategy.MATCHED_FREQUENCY: "Give more candidates, or allow 'fill_upward'",
    Strategy.THRESHOLD: "Give more candidates, or lower the class's threshold in 'thresholds'",
    Strategy.KEYWORDS: "Give more candidates of these keywords",
    Strategy.TOP_IMAGES: "Give more candidates",
}


def _missing_error(
    settings: SamplingSettings, group: str, missing: Mapping[str, int], reasons: Counter[str]
) -> InputError:
    """The error for a class with too few candidates, which says why the others are not eligible."""
    strata = ", ".join(f"{n} of stratum {stratum}" for stratum, n in missing.items())
    where = "" if set(missing) == {""} else f" ({strata})"
    why = ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) or "there are none"
    return InputError(
        f"{sum(missing.values())} of {settings.per_class} images are missing{where}; "
        f"of {reasons.total()} candidates {why}",
        file=f"class '{group}'",
        remedy=f"{_REMEDIES[settings.strategy]}, or lower 'per_class'",
    )
