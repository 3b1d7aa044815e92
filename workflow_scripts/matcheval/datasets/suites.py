"""Suites: named collections of datasets, with what is known of each as data."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.folders import DATAPOINTS, DATAPOINTS_SCHEMA, read_description
from matcheval.datasets.label_spaces import compare_classes
from matcheval.errors import ErrorCollector, InputError, configuration_error, unknown_name_error
from matcheval.io.files import write_text
from matcheval.io.self_digests import read_json, write_json
from matcheval.io.user_files import read_csv_rows
from matcheval.statistics.intervals import LEVEL

log = logging.getLogger(__name__)

# Names of groups, each with the names of its classes.
Groups = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Member:
    """A dataset of a suite: its group, its severity, and the classes it is evaluated on."""

    dataset: str
    group: str = ""
    subgroup: str = ""
    severity: float | None = None
    classes: tuple[str, ...] = ()
    groups: Groups = ()
    all_labels: str = ""

    @property
    def counting(self) -> tuple[str, ...]:
        """Names of the classes that the dataset is evaluated on; empty if on all."""
        return self.classes or tuple(name for _, group in self.groups for name in group)


@dataclass(frozen=True)
class Suite:
    """A named collection of datasets."""

    name: str
    members: tuple[Member, ...]

    @property
    def datasets(self) -> list[str]:
        """Names of its members' datasets."""
        return [member.dataset for member in self.members]


def write_classes(*, original: Path, replication: Path, classes: Path) -> None:
    """Check that two datasets have the same classes, and write the class names, one per line."""
    first, second = (read_description(file.parent) for file in (original, replication))
    if problem := compare_classes(second["classes"], first["classes"]):
        problem = f"compared with '{first['name']}': {problem}"
        raise InputError(problem, file=second["name"], field="classes")
    write_text(classes, "\n".join(first["classes"]) + "\n")


def write_suite(*, suite: Suite, folders: Mapping[str, Path], index: Path) -> None:
    """Check that a suite's prepared datasets have the same classes; write their digests."""
    problems, digests = ErrorCollector(), {}
    first, expected = "", tuple[str, ...]()
    for member in (member for member in suite.members if member.dataset in folders):
        folder = folders[member.dataset]
        with problems.collected():
            description = read_description(folder)
            classes = tuple(description["classes"])
            first, expected = (first, expected) if first else (member.dataset, classes)
            if difference := compare_classes(classes, expected):
                remedy = "All sets of a suite have the same label space; list the classes that a "
                remedy += "set has images of as 'classes' of its member"
                problem = f"dataset '{member.dataset}' has, against '{first}', {difference}"
                raise InputError(problem, file=f"suites.{suite.name}", remedy=remedy)
            check_subset(suite.name, member, classes)
            labels = DATAPOINTS_SCHEMA.read(folder / DATAPOINTS)["label"].to_numpy()
            chosen = [classes.index(name) for name in member.counting]
            if chosen and not np.isin(labels, chosen).any():
                names = ", ".join(member.counting)
                raise configuration_error(
                    f"dataset '{member.dataset}' has no images of the classes {names}",
                    field=f"suites.{suite.name}", remedy="Correct 'classes', or leave the set out",
                )  # fmt: skip
            digests[member.dataset] = description["sha256"]
    problems.raise_any()
    write_json(digests, index)
    log.info("%s: %d datasets", suite.name, len(folders))


def read_members(path: Path) -> list[str]:
    """Read the names of a suite's datasets from the file that `write_suite` wrote."""
    return list(read_json(path))


