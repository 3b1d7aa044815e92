"""What of a pair's datapoints belongs together: paired images, and groups of either set."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.digits import KNOWN_GROUPS
from matcheval.datasets.folders import DATAPOINTS_SCHEMA
from matcheval.errors import InputError
from matcheval.predictions.group_files import read_group_column, read_group_file
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.protocol.blocks import Blocks, groups, paired_images
from matcheval.protocol.comparisons import Comparison

Texts = npt.NDArray[np.str_]


@dataclass(frozen=True)
class GroupSource:
    """Where the groups of a set are found: the first of these that there is."""

    file: Path | None = None
    kind: str = ""
    datapoints: Path | None = None

    def read(self, predictions: Predictions, files: Sequence[Path], layout: Layout) -> Texts | None:
        """Read the groups."""
        names = None
        if self.datapoints is not None:
            names = DATAPOINTS_SCHEMA.read(self.datapoints)["name"].to_pylist()
        if self.file is not None:
            return read_group_file(self.file, predictions.index, names)
        if names is not None:
            if self.kind not in KNOWN_GROUPS:
                return None
            return np.array(KNOWN_GROUPS[self.kind]([names[i] for i in predictions.index]))
        read = (read_group_column(file, predictions.index, layout) for file in files)
        return groups_of_models(read, files)


def groups_of_models(groups: Iterable[Texts | None], places: Sequence[object]) -> Texts | None:
    """Return the groups of a set's datapoints, on which the predictions of all models must agree.

    Parameters
    ----------
    groups : iterable of str array or None
        As each model's predictions name them, in one order of the datapoints; at least one.
    places : sequence of object
        Where these predictions are, for messages.

    Raises
    ------
    InputError
        If those of two models differ, or of one only are known.
    """
    first, *others = groups
    for other, place in zip(others, places[1:], strict=True):
        problem = _disagreement(first, other, places[0])
        if problem:
            raise InputError(
                problem, file=place, field="group",
                remedy="All models are tested on the same datapoints, of the same groups",
            )  # fmt: skip
    return first


def _disagreement(first: Texts | None, other: Texts | None, place: object) -> str:
    """Say how the groups of a model differ from the first one's, which are at `place`."""
    if first is None:
        return "" if other is None else f"names groups; {place} names none"
    if other is None:
        return f"names no groups; {place} names some"
    return "" if np.array_equal(first, other) else f"names other groups than {place}"


def blocks_of_pair(comparison: Comparison, known: Mapping[str, Texts | None]) -> Blocks | None:
    """Return what of a pair's datapoints belongs together."""
    pair = comparison.pair
    where = {"file": "configuration", "field": f"pairs.{pair.name}"}
    origins = ("original", "replication")
    if not comparison.source_is_original:
        origins = origins[::-1]
    source, target = (known[origin] for origin in origins)
    if pair.groups_shared and (source is None or target is None):
        raise InputError(
            "groups are shared, but not known of both sets", **where,
            remedy="Name a file of each set under `groups`, or leave `groups_shared` out",
        )  # fmt: skip
    if pair.paired:
        images = paired_images(comparison.source, comparison.target)
        if source is None and target is None:
            return images
        if source is None or target is None or not np.array_equal(source, target):
            raise InputError(
                "paired images have different groups in the two sets", **where,
                remedy="Give both copies of an image the same group",
            )  # fmt: skip
        return groups(source, target, shared=True)
    if source is None and target is None:
        return None
    if source is None:
        source = np.arange(len(comparison.source)).astype(np.str_)
    if target is None:
        target = np.arange(len(comparison.target)).astype(np.str_)
    return groups(source, target, shared=pair.groups_shared)
