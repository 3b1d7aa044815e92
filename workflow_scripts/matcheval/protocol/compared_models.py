"""Models on one pair of sets: matched, measured per seed, with the errors of their matched gaps.

Anzaku et al. (2022), arXiv 2209.01848, section 4. A run is determined by the predictions, model,
pair, method and seed. All tables of matched gaps use the rules for standard errors that are here,
so that none shows an error that another refuses.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.tables import MODEL, Column
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.protocol import matching, schemas, standard_errors
from matcheval.protocol.comparisons import Blocks, Comparison, GroupSource, blocks_of_pair
from matcheval.protocol.decomposition import Floats, scored
from matcheval.protocol.matching import (
    UNMATCHED,
    MatchedRows,
    MatchingPlan,
    Rows,
    SortedSets,
    order_by_score,
)
from matcheval.protocol.schemas import IDENTITY_COLUMNS, PAIRS, RUNS
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import ErrorTerms, TermsTotal, error_terms
from matcheval.statistics.intervals import LEVEL

# What stands for the mean over models in tables; no model has such a name.
MEAN = "(mean)"
MIN_PAIRS = 30  # with fewer matched pairs, a standard error would pretend to know what it does not

MATCHED_MODEL = (
    MODEL,
    schemas.PAIR,
    schemas.MATCHING,
    schemas.CRITERION,
    Column("epsilon", pa.float64(), "1", "largest difference of matched scores"),
)


def _measure_runs(
    source: Predictions, target: Predictions, matches: Iterable[Rows]
) -> Iterator[dict[str, float]]:
    """Yield the columns of each run (`schemas.RUN_COLUMNS`, no seed); NaN for an empty subset."""
    sizes = {"n_source": len(source), "n_target": len(target)}
    whole = slice(None)
    set_columns = _averages("source", source, whole) | _averages("target", target, whole)
    for row in matches:
        is_matched = row != UNMATCHED
        n_matched = int(np.count_nonzero(is_matched))
        yield {
            **sizes, "n_matched": n_matched,
            "fraction_unmatched": (len(target) - n_matched) / len(target),
            **set_columns,
            **_averages("source", source, row[is_matched], "matched_"),
            **_averages("target", target, np.flatnonzero(is_matched), "matched_"),
            **_averages("target", target, np.flatnonzero(~is_matched), "unmatched_"),
        }  # fmt: skip


def _averages(
    role: str, predictions: Predictions, rows: slice | Rows, prefix: str = ""
) -> dict[str, float]:
    """Return accuracy and mean confidence of some rows, by the names of their columns."""
    correct, p = predictions.correct[rows], predictions.probability[rows]
    n, nan = len(correct), float("nan")
    return {
        f"{prefix}accuracy_{role}": int(np.count_nonzero(correct)) / n if n else nan,
        f"{prefix}confidence_{role}": float(p.mean(dtype=np.float64)) if n else nan,
    }


@dataclass(frozen=True)
class MatchedModel:
    """One model's predictions on a pair, matched by one method, once per seed."""

    comparison: Comparison
    name: str
    method: MatchingMethod
    rows: MatchedRows

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        method: MatchingMethod,
        seeds: Iterable[int],
        name: str = "",
        plan: MatchingPlan | None = None,
    ) -> Self:
        """Match a model's predictions on both sets once per seed, by `plan` if it is known."""
        if plan is None:
            plan = matching.plan_matching(comparison.source, comparison.target, method)
        names: Any = {
            "pair": comparison.pair.name, "criterion": method.criterion, "model": comparison.model,
        }  # fmt: skip
        rows = {
            s: matching.match_once(plan, method.order, matching.run_sequence(s, **names))
            for s in seeds
        }
        return cls(comparison, name, method, rows)

    @property
    def identity(self) -> dict[str, str | float]:
        """Names of model, pair, sets and matching, criterion and ε, by name of the column."""
        pair = self.comparison.pair
        return {
            "model": self.comparison.model, "pair": pair.name, "matching": self.name,
            "criterion": self.method.criterion.value, "epsilon": self.method.epsilon,
            "original": pair.original, "replication": pair.replication,
            "source": self.comparison.source_name,
        }  # fmt: skip

    @cached_property
    def measured(self) -> dict[str, list[float]]:
        """Sizes, accuracies and confidences per seed, by column of `schemas.RUN_COLUMNS`."""
        source, target = self.comparison.source, self.comparison.target
        measured = zip(self.rows, _measure_runs(source, target, self.rows.values()), strict=True)
        runs = [{"seed": seed} | run for seed, run in measured]
        return {name: [run[name] for run in runs] for name in RUNS.names}

    def runs(self) -> pa.Table:
        """Return a table of schema `schemas.COMPARISON_RUNS`, one row per seed."""
        names = {column.name: self.identity[column.name] for column in IDENTITY_COLUMNS}
        columns = {name: [value] * len(self.rows) for name, value in names.items()}
        datapoints = {
            f"{origin} datapoints": getattr(self.comparison, origin).datapoints_digest
            for origin in self.comparison.pair.datasets
        }
        return schemas.COMPARISON_RUNS.table(
            columns | self.measured, datapoints | self.method.unusual
        )

    def pairs(self) -> pa.Table:
        """Return the matched pairs of all seeds, of schema `schemas.PAIRS`."""
        source, target = self.comparison.source.index, self.comparison.target.index
        parts = []
        for seed, row in self.rows.items():
            hit = row != UNMATCHED
            seeds = np.full(hit.sum(), seed, np.int32)
            parts.append((seeds, source[row[hit]], target[hit]))
        columns = map(np.concatenate, zip(*parts, strict=True))
        return PAIRS.table(dict(zip(PAIRS.names, columns, strict=True)))

    @property
    def matched_gaps(self) -> Floats:
        """Matched gap for each seed, original minus replication; NaN without a matched pair."""
        roles = ("source", "target")
        source, target = (np.array(self.measured[f"matched_accuracy_{role}"]) for role in roles)
        gaps: Floats = source - target
        return gaps if self.comparison.source_is_original else -gaps

    @property
    def fractions_unmatched(self) -> Floats:
        """Share of the targets that are not matched, for each seed."""
        return np.array(self.measured["fraction_unmatched"])

    @property
    def n_matched(self) -> float:
        """Mean number of matched pairs over the seeds."""
        return float(np.mean(self.measured["n_matched"]))

    @cached_property
    def error_terms(self) -> ErrorTerms:
        """Contribution of each datapoint to the sampling error of the mean matched gap."""
        return error_terms(*scored(self.comparison), self.rows)


