"""What looks wrong about a comparison, and where that is kept for the summary."""

import json
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from matcheval.predictions.records import PREDICTIONS, Predictions
from matcheval.predictions.suspicions import suspicions
from matcheval.protocol.comparisons import Comparison

_KEY = "warnings"
MANY_UNMATCHED = 0.5  # share of targets without a match above which it is told


def suspicions_of(comparison: Comparison) -> list[str]:
    """Say what looks wrong about a model's predictions on a pair."""
    sets = {
        comparison.pair.original: comparison.original,
        comparison.pair.replication: comparison.replication,
    }
    found = [f"{name}: {text}" for name, one in sets.items() for text in _of_set(one)]
    original, replication = comparison.original, comparison.replication
    columns = [(getattr(original, n), getattr(replication, n)) for n in PREDICTIONS.names]
    if all(np.array_equal(one, other) for one, other in columns):
        found.append("both sets hold the same predictions: is a file compared with itself?")
    elif not np.intersect1d(original.label, replication.label).size:
        ranges = " and ".join(f"{one.label.min()} to {one.label.max()}" for one in sets.values())
        found.append(f"no label occurs in both sets; labels are {ranges}")
    return found


def _of_set(predictions: Predictions) -> list[str]:
    n_classes = predictions.metadata.get("n_classes")
    return suspicions(
        predictions.label,
        predictions.prediction,
        predictions.probability,
        None if n_classes is None else int(n_classes),
    )


def with_suspicions(table: pa.Table, found: Iterable[tuple[str, str]]) -> pa.Table:
    """Return a table that keeps what looks wrong in its metadata; without any, the same table."""
    listed = list(dict.fromkeys(found))
    if not listed:
        return table
    metadata = dict(table.schema.metadata or {}) | {_KEY: json.dumps(listed, ensure_ascii=False)}
    return table.replace_schema_metadata(metadata)


def suspicions_in(tables: Iterable[pa.Table]) -> list[tuple[str, str]]:
    """Return what looks wrong according to the metadata of tables."""
    found: list[tuple[str, str]] = []
    for table in tables:
        text = (table.schema.metadata or {}).get(_KEY.encode(), b"[]")
        found += [(model, sentence) for model, sentence in json.loads(text)]
    return list(dict.fromkeys(found))
