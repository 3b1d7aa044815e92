"""What a first study consists of, before it is written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.names import MAX_NAME_LENGTH
from matcheval.starting.looking import ImageSet
from matcheval.starting.names import as_name, suite_name


@dataclass(frozen=True)
class Block:
    """A dataset of a draft."""

    name: str
    options: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True)
class Draft:
    """A study before it is written."""

    title: str
    datasets: tuple[Block, ...]
    original: str
    replication: str = ""
    first_replication: str = ""
    suite: Block | None = None
    training: Mapping[str, str] = field(default_factory=dict)
    catalogue: str = ""
    models: tuple[str, ...] = ()
    more_models: str = ""

    @property
    def name(self) -> str:
        """What the study is called if nobody says."""
        other = self.replication if self.suite is None else self.suite.name
        return f"{self.original}-{other}"[:MAX_NAME_LENGTH]

    @property
    def pair_name(self) -> str:
        """What the pair is called: as the replication, before sets were renamed."""
        return self.first_replication or self.replication

    @property
    def reference(self) -> str:
        """The training set, for scores that need one; empty if there is none."""
        return self.training.get("train", "")

    def renamed(self, prefix: str) -> "Draft":
        """Return the same with names of sets that no other study has."""
        new = {one.name: f"{prefix}-{one.name}" for one in self.datasets}

        suite = self.suite
        if suite is not None:
            member = {**suite.options, "name": f"{prefix}-{suite.options['name']}"}
            if "of" in member["dataset"]:
                member["dataset"] = {**member["dataset"], "of": new[member["dataset"]["of"]]}
            suite = replace(suite, options=member)
        return replace(
            self,
            datasets=tuple(replace(one, name=new[one.name]) for one in self.datasets),
            original=new[self.original],
            replication=new.get(self.replication, ""),
            first_replication=self.replication,
            suite=suite,
            training={key: new[name] for key, name in self.training.items()},
        )


@dataclass(frozen=True)
class Wishes:
    """What a person adds to what can be seen."""

    train: ImageSet | None = None
    own_models: bool = False
    trains: bool = True
    resize: int | None = None
    skip_missing: bool = False
    layout: Mapping[str, Any] = field(default_factory=dict)


def suite_block(folder: Path, base: str, block: Mapping[str, Any], sets: Iterable[str]) -> Block:
    """Return the suite of the sets in a folder."""
    names = list(sets)
    if "{" in str(folder):
        raise InputError(
            "braces stand for parts of names in a suite", file=folder, remedy="Rename the folder"
        )
    for name in names:
        if as_name(name) != name:
            raise InputError(
                f"'{name}' cannot be the name of a set",
                file=folder,
                remedy="Rename the folder: letters, digits, '.', '_' and '-', a letter first",
            )
    member = {"dataset": dict(block), "values": {"set": names}, "name": "{set}"}
    return Block(suite_name(folder, base), member, "these sets; without it, all in the folder")
