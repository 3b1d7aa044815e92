"""Suites: named collections of datasets, with what is known of each as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matcheval.datasets.folders import DATAPOINTS, DATAPOINTS_SCHEMA, read_description
from matcheval.datasets.label_spaces import compare_classes
from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.json_files import read_json, write_json

# Names of groups, each with the names of its classes.
Groups = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Member:
    """A dataset of a suite.

    Attributes
    ----------
    dataset : str
        Its name.
    group, subgroup : str
        What kind of set it is, such as a family of corruptions and one of them; empty if not said.
    severity : float or None
        How strong the shift is; None if not said.
    classes : tuple of str
        Classes that it has images of, a subset of its label space; empty for all classes.
    groups : tuple of (str, tuple of str)
        Its classes, if each is a group of classes of the label space: no class is in two.
    all_labels : str
        CSV file of all labels of its images (`all_labels.AllLabels`); empty for one label each.
    """

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
    """A named collection of datasets.

    Attributes
    ----------
    name : str
    members : tuple of Member
        At least one, each of another dataset.
    """

    name: str
    members: tuple[Member, ...]

    @property
    def datasets(self) -> list[str]:
        """Names of its datasets."""
        return [member.dataset for member in self.members]


def write_suite(suite: Suite, folders: Mapping[str, Path], path: Path) -> None:
    """Check the prepared datasets of a suite against each other, and write what they contain.

    Parameters
    ----------
    suite : Suite
        Its members with images are those in `folders`.
    folders : mapping of str to Path
        Folders of the prepared datasets, by name.
    path : Path
        JSON file to write: digests of the datasets, by name.

    Raises
    ------
    InputError
        If two datasets differ in their classes, a member names a class that its dataset does not
        have, or a dataset has no images of the classes that its member names.
    """
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
    """Read the names of the datasets of a suite.

    Parameters
    ----------
    path : Path
        File that `write_suite` wrote.

    Raises
    ------
    InputError
        If it is not readable.
    """
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
    """Check that the classes that a member names, or groups, are classes of its dataset.

    Parameters
    ----------
    suite : str
        Name of the suite.
    member : Member
    classes : sequence of str
        All classes of its dataset.

    Raises
    ------
    InputError
        Naming the first unknown class.
    """
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
        raise InputError(
            f"dataset '{member.dataset}' has no images of the classes {', '.join(member.counting)}",
            file="configuration",
            field=f"suites.{suite}",
            remedy="Correct 'classes', or leave the set out",
        )