def match_by_all(
    comparison: Comparison, methods: Mapping[str, MatchingMethod], seeds: Sequence[int]
) -> Iterator[MatchedModel]:
    """Match a model by one method after the other; both sets are sorted by confidence only once."""
    source, target = comparison.source, comparison.target
    orders = order_by_score(source.probability), order_by_score(target.probability)
    for name, method in methods.items():
        plan = SortedSets.of(source, target, method, orders).plan
        yield MatchedModel.of(comparison, method, seeds, name, plan)


@dataclass(frozen=True)
class PredictionFile:
    """The path of a prediction file, and the layout of its columns."""

    path: Path
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True)
class ComparedModels:
    """The predictions of several models on the same datapoints of a pair, and how to match them.

    It is what an analysis with a table per pair is given. There is at least one model; `blocks` are
    groups or paired images, and None where datapoints are by themselves; `files` are each model's
    prediction files by origin, for what is not in the predictions, such as logits.
    """

    pair: Pair
    comparisons: tuple[Comparison, ...]
    methods: Mapping[str, MatchingMethod]  # by name of the matching
    seeds: tuple[int, ...]
    blocks: Blocks | None = None
    files: tuple[Mapping[str, PredictionFile], ...] = ()
    notes: tuple[str, ...] = ()  # what was recognised in the files
    warnings: tuple[str, ...] = ()  # which datapoints are left out, and what looks wrong
    layout: Layout = field(default_factory=Layout)  # what a caller calls classes, for texts

    def __post_init__(self) -> None:
        """Check that there is a model, and that all have the same datapoints."""
        if not self.comparisons:
            raise InputError("no models to compare", field="models")
        for _ in check_same_datapoints(self.comparisons):
            pass

    @property
    def sign(self) -> int:
        """1 or -1: the sign that turns source minus target into original minus replication."""
        return 1 if self.comparisons[0].source_is_original else -1

    def matched(self) -> Iterator[MatchedModel]:
        """Match every model by every method; yield all matches of one model before the next."""
        for comparison in self.comparisons:
            yield from match_by_all(comparison, self.methods, self.seeds)


