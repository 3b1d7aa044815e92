"""Descriptions of derived datasets: how they are built from other sets. Imports no images."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# Raised by hand when an edit changes the derived datasets, so that they are built again.
DERIVATION_VERSION = 1

KINDS = ("part", "rest", "union", "origins")


@dataclass(frozen=True)
class Derivation:
    """Description of a dataset that is built from other datasets.

    Attributes
    ----------
    kind : str
        `part`: one of several class-balanced random parts; `rest`: all parts but one; `union`:
        the images of two sets; `origins`: images of two sets, labelled by the set that they come
        from.
    of : tuple of str
        Names of the source sets: two for `union` and `origins`, else one.
    options : mapping
        For `part` and `rest`: `part` (from 1), `parts` (their number), `seed`. For `origins`:
        `per_set` (number of images of each set), `role` (`train` or `test`), `test_fraction` (of
        the images of each class, between 0 and 1), `seed`.
    """

    kind: str
    of: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name, composed of its kind, sets and options: different derivations differ in it."""
        o = self.options
        if self.kind in ("part", "rest"):
            word = "part" if self.kind == "part" else "without"
            return f"{self.of[0]}.{word}-{o['part']}-of-{o['parts']}.seed-{o['seed']}"
        if self.kind == "union":
            return ".and.".join(self.of)
        tested = f"{o['test_fraction']:g}".removeprefix("0.")
        return f"{'.or.'.join(self.of)}.{o['per_set']}-{tested}.{o['role']}.seed-{o['seed']}"

    @property
    def json(self) -> str:
        """The derivation as JSON, for a command line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Derivation":
        """Read a derivation from JSON.

        Parameters
        ----------
        text : str
            Text that `json` returned.

        Returns
        -------
        Derivation
        """
        values = json.loads(text)
        return cls(values["kind"], tuple(values["of"]), values["options"])


def part(of: str, index: int, parts: int, seed: int) -> Derivation:
    """Describe one of several class-balanced random parts of a set."""
    return Derivation("part", (of,), {"part": index, "parts": parts, "seed": seed})


def rest(of: str, index: int, parts: int, seed: int) -> Derivation:
    """Describe all of several class-balanced random parts of a set except one."""
    return Derivation("rest", (of,), {"part": index, "parts": parts, "seed": seed})


def union(first: str, second: str) -> Derivation:
    """Describe the union of two sets with the same label space."""
    return Derivation("union", (first, second))
