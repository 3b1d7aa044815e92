"""Which near duplicates may be sampled: one per group, and none that other sets contain too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

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
