"""A comparison: one model's predictions on a pair of sets.

Two properties of a set are kept apart: its *origin* (original or replication) is fixed by the
study; its *role* (source or target) is the one it has in the matching.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.predictions.records import PREDICTIONS, Predictions
from matcheval.predictions.suspicions import check_same_model, suspicions, suspicions_of_sets


@dataclass(frozen=True)
class Comparison:
    """One model's predictions on both sets of a pair, which says which set is the source."""

    model: str
    pair: Pair
    original: Predictions
    replication: Predictions

    def __post_init__(self) -> None:
        """Check that the predictions can be compared."""
        _ = self.source_is_original
        check_same_model(
            self.original.metadata,
            self.replication.metadata,
            (f"the predictions on {self.pair.original}", f"those on {self.pair.replication}"),
            self.model,
        )

    @property
    def source_is_original(self) -> bool:
        """Whether the original set is the source."""
        return self.pair.source_is_original(len(self.original), len(self.replication))

    @property
    def source(self) -> Predictions:
        """Predictions on the source set."""
        return self.original if self.source_is_original else self.replication

    @property
    def target(self) -> Predictions:
        """Predictions on the target set."""
        return self.replication if self.source_is_original else self.original

    @property
    def source_name(self) -> str:
        """Name of the source set."""
        return self.pair.original if self.source_is_original else self.pair.replication

    @property
    def target_name(self) -> str:
        """Name of the target set."""
        return self.pair.replication if self.source_is_original else self.pair.original

    @property
    def gap(self) -> float:
        """Accuracy on the original minus accuracy on the replication."""
        return float(self.original.correct.mean() - self.replication.correct.mean())

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Names of the sets on which all predictions are right, or all wrong; source first."""
        sets = {self.source_name: self.source.correct, self.target_name: self.target.correct}
        return tuple(name for name, right in sets.items() if right.all() or not right.any())


_KEY = "warnings"
MANY_UNMATCHED = 0.5  # share of targets without a match above which it is told


def suspicions_of(comparison: Comparison) -> list[str]:
    """Say what looks wrong about a model's predictions on a pair."""
    original, replication = comparison.original, comparison.replication
    names, suspicious = [*comparison.pair.datasets.values()], list[str]()
    for name, side in zip(names, (original, replication), strict=True):
        texts = suspicions(side.label, side.prediction, side.probability, side.metadata)
        suspicious += [f"{name}: {text}" for text in texts]
    if all(
        np.array_equal(getattr(original, column), getattr(replication, column))
        for column in PREDICTIONS.names
    ):
        suspicious.append("both sets hold the same predictions: is a file compared with itself?")
    elif not np.intersect1d(original.label, replication.label).size:
        labels = original.label, replication.label
        ranges = [f"{label.min()} to {label.max()}" for label in labels]
        suspicious.append(f"no label occurs in both sets; labels are {' and '.join(ranges)}")
    else:
        suspicious += suspicions_of_sets(original, replication, names)
    return suspicious


def with_suspicions(table: pa.Table, suspicious: Iterable[tuple[str, str]]) -> pa.Table:
    """Return a table that keeps what looks wrong in its metadata; without any, the same table."""
    listed = list(dict.fromkeys(suspicious))
    if not listed:
        return table
    metadata = dict(table.schema.metadata or {}) | {_KEY: json.dumps(listed, ensure_ascii=False)}
    return table.replace_schema_metadata(metadata)


def suspicions_in(tables: Iterable[pa.Table]) -> list[tuple[str, str]]:
    """Return what looks wrong according to the metadata of tables."""
    suspicious: list[tuple[str, str]] = []
    for table in tables:
        text = (table.schema.metadata or {}).get(_KEY.encode(), b"[]")
        suspicious += [(model, sentence) for model, sentence in json.loads(text)]
    return list(dict.fromkeys(suspicious))
