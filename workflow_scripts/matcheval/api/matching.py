"""`matcheval.match`: which datapoints of two sets are matched, and what that gives per seed."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pandas as pd

from matcheval.api.compared import reliability_figure
from matcheval.api.inputs import Data, Given, InputWarning
from matcheval.api.layouts import layout_of
from matcheval.api.models import GivenModel
from matcheval.api.options import PairOptions, methods_of
from matcheval.api.reading import input_warnings, read_compared, unmatched_warning
from matcheval.errors import unknown_name_error
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.schemas import RUNS
from matcheval.protocol.settings import EPSILON, N_SEEDS, MatchingMethod

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Literal["runs", "pairs"]
_TABLES: tuple[Table, ...] = ("runs", "pairs")


@dataclass(frozen=True, eq=False)
class MatchResult:
    """One model's predictions on two sets, matched once per seed; what `match` returns.

    Attributes
    ----------
    model : str
        Name of the model.
    source, target : str
        Names of the sets: matches are sought in the source for every datapoint of the target.
    criterion : str
        `label_probability` or `probability`.
    epsilon : float
        Largest difference of matched probabilities.
    matched_accuracy_source, matched_accuracy_target : float
        Accuracy on the matched subsets, a fraction, mean over the seeds with a matched pair; NaN
        if there is none.
    fraction_unmatched : float
        Share of the targets without a match, mean over seeds.
    warnings : tuple of str
        What looks wrong about the input, and whether most targets are unmatched.
    """

    model: str
    source: str
    target: str
    criterion: str
    epsilon: float
    matched_accuracy_source: float
    matched_accuracy_target: float
    fraction_unmatched: float
    warnings: tuple[str, ...]
    _comparison: Comparison = field(repr=False)
    _matched: MatchedModel = field(repr=False)
    _method: MatchingMethod = field(repr=False)
    _runs: pd.DataFrame = field(repr=False)

    def to_pandas(self, table: Table = "runs") -> pd.DataFrame:
        """Return a table of the results.

        Parameters
        ----------
        table : str
            `runs`: sizes, accuracies and mean confidences of all subsets, as fractions, a row per
            seed; `pairs`: matched datapoints by their index, a row per pair and seed.

        Returns
        -------
        pandas.DataFrame
            A new table, with the columns of `matcheval.protocol.schemas.RUNS` or `PAIRS` there.

        Raises
        ------
        InputError
            If there is no such table.
        """
        if table not in _TABLES:
            raise unknown_name_error("table", str(table), _TABLES)
        if table == "runs":
            return self._runs.copy()
        frame: pd.DataFrame = self._matched.pairs().to_pandas()
        return frame

    def plot(self) -> "Figure":
        """Draw accuracy against confidence in bins, of both sets and their matched subsets.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        seeds = self._runs["seed"].tolist()
        return reliability_figure(self._comparison, self._matched, self._method, seeds)


def match(
    source: Data,
    target: Data,
    *,
    criterion: str = "label_probability",
    epsilon: float = EPSILON,
    seeds: int = N_SEEDS,
    model: str = "",
    pair: str = "pair",
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> MatchResult:
    """Match every datapoint of a target with one of a source whose confidence is the same.

    The numbers are those of `matched-eval match`.

    Parameters
    ----------
    source, target : path-like, table or mapping of arrays
        One model's predictions on each set, as for `compare`. The protocol takes the larger set as
        source; here it is the caller's choice.
    criterion : str
        `label_probability`: the predicted label agrees, and the probability up to `epsilon`
        (Algorithm 1); `probability`: the latter (Algorithm 2).
    epsilon, seeds, model, pair, columns, classes, first_label
        As for `compare`.

    Returns
    -------
    MatchResult

    Raises
    ------
    InputError
        As `compare`.

    Warns
    -----
    InputWarning
        For input that looks wrong, and where most targets are unmatched.

    References
    ----------
    Anzaku et al. (2022), arXiv 2209.01848, section 3, Algorithms 1 and 2.

    Examples
    --------
    >>> import matcheval as me
    >>> source = {"label": [0, 1, 1], "prediction": [0, 1, 0], "probability": [0.9, 0.8, 0.6]}
    >>> target = {"label": [0, 1], "prediction": [0, 0], "probability": [0.901, 0.7]}
    >>> result = me.match(source, target, seeds=1)
    >>> result.to_pandas("pairs").values.tolist()
    [[0, 0, 0]]
    >>> result.fraction_unmatched
    0.5
    """
    methods = methods_of([criterion], epsilon, seeds)
    options = PairOptions(pair, model, "original")
    given = GivenModel("", Given.of(source, "source"), Given.of(target, "target"))
    layout, n_classes = layout_of(list(given.sets.values()), columns, classes, first_label)
    known = read_compared([given], options, methods, seeds, layout, n_classes)
    (comparison,), (method,) = known.comparisons, methods.values()
    matched = MatchedModel.of(comparison, method, known.seeds)
    runs: pd.DataFrame = matched.runs().select(RUNS.names).to_pandas()
    share = float(runs["fraction_unmatched"].mean())
    told = filter(None, [*input_warnings(known), unmatched_warning(share, method.criterion)])
    result = MatchResult(
        model=comparison.model,
        source=comparison.source_name,
        target=comparison.target_name,
        criterion=method.criterion.value,
        epsilon=method.epsilon,
        matched_accuracy_source=float(runs["matched_accuracy_source"].mean()),
        matched_accuracy_target=float(runs["matched_accuracy_target"].mean()),
        fraction_unmatched=share,
        warnings=tuple(told),
        _comparison=comparison,
        _matched=matched,
        _method=method,
        _runs=runs,
    )
    for text in result.warnings:
        warnings.warn(text, InputWarning, stacklevel=2)
    return result