def check_same_datapoints(comparisons: Iterable[Comparison]) -> Iterator[Comparison]:
    """Yield models unchanged; raise an error for one with other datapoints than the first."""
    first = None
    for comparison in comparisons:
        first = first or comparison
        for origin, dataset in comparison.pair.datasets.items():
            own, expected = getattr(comparison, origin), getattr(first, origin)
            if own is not expected and own.datapoints_digest != expected.datapoints_digest:
                raise InputError(
                    f"model '{comparison.model}' has other indices or labels on '{dataset}' than "
                    f"model '{first.model}': {describe_other_datapoints(own, expected)}",
                    remedy="Predict the same datapoints with all models; without a column "
                    "`index`, in the same order",
                )
        yield comparison


def describe_other_datapoints(predictions: Predictions, expected: Predictions) -> str:
    """Say how datapoints differ from those expected: in their number, an index or labels."""
    if len(predictions) != len(expected):
        return f"{len(predictions):,} datapoints, not {len(expected):,}"
    (rows,) = np.nonzero(predictions.index != expected.index)
    if len(rows):
        return f"index {predictions.index[rows[0]]} in place of {expected.index[rows[0]]}"
    (rows,) = np.nonzero(predictions.label != expected.label)
    row, more = rows[0], f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
    label = f"label {predictions.label[row]}, not {expected.label[row]}"
    return f"index {predictions.index[row]} has {label}{more}"


@dataclass(frozen=True)
class PairFiles:
    """The prediction files of models on a pair, how to read them, and how to match them."""

    pair: Pair
    models: Sequence[str]
    original: Sequence[Path]  # of all models, in their order
    replication: Sequence[Path]
    layouts: Mapping[str, Layout]  # by origin
    matchings: Mapping[str, MatchingMethod]
    seeds: Sequence[int]
    groups: Mapping[str, GroupSource] = field(default_factory=dict)  # by origin; none: no account

    def comparisons(self) -> Iterator[Comparison]:
        """Read models one by one; after a bad file, only check the others, and raise one error."""
        problems = ErrorCollector()
        for model, *files in zip(self.models, self.original, self.replication, strict=True):
            with problems.collected():
                original, replication = (
                    read_predictions(file, layout=self.layouts[origin])
                    for origin, file in zip(self.pair.datasets, files, strict=True)
                )
                comparison = Comparison(model, self.pair, original, replication)
                if not problems.has_errors:
                    yield comparison
        problems.raise_any()

    def streamed(self) -> tuple[Iterator[Comparison], Blocks | None]:
        """Return an iterator that reads model after model, and the blocks of their datapoints."""
        comparisons = check_same_datapoints(self.comparisons())
        first = next(comparisons)
        return chain([first], comparisons), self._blocks(first)

    def read(self) -> ComparedModels:
        """Read the predictions of all models into memory."""
        comparisons = tuple(self.comparisons())
        files = tuple(
            {o: PredictionFile(paths[i], self.layouts[o]) for o, paths in self._paths.items()}
            for i in range(len(comparisons))
        )
        return ComparedModels(
            self.pair, comparisons, self.matchings, tuple(self.seeds),
            self._blocks(comparisons[0]), files, layout=self.layouts["original"],
        )  # fmt: skip

    def _blocks(self, first: Comparison) -> Blocks | None:
        """Return the blocks of the datapoints, those of `first`; None if all are independent."""
        groups = {
            origin: self.groups[origin].read(getattr(first, origin), paths, self.layouts[origin])
            for origin, paths in self._paths.items()
        }
        return blocks_of_pair(first, groups)

    @property
    def _paths(self) -> dict[str, Sequence[Path]]:
        return {"original": self.original, "replication": self.replication}