def check_subset(suite: str, member: Member, classes: Sequence[str]) -> None:
    """Raise an error unless the classes that a member names, or groups, are in its dataset."""
    for name in member.counting:
        if name not in classes:
            raise unknown_name_error(
                "class", name, classes, file="configuration",
                field=f"suites.{suite}: classes of '{member.dataset}'",
            )  # fmt: skip


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AllLabels:
    """A file that lists all labels of each image of a dataset, and the dataset's folder."""

    file: Path
    folder: Path
    groups: Groups = ()

    def read(self) -> Integers:
        """Return each image's labels, shape (n, most labels), filled up with -1; check them."""
        classes = read_description(self.folder)["classes"]
        position = {name: label for label, name in enumerate(classes)}
        first_of = first_class_of_group(self.groups, position)
        named = {name: position[group[0]] for name, group in self.groups}
        labels_of = self._read_labels_by_image(position | named)
        datapoints = DATAPOINTS_SCHEMA.read(self.folder / DATAPOINTS)
        names, labels = datapoints["name"].to_pylist(), datapoints["label"].to_pylist()
        for name, label in zip(names, labels, strict=True):
            if name not in labels_of:
                raise InputError(
                    f"has no row of image '{name}' of the dataset", file=self.file, field="name",
                    remedy="Give every image a row, by its name in datapoints.parquet",
                )  # fmt: skip
            if first_of.get(label, label) not in [first_of.get(k, k) for k in labels_of[name]]:
                raise InputError(
                    f"the dataset's own label of '{name}', {classes[label]}, is not among them",
                    file=self.file, field="labels", remedy="Check that names and labels match",
                )  # fmt: skip
        width = max(len(labels_of[name]) for name in names)
        rows = ([*labels_of[name], *[-1] * width][:width] for name in names)
        return np.array(list(rows))

    def _read_labels_by_image(self, names: Mapping[str, int]) -> dict[str, list[int]]:
        """Return the labels of each image in the file; `names` numbers the classes and groups."""
        labels_of: dict[str, list[int]] = {}
        for row in read_csv_rows(self.file, ("name", "labels")):
            image = row["name"]
            labels = [name.strip() for name in row["labels"].split(";") if name.strip()]
            for label in labels:
                if label not in names:
                    raise unknown_name_error("class", label, names, file=self.file, field="labels")
            if not labels or image in labels_of:
                problem = "has two rows" if image in labels_of else "has no label"
                raise InputError(f"image '{image}' {problem}", file=self.file)
            labels_of[image] = list(dict.fromkeys(names[label] for label in labels))
        return labels_of


def first_class_of_group(groups: Groups, position: Mapping[str, int]) -> dict[int, int]:
    """Return, for the label of each grouped class, the label of its group's first class."""
    return {position[name]: position[group[0]] for _, group in groups for name in group}


def right_predictions(
    predicted: npt.NDArray[np.integer],
    labels: npt.NDArray[np.integer],
    groups: Groups,
    classes: Sequence[str],
) -> npt.NDArray[np.bool_]:
    """Tell which predictions are a label of their image, (n,) or (n, k), or in a group with one."""
    lookup = np.arange(len(classes) + 1)
    lookup[-1] = -1
    for label, first in first_class_of_group(groups, {n: k for k, n in enumerate(classes)}).items():
        lookup[label] = first
    several = labels if labels.ndim == 2 else labels[:, None]
    return (lookup[predicted][:, None] == lookup[several]).any(axis=1)


@dataclass(frozen=True)
class Pair:
    """Two similar-but-non-identical sets, and how they are compared."""

    name: str
    original: str
    replication: str
    source: str | None = None
    paired: bool = False
    groups_shared: bool = False
    confidence: float = LEVEL

    @property
    def datasets(self) -> dict[str, str]:
        """Names of the two sets, by their origins `original` and `replication`."""
        return {"original": self.original, "replication": self.replication}

    def source_is_original(self, n_original: int, n_replication: int) -> bool:
        """Tell whether the original set is the source: as configured, else if it is not smaller."""
        if self.source is None:
            return n_original >= n_replication
        if self.source not in (self.original, self.replication):
            sets = f"neither '{self.original}' nor '{self.replication}'"
            raise InputError(f"source '{self.source}' of pair '{self.name}' is {sets}")
        return self.source == self.original
