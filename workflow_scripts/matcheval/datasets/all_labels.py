"""All true classes of every image, where some images have several: the user's CSV file of them.

A dataset has one label per image. A frame of a video may show two classes, and a prediction of
either is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.folders import DATAPOINTS, DATAPOINTS_SCHEMA, read_description
from matcheval.datasets.suites import Groups
from matcheval.errors import InputError, unknown_name_error
from matcheval.io.csv_rows import read_csv_rows

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AllLabels:
    """Where the labels of a dataset are."""

    file: Path
    folder: Path
    groups: Groups = ()

    def read(self) -> Integers:
        """Read and check the labels."""
        classes = read_description(self.folder)["classes"]
        position = {name: label for label, name in enumerate(classes)}
        of_group = first_of_group(self.groups, position)
        named = {name: position[group[0]] for name, group in self.groups}
        found = self._cells(position | named)
        datapoints = DATAPOINTS_SCHEMA.read(self.folder / DATAPOINTS)
        names, labels = datapoints["name"].to_pylist(), datapoints["label"].to_pylist()
        for name, label in zip(names, labels, strict=True):
            if name not in found:
                raise InputError(
                    f"has no row of image '{name}' of the dataset", file=self.file, field="name",
                    remedy="Give every image a row, by its name in datapoints.parquet",
                )  # fmt: skip
            if of_group.get(label, label) not in [of_group.get(one, one) for one in found[name]]:
                raise InputError(
                    f"the dataset's own label of '{name}', {classes[label]}, is not among them",
                    file=self.file, field="labels", remedy="Check that names and labels match",
                )  # fmt: skip
        width = max(len(found[name]) for name in names)
        return np.array([[*found[name], *[-1] * (width - len(found[name]))] for name in names])

    def _cells(self, known: Mapping[str, int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row in read_csv_rows(self.file, ("name", "labels")):
            given = [name.strip() for name in row["labels"].split(";") if name.strip()]
            for label in given:
                if label not in known:
                    raise unknown_name_error("class", label, known, file=self.file, field="labels")
            if not given or row["name"] in found:
                problem = "has two rows" if row["name"] in found else "has no label"
                raise InputError(f"image '{row['name']}' {problem}", file=self.file)
            found[row["name"]] = list(dict.fromkeys(known[label] for label in given))
        return found


def first_of_group(groups: Groups, position: Mapping[str, int]) -> dict[int, int]:
    """Return for the classes of groups the first class of their group."""
    return {position[name]: position[group[0]] for _, group in groups for name in group}


def right_predictions(
    predicted: npt.NDArray[np.integer],
    labels: npt.NDArray[np.integer],
    groups: Groups,
    classes: Sequence[str],
) -> npt.NDArray[np.bool_]:
    """Say which predictions are right: of one of the labels, or of the group of one.

    Parameters
    ----------
    predicted : int array, shape (n,)
        Predicted classes, of all.
    labels : int array, shape (n,) or (n, n_labels)
        True classes; -1 for none.
    groups : tuple of (str, tuple of str)
    classes : sequence of str
        Class names by label.

    Returns
    -------
    bool array, shape (n,)
    """
    lookup = np.arange(len(classes) + 1)
    lookup[-1] = -1
    for label, first in first_of_group(groups, {n: k for k, n in enumerate(classes)}).items():
        lookup[label] = first
    several = labels if labels.ndim == 2 else labels[:, None]
    right: npt.NDArray[np.bool_] = (lookup[predicted][:, None] == lookup[several]).any(axis=1)
    return right
