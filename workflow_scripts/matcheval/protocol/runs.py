"""Runs of the protocol: from predictions on two sets to the measured quantities per seed.

Anzaku et al. (2022), arXiv 2209.01848, section 4. A run is determined by the predictions, model,
pair, method and seed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.matching import UNMATCHED, MatchingPlan, match, plan_matching, run_sequence
from matcheval.protocol.schemas import COMPARISON_RUNS, PAIRS, RUN_COLUMNS
from matcheval.protocol.settings import N_SEEDS, MatchingMethod, Order


@dataclass(frozen=True)
class MatchedRun:
    """The quantities of one run, described in `schemas.RUN_COLUMNS`; NaN for an empty subset."""

    seed: int
    n_source: int
    n_target: int
    n_matched: int
    accuracy_source: float
    accuracy_target: float
    matched_accuracy_source: float
    matched_accuracy_target: float
    unmatched_accuracy_target: float
    fraction_unmatched: float
    confidence_source: float
    confidence_target: float
    matched_confidence_source: float
    matched_confidence_target: float
    unmatched_confidence_target: float


# Source row matched to each target row, or -1, by seed.
MatchedRows = Mapping[int, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class RunName:
    """Names of the model and of the pair of sets: they are part of a run's random seed."""

    model: str
    pair: str


