"""Which of several near duplicates may stay: at most one of each group, none seen elsewhere."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# Frequencies from which an image counts as good; a class without such goes by the next level.
_LEVELS = (Fraction(7, 10), Fraction(6, 10), Fraction(0))

# An image: the set it is from ("pool" for candidates), and its name there.
Image = tuple[str, str]
POOL = "pool"


@dataclass(frozen=True)
class Member:
    """What decides which of several candidates stays.

    Attributes
    ----------
    group : str
        Its class.
    frequency : Fraction
        Its selection frequency.
    blacklisted : bool
    """

    group: str
    frequency: Fraction
    blacklisted: bool = False


def connected_components(edges: Iterable[tuple[Image, Image]]) -> list[list[Image]]:
    """Groups of images that are near duplicates of each other, directly or through others.

    Parameters
    ----------
    edges : iterable
        Pairs of images.

    Returns
    -------
    list of lists
        Each sorted; in the order of their first images.
    """
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
    """Decide which candidates are near duplicates that may not be sampled.

    A group with an image of another set than the pool loses all its candidates: what is in the
    original, training or test set is not new. Of any other group one candidate stays.

    Parameters
    ----------
    edges : iterable
        Pairs of images that are near duplicates.
    members : mapping
        Candidates by name; others of the pool are passed over.

    Returns
    -------
    dict
        By candidate that may not be sampled: the image that it duplicates, as `set/name`.

    References
    ----------
    The resolution of the authors' ImageNetV2 code: the survivor is of the class with the fewest
    good candidates, and there the one of highest frequency.
    """
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
    """The candidate that stays of a group."""
    names = list(names)
    usable = [name for name in names if not members[name].blacklisted] or names
    for level in _LEVELS:
        groups = {members[name].group for name in usable if members[name].frequency >= level}
        if groups:
            break
    if level == 0:  # no class has a good one: the class of the best
        best = max(members[name].frequency for name in usable)
        groups = {members[name].group for name in usable if members[name].frequency == best}
    group = min(groups, key=lambda g: (good.get(g, 0), g))
    return max(
        (name for name in usable if members[name].group == group),
        key=lambda name: (members[name].frequency, name),
    )