def mean_of_defined(values: npt.ArrayLike) -> float:
    """Return the mean of the values that are not NaN; NaN if all are."""
    numbers = _without_nan(values)
    return float(numbers.mean()) if len(numbers) else float("nan")


def std_of_defined(values: npt.ArrayLike) -> float:
    """Return the standard deviation (ddof = 1) of the values that are not NaN; NaN below two."""
    numbers = _without_nan(values)
    return float(numbers.std(ddof=1)) if len(numbers) > 1 else float("nan")


def _without_nan(values: npt.ArrayLike) -> Floats:
    numbers = np.asarray(values, np.float64)
    return numbers[~np.isnan(numbers)]


@dataclass(frozen=True)
class MatchedError:
    """A matched gap with standard error and interval; NaN, and the reason, where there is none."""

    matched_gap: float
    matched_gap_se: float
    matched_gap_low: float
    matched_gap_high: float
    reason: str


def matched_error(
    gap: float,
    n_matched: float,
    one_sided: Collection[str],
    terms: ErrorTerms,
    blocks: Blocks | None,
    level: float,
) -> MatchedError:
    """Compute a matched gap's standard error and interval, or say why they are not defined."""
    reason = ""
    if gap != gap:
        reason = "no matched gap: no target is matched in any run"
    elif n_matched < MIN_PAIRS:
        reason = f"fewer than {MIN_PAIRS} matched pairs"
    elif one_sided:
        reason = f"all predictions on {' and '.join(one_sided)} are right or wrong"
    elif blocks is not None and blocks.grouped and blocks.n < 2:
        reason = "a set is a single group"
    if reason and gap == gap:
        reason = f"no standard error of the matched gap: {reason}"
    error = float("nan") if reason else standard_errors.standard_error(terms, blocks)
    interval = standard_errors.error_interval(gap, error, blocks, level)
    return MatchedError(gap, error, *interval, reason)


def error_of_model(
    matched: MatchedModel, blocks: Blocks | None, terms: ErrorTerms | None = None
) -> MatchedError:
    """Return one model's matched gap, a mean over seeds, with its standard error and interval."""
    terms = matched.error_terms if terms is None else terms
    gap, level = mean_of_defined(matched.matched_gaps), matched.comparison.pair.confidence
    return matched_error(gap, matched.n_matched, matched.comparison.one_sided, terms, blocks, level)


class ErrorOfMean:
    """Adds up models one by one for their mean matched gap and its standard error.

    Models without a matched pair do not count.
    """

    def __init__(self) -> None:
        self._terms, self._level = TermsTotal(), LEVEL
        self._gaps, self._n_matched = list[float](), list[float]()
        self._one_sided = list[set[str]]()

    def add(self, matched: MatchedModel, terms: ErrorTerms | None = None) -> None:
        """Add a model, if it has a matched pair."""
        self._level = matched.comparison.pair.confidence
        if matched.n_matched:
            self._gaps.append(mean_of_defined(matched.matched_gaps))
            self._n_matched.append(matched.n_matched)
            self._one_sided.append(set(matched.comparison.one_sided))
            self._terms.add(matched.error_terms if terms is None else terms)

    def result(self, blocks: Blocks | None) -> MatchedError:
        """Return the mean matched gap of the models added so far, with its standard error."""
        one_sided = sorted(set.intersection(*self._one_sided)) if self._one_sided else []
        gap, n_matched = mean_of_defined(self._gaps), mean_of_defined(self._n_matched)
        return matched_error(gap, n_matched, one_sided, self._terms.mean, blocks, self._level)


def error_of_mean(models: Iterable[MatchedModel], blocks: Blocks | None) -> MatchedError:
    """Return the mean matched gap, with its error, of those models that have a matched pair."""
    total = ErrorOfMean()
    for model in models:
        total.add(model)
    return total.result(blocks)
