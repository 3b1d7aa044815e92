"""Models on one pair of sets: matched, measured per seed, with the errors of their matched gaps.

Anzaku et al. (2022), arXiv 2209.01848, section 4. A run is determined by the predictions, model,
pair, method and seed. All tables of matched gaps use the rules for standard errors that are here,
so that none shows an error that another refuses.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.tables import MODEL, Column
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.protocol.blocks import Blocks, GroupSource, blocks_of_pair
from matcheval.protocol.comparisons import Comparison, read_comparison
from matcheval.protocol.decomposition import Floats, scored
from matcheval.protocol.matching import (
    UNMATCHED,
    MatchedRows,
    match_once,
    plan_matching,
    run_sequence,
)
from matcheval.protocol.schemas import (
    COMPARISON_RUNS,
    CRITERION,
    IDENTITY_COLUMNS,
    MATCHING,
    PAIR,
    PAIRS,
    RUNS,
)
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import (
    ErrorTerms,
    PickWeights,
    error_interval,
    error_terms,
    mean_terms,
    pick_weights,
    standard_error,
)

# What stands for the mean over models in tables; no model has such a name.
MEAN = "(mean)"
MIN_PAIRS = 30  # with fewer matched pairs, a standard error would pretend to know what it does not

MATCHED_MODEL = (
    MODEL,
    PAIR,
    MATCHING,
    CRITERION,
    Column("epsilon", pa.float64(), "1", "largest difference of matched scores"),
)


def matched_rows(
    comparison: Comparison, method: MatchingMethod, seeds: Iterable[int]
) -> MatchedRows:
    """Match a model's predictions once per seed."""
    plan = plan_matching(comparison.source, comparison.target, method)
    names = {"pair": comparison.pair.name, "model": comparison.model}
    return {
        seed: match_once(
            plan, method.order, run_sequence(seed, criterion=method.criterion, **names)
        )
        for seed in seeds
    }


def measure_run(
    source: Predictions, target: Predictions, row: npt.NDArray[np.int64]
) -> dict[str, float]:
    """Measure all columns of `schemas.RUN_COLUMNS` but the seed; NaN for an empty subset."""
    is_matched = row != UNMATCHED
    unmatched = np.flatnonzero(~is_matched)
    found: dict[str, float] = {
        "n_source": len(source),
        "n_target": len(target),
        "n_matched": int(is_matched.sum()),
        "fraction_unmatched": len(unmatched) / len(target),
    }
    subsets: dict[tuple[str, str], Any] = {
        ("", "source"): slice(None),
        ("", "target"): slice(None),
        ("matched_", "source"): row[is_matched],
        ("matched_", "target"): np.flatnonzero(is_matched),
        ("unmatched_", "target"): unmatched,
    }
    for (part, role), rows in subsets.items():
        side = source if role == "source" else target
        correct, probability = side.correct[rows], side.probability[rows]
        n, nan = len(correct), float("nan")
        found[f"{part}accuracy_{role}"] = int(correct.sum()) / n if n else nan
        found[f"{part}confidence_{role}"] = float(probability.mean(dtype=np.float64)) if n else nan
    return found


