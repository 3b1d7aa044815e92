"""Sampling in rounds: sample, search new images for near duplicates, replace these, repeat."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from matcheval.analyses.sampling.duplicates import Image, Member, duplicates_among
from matcheval.analyses.sampling.pool import BLACKLISTED, NEAR_DUPLICATE, Pool
from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.analyses.sampling.strategies import Draw, draw_best, draw_strata
from matcheval.errors import ErrorCollector, InputError

# Given the names of new candidates and of all sampled ones: the pairs of near duplicates that
# contain a new candidate.
Finder = Callable[[Collection[str], Collection[str]], Iterable[tuple[Image, Image]]]


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
    for group in pool.candidates:
        draw = _draw_class(pool, settings, duplicates, previous, group, number)
        drawn_for |= dict(sorted(draw.taken.items()))
        with problems.collected():
            if draw.missing:
                raise InputError(
                    f"{sum(draw.missing.values())} of {settings.per_class} images are missing"
                    f"{_where(draw)}; of {len(pool.candidates[group])} candidates "
                    f"{_why_not(pool, group, duplicates)}",
                    file=f"class '{group}'",
                    remedy=_remedy(settings),
                )
    problems.raise_any()
    return drawn_for


def _draw_class(
    pool: Pool,
    settings: SamplingSettings,
    duplicates: Collection[str],
    previous: Collection[str],
    group: str,
    number: int,
) -> Draw:
    eligible = [
        c for c in pool.candidates[group] if c.name not in pool.barred and c.name not in duplicates
    ]
    if settings.strategy is Strategy.TOP_IMAGES:
        return draw_best(eligible, settings.per_class, previous)
    return draw_strata(
        eligible,
        pool.targets[group],
        previous,
        random.Random(f"{settings.seed} {group} {number}"),
        fill_upward=settings.fill_upward and settings.strategy is Strategy.MATCHED_FREQUENCY,
    )


def _where(draw: Draw) -> str:
    """Name the strata that lack images, unless the class is a single stratum."""
    if set(draw.missing) == {""}:
        return ""
    return f" ({', '.join(f'{n} of stratum {stratum}' for stratum, n in draw.missing.items())})"


def _why_not(pool: Pool, group: str, duplicates: Collection[str]) -> str:
    reasons = Counter(
        pool.barred.get(c.name, NEAR_DUPLICATE if c.name in duplicates else "eligible")
        for c in pool.candidates[group]
    )
    return ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) or "there are none"


def _remedy(settings: SamplingSettings) -> str:
    remedies = {
        Strategy.MATCHED_FREQUENCY: "Give more candidates, or allow 'fill_upward'",
        Strategy.THRESHOLD: "Give more candidates, or lower the class's threshold in 'thresholds'",
        Strategy.KEYWORDS: "Give more candidates of these keywords, or fewer 'top_keywords'",
        Strategy.TOP_IMAGES: "Give more candidates",
    }
    return f"{remedies[settings.strategy]}, or lower 'per_class'"
