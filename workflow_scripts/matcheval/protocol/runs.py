"""Runs of the protocol: from predictions on two sets to the measured quantities per seed.

Anzaku et al. (2022), arXiv 2209.01848, section 4. A run is determined by model, pair, criterion
and seed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import EPSILON, N_SEEDS, Criterion
from matcheval.protocol.matching import UNMATCHED, match, plan_matching, run_generator
from matcheval.protocol.schemas import COMPARISON_RUNS, PAIRS, RUN_COLUMNS


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


@dataclass(frozen=True)
class RunName:
    """Identity of a run apart from its seed; the names are part of its random seed.

    Attributes
    ----------
    model, pair : str
        Names of the model and of the pair of sets.
    criterion : Criterion
        The matching criterion.
    """

    model: str
    pair: str
    criterion: Criterion


def matched_rows(
    source: Predictions,
    target: Predictions,
    name: RunName,
    *,
    epsilon: float,
    seeds: Iterable[int],
) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Match once per seed.

    Parameters
    ----------
    source, target : Predictions
        One model's predictions on the two sets.
    name : RunName
        Model, pair and criterion.
    epsilon : float
        Largest difference between matched probabilities, in (0, 1].
    seeds : iterable of int
        Distinct and not negative; at least one.

    Yields
    ------
    seed : int
    rows : int64 array, shape (n_target,)
        Source row matched to each target row, or -1.

    Raises
    ------
    InputError
        If epsilon or a seed is out of range, a seed occurs twice, or there are no seeds.
    """
    seeds = list(seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError(f"the seeds are {seeds}", remedy="Give at least one seed, each only once")
    plan = plan_matching(source, target, name.criterion, epsilon)
    for seed in seeds:
        generator = run_generator(seed, pair=name.pair, criterion=name.criterion, model=name.model)
        yield seed, match(plan, generator)


def run_protocol(
    source: Predictions,
    target: Predictions,
    name: RunName,
    *,
    epsilon: float = EPSILON,
    seeds: Iterable[int] = range(N_SEEDS),
) -> list[MatchedRun]:
    """Run the protocol for one model, pair and criterion.

    Parameters
    ----------
    source, target : Predictions
        One model's predictions on the two sets.
    name : RunName
        Model, pair and criterion.
    epsilon : float
        Largest difference between matched probabilities, in (0, 1].
    seeds : iterable of int
        Distinct and not negative; at least one.

    Returns
    -------
    list of MatchedRun
        One per seed, in the order given.

    Raises
    ------
    InputError
        If epsilon or a seed is out of range, a seed occurs twice, or there are no seeds.
    """
    whole_source, whole_target = _Subset.of(source), _Subset.of(target)
    runs = []
    for seed, rows in matched_rows(source, target, name, epsilon=epsilon, seeds=seeds):
        is_matched = rows != UNMATCHED
        matched_source = _Subset.of(source, rows[is_matched])
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


def matched_pairs(
    source: Predictions,
    target: Predictions,
    name: RunName,
    *,
    epsilon: float = EPSILON,
    seeds: Iterable[int] = range(N_SEEDS),
) -> pa.Table:
    """List the matched pairs of every seed, which are those of `run_protocol`.

    Parameters
    ----------
    source, target : Predictions
        One model's predictions on the two sets.
    name : RunName
        Model, pair and criterion.
    epsilon : float
        Largest difference between matched probabilities, in (0, 1].
    seeds : iterable of int
        Distinct and not negative; at least one.

    Returns
    -------
    pyarrow.Table
        Schema `schemas.PAIRS`; rows in order of the seeds given, then of the target index.

    Raises
    ------
    InputError
        If epsilon or a seed is out of range, a seed occurs twice, or there are no seeds.
    """
    columns: dict[str, list[npt.NDArray[np.int32]]] = {column: [] for column in PAIRS.names}
    for seed, rows in matched_rows(source, target, name, epsilon=epsilon, seeds=seeds):
        is_matched = rows != UNMATCHED
        columns["seed"].append(np.full(is_matched.sum(), seed, np.int32))
        columns["source_index"].append(source.index[rows[is_matched]])
        columns["target_index"].append(target.index[is_matched])
    return PAIRS.table({column: np.concatenate(parts) for column, parts in columns.items()})


def comparison_runs(
    comparison: Comparison, criterion: Criterion, epsilon: float, seeds: Iterable[int]
) -> pa.Table:
    """Run the protocol on a comparison, and identify it in every row.

    Parameters
    ----------
    comparison : Comparison
        The model, the pair and its predictions.
    criterion : Criterion
    epsilon : float
        Largest difference between matched probabilities, in (0, 1].
    seeds : iterable of int
        Distinct and not negative; at least one.

    Returns
    -------
    pyarrow.Table
        Schema `schemas.COMPARISON_RUNS`, one row per seed. Digests in its metadata identify the
        datapoints of both sets (see `schemas.join_runs`).

    Raises
    ------
    InputError
        If epsilon or a seed is out of range, a seed occurs twice, or there are no seeds.
    """
    pair = comparison.pair
    name = RunName(comparison.model, pair.name, criterion)
    runs = run_protocol(comparison.source, comparison.target, name, epsilon=epsilon, seeds=seeds)
    identity = {
        "model": comparison.model,
        "pair": pair.name,
        "criterion": criterion.value,
        "original": pair.original,
        "replication": pair.replication,
        "source": comparison.source_name,
        "epsilon": epsilon,
    }
    columns = {key: [value] * len(runs) for key, value in identity.items()}
    columns |= {c.name: [getattr(run, c.name) for run in runs] for c in RUN_COLUMNS}
    datapoints = {
        "original datapoints": comparison.original.datapoints_digest,
        "replication datapoints": comparison.replication.datapoints_digest,
    }
    return COMPARISON_RUNS.table(columns, datapoints)


def comparison_pairs(
    comparison: Comparison, criterion: Criterion, epsilon: float, seeds: Iterable[int]
) -> pa.Table:
    """List the matched pairs of a comparison.

    Parameters
    ----------
    comparison : Comparison
        The model, the pair and its predictions.
    criterion : Criterion
    epsilon : float
        Largest difference between matched probabilities, in (0, 1].
    seeds : iterable of int
        Distinct and not negative; at least one.

    Returns
    -------
    pyarrow.Table
        Schema `schemas.PAIRS`.

    Raises
    ------
    InputError
        If epsilon or a seed is out of range, a seed occurs twice, or there are no seeds.
    """
    name = RunName(comparison.model, comparison.pair.name, criterion)
    return matched_pairs(comparison.source, comparison.target, name, epsilon=epsilon, seeds=seeds)


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