@dataclass(frozen=True)
class MatchedModel:
    """One model, matched by one method, once per seed."""

    comparison: Comparison
    name: str
    method: MatchingMethod
    rows: MatchedRows

    @classmethod
    def of(
        cls, comparison: Comparison, method: MatchingMethod, seeds: Iterable[int], name: str = ""
    ) -> Self:
        """Match a model."""
        return cls(comparison, name, method, matched_rows(comparison, method, seeds))

    @property
    def identity(self) -> dict[str, str | float]:
        """Values of the columns `MATCHED_MODEL`, and of `schemas.IDENTITY_COLUMNS`."""
        pair = self.comparison.pair
        return {
            "model": self.comparison.model, "pair": pair.name, "matching": self.name,
            "criterion": self.method.criterion.value, "epsilon": self.method.epsilon,
            "original": pair.original, "replication": pair.replication,
            "source": self.comparison.source_name,
        }  # fmt: skip

    @cached_property
    def measured(self) -> dict[str, list[float]]:
        """Values of all seeds, by column of `schemas.RUN_COLUMNS`."""
        source, target = self.comparison.source, self.comparison.target
        runs = [{"seed": s} | measure_run(source, target, row) for s, row in self.rows.items()]
        return {name: [run[name] for run in runs] for name in RUNS.names}

    def runs(self) -> pa.Table:
        """Return a table of schema `schemas.COMPARISON_RUNS`, one row per seed."""
        names = {column.name: self.identity[column.name] for column in IDENTITY_COLUMNS}
        columns = {name: [value] * len(self.rows) for name, value in names.items()}
        datapoints = {
            f"{origin} datapoints": getattr(self.comparison, origin).datapoints_digest
            for origin in self.comparison.pair.datasets
        }
        return COMPARISON_RUNS.table(columns | self.measured, datapoints | self.method.unusual)

    def pairs(self) -> pa.Table:
        """Return the matched pairs of all seeds, of schema `schemas.PAIRS`."""
        source, target = self.comparison.source.index, self.comparison.target.index
        parts: dict[str, list[npt.NDArray[np.int32]]] = {name: [] for name in PAIRS.names}
        for seed, row in self.rows.items():
            is_matched = row != UNMATCHED
            parts["seed"].append(np.full(is_matched.sum(), seed, np.int32))
            parts["source_index"].append(source[row[is_matched]])
            parts["target_index"].append(target[is_matched])
        return PAIRS.table({name: np.concatenate(arrays) for name, arrays in parts.items()})

    @property
    def matched_gaps(self) -> Floats:
        """Matched gap of each seed, original minus replication; NaN without a matched pair."""
        source, target = self.comparison.source.correct, self.comparison.target.correct
        gaps = np.full(len(self.rows), np.nan)
        for i, row in enumerate(self.rows.values()):
            hit = row != UNMATCHED
            if hit.any():
                gaps[i] = source[row[hit]].mean() - target[hit].mean()
        return gaps if self.comparison.source_is_original else -gaps

    @property
    def fractions_unmatched(self) -> Floats:
        """Share of unmatched targets of each seed."""
        return np.array([(row == UNMATCHED).mean() for row in self.rows.values()])

    @property
    def n_matched(self) -> float:
        """Number of matched pairs, mean over seeds."""
        return float(np.mean([(row != UNMATCHED).sum() for row in self.rows.values()]))

    @cached_property
    def weights(self) -> PickWeights:
        """How often each datapoint was matched."""
        return pick_weights(self.rows, len(self.comparison.source))

    @cached_property
    def errors(self) -> ErrorTerms:
        """What each datapoint adds to the error of the mean matched gap."""
        return error_terms(*scored(self.comparison), self.weights)


@dataclass(frozen=True)
class PredictionFile:
    """A prediction file, and how it is laid out."""

    path: Path
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True)
class ComparedModels:
    """Models on the same datapoints of a pair, and how they are matched.

    Attributes
    ----------
    pair : Pair
    comparisons : tuple of Comparison
        One per model, at least one.
    methods : mapping of str to MatchingMethod
        By name of the matching.
    seeds : tuple of int
        Of the runs by each matching.
    blocks : Blocks or None
        Groups, or paired images, of source and target; None where datapoints are by themselves.
    files : tuple of mapping of str to PredictionFile
        Each model's prediction files by origin, for what is not in the predictions: logits.

    Raises
    ------
    InputError
        On creation, if there is no model, or the models have other datapoints.
    """

    pair: Pair
    comparisons: tuple[Comparison, ...]
    methods: Mapping[str, MatchingMethod]
    seeds: tuple[int, ...]
    blocks: Blocks | None = None
    files: tuple[Mapping[str, PredictionFile], ...] = ()

    def __post_init__(self) -> None:
        """Check that all models are of the same datapoints."""
        if not self.comparisons:
            raise InputError("no models to compare", field="models")
        first, *others = self.comparisons
        for other in others:
            for origin, dataset in self.pair.datasets.items():
                ours, theirs = getattr(other, origin), getattr(first, origin)
                if ours.datapoints_digest != theirs.datapoints_digest:
                    raise InputError(
                        f"model '{other.model}' has other indices or labels on '{dataset}' than "
                        f"model '{first.model}': {_difference(ours, theirs)}",
                        remedy="Predict the same datapoints with all models; without a column "
                        "`index`, in the same order",
                    )

    @property
    def sign(self) -> int:
        """1 if the original is the source, else -1: source minus target times it is a gap."""
        return 1 if self.comparisons[0].source_is_original else -1

    def matched(self) -> Iterator[MatchedModel]:
        """Match every model by every method: models in their order, and of each all matchings."""
        for comparison in self.comparisons:
            for name, method in self.methods.items():
                yield MatchedModel.of(comparison, method, self.seeds, name)

    def rows(
        self, comparison: Comparison, method: MatchingMethod, seeds: Sequence[int] | None = None
    ) -> MatchedRows:
        """Match one model once per seed, those of the study by default."""
        return matched_rows(comparison, method, self.seeds if seeds is None else seeds)


