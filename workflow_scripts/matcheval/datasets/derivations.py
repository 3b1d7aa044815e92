"""Derived datasets: what is made of which sets, and how it is called. Imports no images."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# Raised by hand when an edit changes what a derivation gives; as `datasets.KIND_VERSIONS`.
DERIVATION_VERSION = 1

KINDS = ("part", "rest", "union", "origins")


@dataclass(frozen=True)
class Derivation:
    """A dataset that is made of others.

    Attributes
    ----------
    kind : str
        `part`: one of several class-balanced random parts; `rest`: all parts but one; `union`:
        the images of both sets; `origins`: images of both sets, labelled by the set they are
        from.
    of : tuple of str
        Names of the sets it is made of: one, or two for `union` and `origins`.
    options : mapping
        `part`, `rest`: `part` (from 1), `parts`, `seed`. `origins`: `per_set` (images of each
        set), `role` (`train` or `test`), `test_fraction`, `seed`.
    """

    kind: str
    of: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What files call it: says all that it is, so that no two derivations share a name."""
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
        """Itself as JSON, for a command line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Derivation":
        """Read what `json` gave."""
        values = json.loads(text)
        return cls(values["kind"], tuple(values["of"]), values["options"])


def part(of: str, index: int, parts: int, seed: int) -> Derivation:
    """Part `index` (from 1) of `parts` class-balanced random parts of a set."""
    return Derivation("part", (of,), {"part": index, "parts": parts, "seed": seed})


def rest(of: str, index: int, parts: int, seed: int) -> Derivation:
    """All parts of a set but part `index`."""
    return Derivation("rest", (of,), {"part": index, "parts": parts, "seed": seed})


def union(first: str, second: str) -> Derivation:
    """The images of two sets of one label space."""
    return Derivation("union", (first, second))
