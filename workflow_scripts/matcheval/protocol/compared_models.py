"""All models of a study on one pair of sets: what tables of a pair are computed from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.tables import MODEL, Column
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.comparisons import Comparison, read_comparison
from matcheval.protocol.confidence_bins import Floats, Scored
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.pair_blocks import GroupSource, blocks_of_pair
from matcheval.protocol.runs import MatchedRows, RunName, matched_rows
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import ErrorTerms, error_terms, pick_weights

# What stands for the mean over models in tables; no model has such a name.
MEAN = "(mean)"

MATCHED_MODEL = (
    MODEL,
    Column("pair", pa.string(), "", "name of the pair of sets"),
    Column("matching", pa.string(), "", "name of the matching"),
    Column("criterion", pa.string(), "", "label_probability (Algorithm 1) or probability (2)"),
    Column("epsilon", pa.float64(), "1", "largest difference of matched scores"),
)


@dataclass(frozen=True)
class PredictionFile:
    """A prediction file, and how it is laid out."""

    path: Path
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True)
class MatchedModel:
    """One model, matched by one method, once per seed."""

    comparison: Comparison
    name: str
    method: MatchingMethod
    rows: MatchedRows

    @property
    def identity(self) -> dict[str, str | float]:
        """Values of the columns `MATCHED_MODEL`."""
        return identity(self.comparison, self.name, self.method)

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
    def errors(self) -> ErrorTerms:
        """What each datapoint adds to the error of the mean matched gap."""
        source, target = self.comparison.source, self.comparison.target
        weights = pick_weights(self.rows, len(source))
        of_source = Scored(source.probability, source.correct)
        return error_terms(of_source, Scored(target.probability, target.correct), weights)


def identity(
    comparison: Comparison, name: str, method: MatchingMethod
) -> dict[str, str | float]:  # fmt: skip
    """Return values of the columns `MATCHED_MODEL`."""
    return {
        "model": comparison.model,
        "pair": comparison.pair.name,
        "matching": name,
        "criterion": method.criterion.value,
        "epsilon": method.epsilon,
    }


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
        """Match every model by every method, once per seed, as tables of matched gaps do.

        Yields
        ------
        MatchedModel
            Models in their order, and of each all matchings.
        """
        for comparison in self.comparisons:
            for name, method in self.methods.items():
                yield MatchedModel(comparison, name, method, self.rows(comparison, method))

    def rows(
        self, comparison: Comparison, method: MatchingMethod, seeds: Sequence[int] | None = None
    ) -> MatchedRows:
        """Match one model, once per seed.

        Parameters
        ----------
        comparison : Comparison
        method : MatchingMethod
        seeds : sequence of int, optional
            Those of the study by default.

        Returns
        -------
        mapping of int to int64 array
            As of `runs.matched_rows`.
        """
        name = RunName(comparison.model, self.pair.name)
        chosen = self.seeds if seeds is None else seeds
        return matched_rows(comparison.source, comparison.target, name, method, chosen)


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
    first = found[0]
    known = {
        origin: groups[origin].read(getattr(first, origin), files[origin], layouts[origin])
        for origin in pair.datasets
    }
    of_models = tuple(
        {origin: PredictionFile(files[origin][n], layouts[origin]) for origin in pair.datasets}
        for n in range(len(found))
    )
    blocks = blocks_of_pair(first, known)
    return ComparedModels(pair, tuple(found), methods, tuple(seeds), blocks, of_models)