def _difference(ours: Predictions, theirs: Predictions) -> str:
    """Say what the datapoints of two models differ in."""
    if len(ours) != len(theirs):
        return f"{len(ours):,} datapoints, not {len(theirs):,}"
    (rows,) = np.nonzero(ours.index != theirs.index)
    if len(rows):
        return f"index {ours.index[rows[0]]} in place of {theirs.index[rows[0]]}"
    (rows,) = np.nonzero(ours.label != theirs.label)
    row, more = rows[0], f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
    return f"index {ours.index[row]} has label {ours.label[row]}, not {theirs.label[row]}{more}"


def read_models(
    pair: Pair,
    models: Sequence[str],
    files: Mapping[str, Sequence[Path]],
    methods: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    layouts: Mapping[str, Layout],
    groups: Mapping[str, GroupSource],
) -> ComparedModels:
    """Read the prediction files of all models on a pair."""
    problems, found = ErrorCollector(), []
    for number, model in enumerate(models):
        with problems.collected():
            of_model = (files["original"][number], files["replication"][number])
            found.append(read_comparison(model, pair, of_model, layouts))
    problems.raise_any()
    known = {
        origin: groups[origin].read(getattr(found[0], origin), files[origin], layouts[origin])
        for origin in pair.datasets
    }
    of_models = tuple(
        {origin: PredictionFile(files[origin][n], layouts[origin]) for origin in pair.datasets}
        for n in range(len(found))
    )
    blocks = blocks_of_pair(found[0], known)
    return ComparedModels(pair, tuple(found), methods, tuple(seeds), blocks, of_models)


def mean_of_defined(values: npt.ArrayLike) -> float:
    """Return the mean of values without those that are NaN; NaN if all are."""
    numbers = np.asarray(values, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    return float(numbers.mean()) if len(numbers) else float("nan")


def std_of_defined(values: npt.ArrayLike) -> float:
    """Return the standard deviation (ddof = 1) of values that are not NaN; NaN below two."""
    numbers = np.asarray(values, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    return float(numbers.std(ddof=1)) if len(numbers) > 1 else float("nan")


@dataclass(frozen=True)
class MatchedError:
    """How certain a matched gap is, or in words why it has no standard error."""

    gap: float
    error: float
    low: float
    high: float
    reason: str

    @property
    def columns(self) -> dict[str, float]:
        """Values of the columns `matched_gap`, `matched_gap_se`, `_low` and `_high`."""
        return {
            "matched_gap": self.gap, "matched_gap_se": self.error,
            "matched_gap_low": self.low, "matched_gap_high": self.high,
        }  # fmt: skip


def matched_error(
    gap: float,
    n_matched: float,
    one_sided: Collection[str],
    terms: ErrorTerms,
    blocks: Blocks | None,
) -> MatchedError:
    """Compute the standard error of a matched gap, if there is one."""
    reason = ""
    if gap != gap:
        reason = "no matched gap: no target is matched in any run"
    elif n_matched < MIN_PAIRS:
        reason = f"no standard error of the matched gap: fewer than {MIN_PAIRS} matched pairs"
    elif one_sided:
        sets = " and ".join(one_sided)
        reason = (
            f"no standard error of the matched gap: all predictions on {sets} are right or wrong"
        )
    elif blocks is not None and blocks.grouped and blocks.n < 2:
        reason = "no standard error of the matched gap: a set is a single group"
    error = float("nan") if reason else standard_error(terms, blocks)
    return MatchedError(gap, error, *error_interval(gap, error, blocks), reason)


def error_of_model(
    one: MatchedModel, blocks: Blocks | None, terms: ErrorTerms | None = None
) -> MatchedError:
    """Return one model's matched gap with its error."""
    terms = one.errors if terms is None else terms
    gap = mean_of_defined(one.matched_gaps)
    return matched_error(gap, one.n_matched, one.comparison.one_sided, terms, blocks)


def error_of_mean(models: Sequence[MatchedModel], blocks: Blocks | None) -> MatchedError:
    """Return the mean matched gap of several models with its error."""
    used = [one for one in models if one.n_matched] or list(models)
    gap = mean_of_defined([mean_of_defined(one.matched_gaps) for one in used])
    n_matched = mean_of_defined([one.n_matched for one in used])
    one_sided = sorted(set.intersection(*(set(one.comparison.one_sided) for one in used)))
    terms = mean_terms([one.errors for one in used])
    return matched_error(gap, n_matched, one_sided, terms, blocks)
