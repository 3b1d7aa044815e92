"""The five subsets of a comparison that the reliability figure shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions.records import Predictions

if TYPE_CHECKING:
    from matcheval.protocol.comparisons import Comparison


class Role(StrEnum):
    """Role of a subset in the matching; the values are labels in the figure."""

    SOURCE = "source"
    TARGET = "target"
    MATCHED_SOURCE = "matched source"
    MATCHED_TARGET = "matched target"
    UNMATCHED_TARGET = "unmatched target"

    @property
    def is_pooled(self) -> bool:
        """Whether the subset depends on the seed, so that those of several seeds are pooled."""
        return self not in (Role.SOURCE, Role.TARGET)


@dataclass(frozen=True)
class Subset:
    """A subset of a dataset; the subsets of several seeds are concatenated."""

    role: Role
    dataset: str
    probability: npt.NDArray[np.float64]
    correct: npt.NDArray[np.bool_]
    n_seeds: int = 1

    @property
    def n_per_seed(self) -> float:
        """Mean number of datapoints per seed."""
        return len(self.probability) / self.n_seeds


@dataclass(frozen=True)
class ReliabilityData:
    """Data of the reliability figure: the subsets of one model, pair and matching."""

    model: str
    pair: str
    title: str
    epsilon: float
    original: str
    replication: str
    subsets: tuple[Subset, ...]


def reliability_data(
    comparison: "Comparison", pairs: pa.Table, title: str, epsilon: float, seeds: Sequence[int]
) -> ReliabilityData:
    """Collect the data of the reliability figure for a comparison."""
    pair = comparison.pair
    subsets = split_subsets(
        comparison.source,
        comparison.target,
        pairs,
        seeds,
        source_name=comparison.source_name,
        target_name=comparison.target_name,
    )
    return ReliabilityData(
        model=comparison.model,
        pair=pair.name,
        title=title,
        epsilon=epsilon,
        original=pair.original,
        replication=pair.replication,
        subsets=subsets,
    )


def split_subsets(
    source: Predictions,
    target: Predictions,
    pairs: pa.Table,
    seeds: Sequence[int],
    *,
    source_name: str,
    target_name: str,
) -> tuple[Subset, ...]:
    """Split one model's predictions into the five subsets, pooled over seeds."""
    seeds = list(seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError(f"the seeds are {seeds}", remedy="Give at least one seed, each only once")
    seed, source_index, target_index = (
        pairs[name].to_numpy() for name in ("seed", "source_index", "target_index")
    )
    foreign = sorted(set(np.unique(seed).tolist()) - set(seeds))
    if foreign:
        raise InputError(f"the matched pairs have seeds {foreign}, which are not among {seeds}")
    source_rows = _rows(source, source_index, source_name)
    target_rows = _rows(target, target_index, target_name)

    is_unmatched = np.ones((len(seeds), len(target)), dtype=np.bool_)
    order = {seed: position for position, seed in enumerate(seeds)}
    is_unmatched[[order[s] for s in seed.tolist()], target_rows] = False
    unmatched_rows = np.nonzero(is_unmatched)[1]

    n = len(seeds)
    return (
        _subset(Role.SOURCE, source_name, source, np.arange(len(source)), 1),
        _subset(Role.TARGET, target_name, target, np.arange(len(target)), 1),
        _subset(Role.MATCHED_SOURCE, source_name, source, source_rows, n),
        _subset(Role.MATCHED_TARGET, target_name, target, target_rows, n),
        _subset(Role.UNMATCHED_TARGET, target_name, target, unmatched_rows, n),
    )


def _subset(
    role: Role, name: str, predictions: Predictions, rows: npt.NDArray[np.intp], n_seeds: int
) -> Subset:
    probability = predictions.probability[rows].astype(np.float64)
    return Subset(role, name, probability, predictions.correct[rows], n_seeds)


def _rows(
    predictions: Predictions, index: npt.NDArray[np.int32], name: str
) -> npt.NDArray[np.intp]:
    """Look up the rows of datapoints by their indices."""
    rows = np.searchsorted(predictions.index, index)
    found = predictions.index[np.minimum(rows, len(predictions) - 1)] == index
    if not found.all():
        raise InputError(
            f"the matched pairs contain datapoint {index[~found][0]} of '{name}', which has no "
            "prediction",
            remedy="They were matched on other predictions: delete them and match again",
        )
    return rows
