"""A comparison: one model on a pair of sets, with roles and origins, and its runs.

*Origin* (original or replication) is what a set is; *role* (source or target) is what it plays in
the matching.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from matcheval.predictions import Predictions
from matcheval.protocol import RunName, matched_pairs, run_protocol
from matcheval.schemas import COMPARISON_RUNS, RUN_COLUMNS
from matcheval.settings import Criterion, Pair


@dataclass(frozen=True)
class Comparison:
    """One model's predictions on both sets of a pair, with the roles decided.

    Raises
    ------
    InputError
        On creation, if the pair names a source that is neither of its sets.
    """

    model: str
    pair: Pair
    original: Predictions
    replication: Predictions

    def __post_init__(self) -> None:
        """Refuse a source that is neither set."""
        _ = self.source_is_original

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

    def run(self, criterion: Criterion, epsilon: float, seeds: Iterable[int]) -> pa.Table:
        """Run the protocol: a table of schema `schemas.COMPARISON_RUNS`, one row per seed."""
        name = RunName(self.model, self.pair.name, criterion)
        runs = run_protocol(self.source, self.target, name, epsilon=epsilon, seeds=seeds)
        identity = {
            "model": self.model,
            "pair": self.pair.name,
            "criterion": criterion.value,
            "original": self.pair.original,
            "replication": self.pair.replication,
            "source": self.source_name,
            "epsilon": epsilon,
        }
        columns = {key: [value] * len(runs) for key, value in identity.items()}
        columns |= {c.name: [getattr(run, c.name) for run in runs] for c in RUN_COLUMNS}
        return COMPARISON_RUNS.table(columns)

    def pairs(self, criterion: Criterion, epsilon: float, seeds: Iterable[int]) -> pa.Table:
        """List the matched index pairs: a table of schema `schemas.PAIRS`."""
        name = RunName(self.model, self.pair.name, criterion)
        return matched_pairs(self.source, self.target, name, epsilon=epsilon, seeds=seeds)
