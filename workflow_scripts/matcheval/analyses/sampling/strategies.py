"""The samplers: which eligible candidates of one class are taken."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Candidate:
    """An image that could be sampled.

    Attributes
    ----------
    name : str
    stratum : str
        Its frequency bin, its keyword, or whatever the targets are by.
    n_answers, n_selected : int
    """

    name: str
    stratum: str = ""
    n_answers: int = 0
    n_selected: int = 0

    @property
    def frequency(self) -> Fraction:
        """Its selection frequency, exact; 0 without answers."""
        return Fraction(self.n_selected, self.n_answers) if self.n_answers else Fraction(0)


@dataclass(frozen=True)
class Draw:
    """What was taken of a class.

    Attributes
    ----------
    taken : mapping
        By name of the image, the stratum whose place it takes.
    missing : mapping
        By stratum, how many images are missing; only where any are.
    """

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
    """Take so many candidates of every stratum, at random.

    Parameters
    ----------
    candidates : sequence of Candidate
        The eligible ones of one class.
    targets : mapping
        Images wanted by stratum, the strata in rising order.
    previous : collection of str
        Images of the round before: they are kept, unless a stratum has more than it needs.
    rng : random.Random
    fill_upward : bool
        Whether what a stratum lacks is taken from the next higher one that has images left (those
        of the round before first); never from a lower one, so that no frequency is lowered.

    Returns
    -------
    Draw
    """
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
        lacking = target - sum(place == stratum for place in taken.values())
        if lacking:
            missing[stratum] = lacking
    if fill_upward:
        _fill_upward(free, taken, missing, previous, rng)
    return Draw(taken, missing)


def draw_best(
    candidates: Sequence[Candidate], n: int, previous: Collection[str] = ()
) -> Draw:  # fmt: skip
    """Take the candidates of highest selection frequency.

    Ties go to more answers, then to images of the round before, then to the later name.
    """
    ranked = sorted(
        candidates,
        key=lambda c: (c.frequency, c.n_answers, c.name in previous, c.name),
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
    """Fill short strata, the highest first; each has served itself before."""
    strata = list(free)
    for stratum in reversed(list(missing)):
        for higher in strata[strata.index(stratum) + 1 :]:
            for name in _pick(free[higher], missing[stratum], previous, rng):
                taken[name] = stratum
                free[higher].remove(name)
                missing[stratum] -= 1
        if not missing[stratum]:
            del missing[stratum]


def _pick(
    names: Sequence[str], n: int, previous: Collection[str], rng: random.Random
) -> list[str]:  # fmt: skip
    """Pick up to n names, those of the round before first, without replacement."""
    kept = [name for name in names if name in previous]
    if len(kept) >= n:
        return kept if len(kept) == n else rng.sample(kept, n)
    rest = [name for name in names if name not in previous]
    return kept + rng.sample(rest, min(n - len(kept), len(rest)))
