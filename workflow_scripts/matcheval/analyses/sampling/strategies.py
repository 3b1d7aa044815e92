"""The samplers: which eligible candidates of a class are taken."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from matcheval.analyses.sampling.pool import Candidate


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
    missing: dict[str, int] = {}
    for stratum, target in targets.items():
        for name in _pick(free[stratum], target, previous, rng):
            taken[name] = stratum
            free[stratum].remove(name)
            target -= 1
        if target:
            missing[stratum] = target
    if fill_upward:
        _fill_upward(free, taken, missing, previous, rng)
    return Draw(taken, missing)


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


def _fill_upward(
    free: Mapping[str, list[str]],
    taken: dict[str, str],
    missing: dict[str, int],
    previous: Collection[str],
    rng: random.Random,
) -> None:
    """Fill strata that lack images from higher ones; the highest of these strata goes first."""
    strata = list(free)
    for stratum in reversed(list(missing)):
        for higher in strata[strata.index(stratum) :]:
            for name in _pick(free[higher], missing[stratum], previous, rng):
                taken[name] = stratum
                free[higher].remove(name)
                missing[stratum] -= 1
        if not missing[stratum]:
            del missing[stratum]


def _pick(
    names: Sequence[str], n: int, previous: Collection[str], rng: random.Random
) -> list[str]:  # fmt: skip
    """Pick up to n names without replacement, those of the round before first."""
    kept = [name for name in names if name in previous]
    if len(kept) > n:
        return rng.sample(kept, n)
    rest = [name for name in names if name not in previous]
    return kept + rng.sample(rest, min(n - len(kept), len(rest)))