def matched_rows(
    source: Predictions,
    target: Predictions,
    name: RunName,
    method: MatchingMethod,
    seeds: Iterable[int],
) -> MatchedRows:
    """Match once per seed."""
    seeds = list(seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError(f"the seeds are {seeds}", remedy="Give at least one seed, each only once")
    plan = plan_matching(source, target, method.criterion, method.epsilon, method.score)
    sequences = {
        seed: run_sequence(seed, pair=name.pair, criterion=method.criterion, model=name.model)
        for seed in seeds
    }
    return {seed: match_once(plan, method.order, sequences[seed]) for seed in seeds}


def match_once(
    plan: MatchingPlan, order: Order, sequence: np.random.SeedSequence
) -> npt.NDArray[np.int64]:
    """Match the targets of a plan in the order of a method.

    Parameters
    ----------
    plan : MatchingPlan
    order : Order
    sequence : numpy.random.SeedSequence
        Seeds the picks; its first child seeds the order, where that is random.

    Returns
    -------
    int64 array, shape (n_target,)
        The source row matched to each target row, or -1.
    """
    if order is Order.DATASET:
        return match(plan, np.random.default_rng(sequence))
    drawn = np.random.default_rng(sequence.spawn(1)[0]).permutation(len(plan.low))
    return match(plan, np.random.default_rng(sequence), drawn)


def measure_runs(source: Predictions, target: Predictions, rows: MatchedRows) -> list[MatchedRun]:
    """Measure accuracies and confidences on the subsets of every run."""
    whole_source, whole_target = _Subset.of(source), _Subset.of(target)
    runs = []
    for seed, row in rows.items():
        is_matched = row != UNMATCHED
        matched_source = _Subset.of(source, row[is_matched])
        matched_target = _Subset.of(target, np.flatnonzero(is_matched))
        unmatched = _Subset.of(target, np.flatnonzero(~is_matched))
        run = MatchedRun(
            seed=seed,
            n_source=whole_source.n,
            n_target=whole_target.n,
            n_matched=matched_source.n,
            accuracy_source=whole_source.accuracy,
            accuracy_target=whole_target.accuracy,
            matched_accuracy_source=matched_source.accuracy,
            matched_accuracy_target=matched_target.accuracy,
            unmatched_accuracy_target=unmatched.accuracy,
            fraction_unmatched=unmatched.n / whole_target.n,
            confidence_source=whole_source.confidence,
            confidence_target=whole_target.confidence,
            matched_confidence_source=matched_source.confidence,
            matched_confidence_target=matched_target.confidence,
            unmatched_confidence_target=unmatched.confidence,
        )
        runs.append(run)
    return runs


def list_pairs(source: Predictions, target: Predictions, rows: MatchedRows) -> pa.Table:
    """List the matched pairs of every run."""
    columns: dict[str, list[npt.NDArray[np.int32]]] = {column: [] for column in PAIRS.names}
    for seed, row in rows.items():
        is_matched = row != UNMATCHED
        columns["seed"].append(np.full(is_matched.sum(), seed, np.int32))
        columns["source_index"].append(source.index[row[is_matched]])
        columns["target_index"].append(target.index[is_matched])
    return PAIRS.table({column: np.concatenate(parts) for column, parts in columns.items()})


class MatchedComparison:
    """A comparison that is matched, once per seed."""

    def __init__(
        self, comparison: Comparison, method: MatchingMethod, seeds: Iterable[int]
    ) -> None:
        self._comparison, self._method = comparison, method
        name = RunName(comparison.model, comparison.pair.name)
        self._rows = matched_rows(comparison.source, comparison.target, name, method, seeds)

    def runs(self) -> pa.Table:
        """Return a table of schema `schemas.COMPARISON_RUNS`, one row per seed."""
        comparison, pair = self._comparison, self._comparison.pair
        runs = measure_runs(comparison.source, comparison.target, self._rows)
        identity = {
            "model": comparison.model,
            "pair": pair.name,
            "criterion": self._method.criterion.value,
            "original": pair.original,
            "replication": pair.replication,
            "source": comparison.source_name,
            "epsilon": self._method.epsilon,
        }
        columns = {key: [value] * len(runs) for key, value in identity.items()}
        columns |= {c.name: [getattr(run, c.name) for run in runs] for c in RUN_COLUMNS}
        datapoints = {
            "original datapoints": comparison.original.datapoints_digest,
            "replication datapoints": comparison.replication.datapoints_digest,
        }
        return COMPARISON_RUNS.table(columns, datapoints | self._method.unusual)

    def pairs(self) -> pa.Table:
        """Return the matched pairs of all seeds, of schema `schemas.PAIRS`."""
        return list_pairs(self._comparison.source, self._comparison.target, self._rows)


@dataclass(frozen=True)
class _Subset:
    """Size, accuracy and mean confidence of a subset; the latter two are NaN if it is empty."""

    n: int
    accuracy: float
    confidence: float

    @classmethod
    def of(cls, predictions: Predictions, rows: npt.NDArray[np.int64] | None = None) -> "_Subset":
        correct, probability = predictions.correct, predictions.probability
        if rows is not None:
            correct, probability = correct[rows], probability[rows]
        n = len(correct)
        if n == 0:
            return cls(0, float("nan"), float("nan"))
        return cls(n, int(correct.sum()) / n, float(probability.mean(dtype=np.float64)))


@dataclass(frozen=True)
class MatchedGap:
    """A matched gap: matched accuracy on the original minus that on the replication."""

    mean: float
    std: float
    share_matched: float
    n_seeds: int


def matched_gap(
    comparison: Comparison, method: MatchingMethod, seeds: Iterable[int] = range(N_SEEDS)
) -> MatchedGap:
    """Match a model's predictions on two sets, once per seed, and average the gap."""
    source, target = comparison.source, comparison.target
    name = RunName(comparison.model, comparison.pair.name)
    runs = measure_runs(source, target, matched_rows(source, target, name, method, seeds))
    sign = 1 if comparison.source_is_original else -1
    gaps = np.array(
        [r.matched_accuracy_source - r.matched_accuracy_target for r in runs if r.n_matched]
    )
    return MatchedGap(
        mean=sign * float(gaps.mean()) if len(gaps) else float("nan"),
        std=float(gaps.std(ddof=1)) if len(gaps) > 1 else float("nan"),
        share_matched=float(np.mean([1 - run.fraction_unmatched for run in runs])),
        n_seeds=len(gaps),
    )
