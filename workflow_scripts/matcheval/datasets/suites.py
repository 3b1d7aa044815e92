"""Suites: named collections of datasets, with what is known of each as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matcheval.datasets.folders import DATAPOINTS, DATAPOINTS_SCHEMA, read_description
from matcheval.datasets.label_spaces import compare_classes
from matcheval.errors import ErrorCollector, InputError, configuration_error, unknown_name_error
from matcheval.io.json_files import read_json, write_json

# Names of groups, each with the names of its classes.
Groups = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Member:
    """A dataset of a suite."""

    dataset: str
    group: str = ""
    subgroup: str = ""
    severity: float | None = None
    classes: tuple[str, ...] = ()
    groups: Groups = ()
    all_labels: str = ""

    @property
    def counting(self) -> tuple[str, ...]:
        """Classes of the label space that count on it; empty for all."""
        return self.classes or tuple(name for _, group in self.groups for name in group)


@dataclass(frozen=True)
class Suite:
    """A named collection of datasets."""

    name: str
    members: tuple[Member, ...]

    @property
    def datasets(self) -> list[str]:
        """Names of its datasets."""
        return [member.dataset for member in self.members]


def write_suite(suite: Suite, folders: Mapping[str, Path], path: Path) -> None:
    """Check the prepared datasets of a suite against each other, and write what they contain."""
    problems, digests = ErrorCollector(), {}
    first: tuple[str, Sequence[str]] | None = None
    for member in suite.members:
        if member.dataset not in folders:
            continue
        folder = folders[member.dataset]
        with problems.collected():
            description = read_description(folder)
            classes = tuple(description["classes"])
            first = first or (member.dataset, classes)
            if classes != tuple(first[1]):
                difference = compare_classes(classes, first[1])
                raise InputError(
                    f"dataset '{member.dataset}' has, against '{first[0]}', {difference}",
                    file=f"suites.{suite.name}",
                    remedy="All sets of a suite have the same label space; list the classes that "
                    "a set has images of as 'classes' of its member",
                )
            check_subset(suite.name, member, classes)
            _check_images(suite.name, member, classes, folder)
            digests[member.dataset] = description["sha256"]
    problems.raise_any()
    write_json(digests, path)


def read_members(path: Path) -> list[str]:
    """Read the names of the datasets of a suite."""
    try:
        return list(read_json(path))
    except InputError:  # it says what is wrong
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"not a readable list of a suite's datasets ({error})",
            file=path,
            remedy="Delete it and run again",
        ) from error


def check_subset(suite: str, member: Member, classes: Sequence[str]) -> None:
    """Check that the classes that a member names, or groups, are classes of its dataset."""
    for name in member.counting:
        if name not in classes:
            raise unknown_name_error(
                "class", name, classes, file="configuration",
                field=f"suites.{suite}: classes of '{member.dataset}'",
            )  # fmt: skip


def _check_images(suite: str, member: Member, classes: Sequence[str], folder: Path) -> None:
    """Check that there are images of the classes that a member names."""
    if not member.counting:
        return
    chosen = [classes.index(name) for name in member.counting]
    labels = DATAPOINTS_SCHEMA.read(folder / DATAPOINTS)["label"].to_numpy()
    if not np.isin(labels, chosen).any():
        raise configuration_error(
            f"dataset '{member.dataset}' has no images of the classes {', '.join(member.counting)}",
            field=f"suites.{suite}",
            remedy="Correct 'classes', or leave the set out",
        )
