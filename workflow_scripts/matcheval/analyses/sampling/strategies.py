"""The samplers: which eligible candidates of a class are taken."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Candidate:
    """An image of the pool.

    Attributes
    ----------
    name : str
        Name of the image.
    stratum : str
        Its frequency bin or keyword; empty if the strategy does not divide classes into strata.
    n_annotations : int
        Number of annotations of the image for its class.
    n_selected : int
        How many of them selected it.
    """

    name: str
    stratum: str = ""
    n_annotations: int = 0
    n_selected: int = 0

    @property
    def frequency(self) -> Fraction:
        """The exact selection frequency; 0 without annotations."""
        return Fraction(self.n_selected, self.n_annotations) if self.n_annotations else Fraction(0)


@dataclass(frozen=True)
class Draw:
    """The images sampled for a class.

    Attributes
    ----------
    taken : mapping of str to str
        The stratum that each image fills, by image name.
    missing : mapping of str to int
        How many images are missing, by stratum; only strata that lack images.
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
    """Sample a given number of candidates of every stratum at random.

    Parameters
    ----------
    candidates : sequence of Candidate
        The eligible candidates of one class.
    targets : mapping of str to int
        Number of images to sample by stratum, the strata in ascending order.
    previous : collection of str
        Names of the images of the round before: they are kept, unless a stratum has more of them
        than its target.
    rng : random.Random
        Source of the random choices.
    fill_upward : bool
        Whether images missing from a stratum are taken from the next higher stratum with
        candidates left (first those of the round before). They are never taken from a lower one,
        so that no selection frequency is lower than that of its stratum.

    Returns
    -------
    Draw
        The images taken, and how many each stratum lacks.
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
            target -= 1
        if target:
            missing[stratum] = target
    if fill_upward:
        _fill_upward(free, taken, missing, previous, rng)
    return Draw(taken, missing)


def draw_best(
    candidates: Sequence[Candidate], n: int, previous: Collection[str] = ()
) -> Draw:  # fmt: skip
    """Take the candidates with the highest selection frequencies.

    Of candidates with equal frequencies those with more annotations come first, then those of the
    round before, then those with the later name.

    Parameters
    ----------
    candidates : sequence of Candidate
        The eligible candidates of one class.
    n : int
        Number of images to take.
    previous : collection of str
        Names of the images of the round before.

    Returns
    -------
    Draw
        The images taken, and how many are missing (under stratum '').
    """
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
