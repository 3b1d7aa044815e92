"""Sampling in rounds: sample, search new images for near duplicates, replace these, repeat."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from matcheval.analyses.sampling.pool import BLACKLISTED, NEAR_DUPLICATE, Candidate, Pool
from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.errors import ErrorCollector, InputError


@dataclass(frozen=True)
class Draw:
    """The images sampled for a class."""

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
    """Sample a given number of candidates of every stratum at random."""
    free: dict[str, list[str]] = {stratum: [] for stratum in targets}
    for candidate in sorted(candidates, key=lambda c: c.name):
        if candidate.stratum in free:
            free[candidate.stratum].append(candidate.name)
    taken: dict[str, str] = {}

    def take(stratum: str, source: str, n: int) -> int:
        """Take up to n candidates of one stratum for another; return how many are missing."""
        for name in _pick(free[source], n, previous, rng):
            taken[name] = stratum
            free[source].remove(name)
            n -= 1
        return n

    missing = {stratum: take(stratum, stratum, n) for stratum, n in targets.items()}
    if fill_upward:
        strata = list(targets)
        for stratum in reversed([stratum for stratum, n in missing.items() if n]):
            for higher in strata[strata.index(stratum) :]:
                missing[stratum] = take(stratum, higher, missing[stratum])
    return Draw(taken, {stratum: n for stratum, n in missing.items() if n})


def draw_best(
    candidates: Sequence[Candidate], n: int, previous: Collection[str] = ()
) -> Draw:  # fmt: skip
    """Take the candidates with the highest selection frequencies."""
    ranked = sorted(
        candidates,
        key=lambda c: (c.frequency, c.n_annotations, c.name in previous, c.name),
        reverse=True,
    )
    taken = {candidate.name: candidate.stratum for candidate in ranked[:n]}
    return Draw(taken, {"": n - len(taken)} if len(taken) < n else {})


def _pick(
    names: Sequence[str], n: int, previous: Collection[str], rng: random.Random
) -> list[str]:  # fmt: skip
    """Pick up to n names without replacement, those of the round before first."""
    kept = [name for name in names if name in previous]
    if len(kept) > n:
        return rng.sample(kept, n)
    rest = [name for name in names if name not in previous]
    return kept + rng.sample(rest, min(n - len(kept), len(rest)))


# The survivor of a group has at least the first of these selection frequencies that any of the
# group's candidates reaches. Candidates that reach the highest count as good.
_LEVELS = (Fraction(7, 10), Fraction(6, 10), Fraction(0))

# An image: the name of its set ("pool" for candidates), and its name in that set.
Image = tuple[str, str]
POOL = "pool"


@dataclass(frozen=True)
class Member:
    """The properties of a candidate that decide which of several near duplicates is kept."""

    group: str
    frequency: Fraction
    blacklisted: bool = False


def connected_components(edges: Iterable[tuple[Image, Image]]) -> list[list[Image]]:
    """Group images that are near duplicates of each other, directly or through others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components as components

    pairs = list(edges)
    nodes = sorted({image for pair in pairs for image in pair})
    if not nodes:
        return []
    number = {image: i for i, image in enumerate(nodes)}
    ends = np.array([[number[a], number[b]] for a, b in pairs])
    graph = coo_array((np.ones(len(pairs)), ends.T), shape=(len(nodes), len(nodes)))
    _, labels = components(graph, directed=False)
    groups: dict[int, list[Image]] = {}
    for node, label in zip(nodes, labels, strict=True):
        groups.setdefault(int(label), []).append(node)
    return list(groups.values())


def duplicates_among(
    edges: Iterable[tuple[Image, Image]], members: Mapping[str, Member]
) -> dict[str, str]:
    """Decide which candidates must not be sampled because they are near duplicates."""
    good: dict[str, int] = {}
    for member in members.values():
        is_good = member.frequency >= _LEVELS[0] and not member.blacklisted
        good[member.group] = good.get(member.group, 0) + is_good
    found: dict[str, str] = {}
    for component in connected_components(edges):
        inside = [name for origin, name in component if origin == POOL and name in members]
        outside = [image for image in component if image[0] != POOL]
        if outside:
            keeper = outside[0]
        elif inside:
            keeper = (POOL, _survivor(inside, members, good))
        for name in inside:
            if (POOL, name) != keeper:
                found[name] = "/".join(keeper)
    return found


def _survivor(
    names: Iterable[str], members: Mapping[str, Member], good: Mapping[str, int]
) -> str:  # fmt: skip
    """Choose the candidate of a group that is kept."""
    names = list(names)
    usable = [name for name in names if not members[name].blacklisted] or names
    for level in _LEVELS:
        groups = {members[name].group for name in usable if members[name].frequency >= level}
        if groups:
            break
    if level == 0:  # No candidate reaches a higher level: keep to the classes of the best ones.
        best = max(members[name].frequency for name in usable)
        groups = {members[name].group for name in usable if members[name].frequency == best}
    group = min(groups, key=lambda g: (good.get(g, 0), g))
    return max(
        (name for name in usable if members[name].group == group),
        key=lambda name: (members[name].frequency, name),
    )


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
    known: Iterable[tuple[Image, Image]] = (),
    previous: Collection[str] = (),
) -> Sampled:
    """Sample until no sampled image is a near duplicate."""
    edges = list(known)
    members = {
        c.name: Member(group, c.frequency, pool.barred.get(c.name) == BLACKLISTED)
        for group, candidates in pool.candidates.items()
        for c in candidates
    }
    duplicates = {n: (of, 0) for n, of in duplicates_among(edges, members).items()}
    came_in = dict.fromkeys(previous, 0)
    searched: set[str] = set()
    rounds: list[Round] = []
    while True:
        drawn_for = _sample(pool, settings, set(duplicates), came_in, len(rounds) + 1)
        came_in = {name: came_in.get(name, len(rounds) + 1) for name in drawn_for}
        new = sorted(set(drawn_for) - searched)
        searched.update(new)
        if find is not None and new:
            edges.extend(find(new, sorted(drawn_for)))
        found = duplicates_among(edges, members)
        fresh = {name: of for name, of in found.items() if name not in duplicates}
        duplicates |= {name: (of, len(rounds) + 1) for name, of in fresh.items()}
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
    for group, candidates in pool.candidates.items():
        eligible = [c for c in candidates if c.name not in pool.barred and c.name not in duplicates]
        if settings.strategy is Strategy.TOP_IMAGES:
            draw = draw_best(eligible, settings.per_class, previous)
        else:
            draw = draw_strata(
                eligible,
                pool.targets[group],
                previous,
                random.Random(f"{settings.seed} {group} {number}"),
                fill_upward=settings.fill_upward
                and settings.strategy is Strategy.MATCHED_FREQUENCY,
            )
        drawn_for |= dict(sorted(draw.taken.items()))
        with problems.collected():
            if draw.missing:
                reasons = Counter(
                    pool.barred.get(c.name, NEAR_DUPLICATE if c.name in duplicates else "eligible")
                    for c in candidates
                )
                raise _missing_error(settings, group, draw.missing, reasons)
    problems.raise_any()
    return drawn_for


_REMEDIES = {
    Strategy.MATCHED_FREQUENCY: "Give more candidates, or allow 'fill_upward'",
    Strategy.THRESHOLD: "Give more candidates, or lower the class's threshold in 'thresholds'",
    Strategy.KEYWORDS: "Give more candidates of these keywords, or fewer 'top_keywords'",
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
