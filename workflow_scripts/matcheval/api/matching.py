"""`matcheval.match`: one model's predictions on two sets, matched once per seed."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd
import pyarrow as pa

from matcheval.api.comparison import reliability_figure, warnings_of
from matcheval.api.pairs import ModelInputs, Origin, PairOptions, all_sources, read_compared
from matcheval.errors import check_known
from matcheval.io.tables import write_table
from matcheval.predictions.inputs import Data, Shown, columns_of, layout_of, source_of, warn_each
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.criteria import EPSILON, N_SEEDS
from matcheval.protocol.schemas import RUNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Literal["runs", "pairs"]
_TABLES: tuple[Table, ...] = ("runs", "pairs")
RUN_FILES, PAIRS_FILE = ("runs.parquet", "runs.csv"), "pairs.parquet"
_FEW = ("seed", "n_matched", "matched_accuracy_source", "matched_accuracy_target",
        "fraction_unmatched")  # fmt: skip


@dataclass(frozen=True, eq=False)
class MatchResult(Shown):
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
    notes : tuple of str
        What was recognised in files and tables by other names than the standard ones.
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
    notes: tuple[str, ...]
    _matched: MatchedModel = field(repr=False)
    _runs: pa.Table = field(repr=False)
    _pair: str = field(repr=False)

    def __str__(self) -> str:
        """Return what was matched, and means over the seeds."""
        accuracies = self.matched_accuracy_source, self.matched_accuracy_target
        source, target = (f"{100 * accuracy:.2f} %" for accuracy in accuracies)
        return (
            f"{self.model}: {self.target} matched in {self.source} by {self.criterion}, ε = "
            f"{self.epsilon:g}\nmatched accuracy: {source} on {self.source}, {target} on "
            f"{self.target}; {100 * self.fraction_unmatched:.2f} % of the targets are unmatched"
        )

    def to_pandas(self, table: Table = "runs", *, all: bool = False) -> pd.DataFrame:
        """Return one of the result tables.

        Parameters
        ----------
        table : str
            `runs`: sizes, accuracies and mean confidences of all subsets, as fractions, a row per
            seed; `pairs`: matched datapoints by their index, a row per pair and seed.
        all : bool
            All columns of `matcheval.protocol.schemas.RUNS`, in place of `seed`, `n_matched`,
            matched accuracies and `fraction_unmatched`.

        Returns
        -------
        pandas.DataFrame
            A new table; columns of `pairs` are `seed`, `source_index` and `target_index`.

        Raises
        ------
        InputError
            If there is no such table.
        """
        check_known("table", [table], _TABLES)
        if table == "pairs":
            return self._matched.pairs().to_pandas()
        return columns_of(self._runs.select(RUNS.names).to_pandas(), _FEW, every=all)

    def plot(self) -> "Figure":
        """Draw accuracy against confidence in bins, of both sets and their matched subsets.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        return reliability_figure(self._matched)

    def save(self, folder: str | os.PathLike[str], *, pairs: bool = False) -> list[Path]:
        """Write the table of runs, as `matched-eval match --output` does.

        Parameters
        ----------
        folder : path-like
            Created if need be; files of an earlier match in it are replaced.
        pairs : bool
            Also write the matched datapoints.

        Returns
        -------
        list of Path
            `runs.parquet`, `runs.csv` and, with pairs, `pairs.parquet`.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        columns = {name: self._runs[name].to_numpy() for name in RUNS.names}
        metadata = {
            "model": self.model, "pair": self._pair, "epsilon": str(self.epsilon),
            "criterion": self.criterion,
        }  # fmt: skip
        tables = dict.fromkeys(RUN_FILES, RUNS.table(columns, metadata))
        if pairs:
            tables[PAIRS_FILE] = self._matched.pairs()
        for name, table in tables.items():
            write_table(table, Path(folder, name))
        return [Path(folder, name) for name in tables]


def match(
    original: Data,
    replication: Data,
    *,
    source: Origin | None = None,
    criterion: str = "label_probability",
    epsilon: float = EPSILON,
    seeds: int = N_SEEDS,
    model: str = "",
    pair: str = "pair",
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
) -> MatchResult:
    """Match every datapoint of a target with one of a source whose confidence is the same.

    The numbers are those of `matched-eval match`.

    Parameters
    ----------
    original, replication : path-like, table or mapping of arrays
        One model's predictions on each set, as for `compare`.
    source : {"original", "replication"}, optional
        The set in which matches are sought for every datapoint of the other. By default the larger
        one, the original if both are equally large.
    criterion : {"label_probability", "probability"}
        `label_probability`: the predicted label agrees, and the probability up to `epsilon`
        (Algorithm 1); `probability`: the latter (Algorithm 2).
    seeds : int
        Random runs, with seeds 0, 1, ...; 1 to 10,000.
    epsilon, model, pair, columns, classes, first_label, labels_are_true
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
    >>> old = {"label": [0, 1, 1], "prediction": [0, 1, 0], "probability": [0.9, 0.8, 0.6]}
    >>> new = {"label": [0, 1], "prediction": [0, 0], "probability": [0.901, 0.7]}
    >>> result = me.match(old, new, seeds=1)
    >>> result.to_pandas("pairs").values.tolist()
    [[0, 0, 0]]
    >>> result.fraction_unmatched
    0.5
    """
    options = PairOptions(criterion, epsilon, seeds, pair, model, source)
    inputs = ModelInputs("", source_of(original, "original"), source_of(replication, "replication"))
    layout = layout_of(all_sources([inputs]), columns, classes, first_label, labels_are_true)
    compared = read_compared([inputs], options, layout)
    (comparison,), (method,) = compared.comparisons, compared.methods.values()
    matched = MatchedModel.of(comparison, method, compared.seeds)
    runs = matched.runs()
    frame = runs.select(RUNS.names).to_pandas()
    means = ("matched_accuracy_source", "matched_accuracy_target", "fraction_unmatched")
    share = float(frame["fraction_unmatched"].mean())
    result = MatchResult(
        model=comparison.model, source=comparison.source_name, target=comparison.target_name,
        criterion=method.criterion.value, epsilon=method.epsilon,
        **{name: float(frame[name].mean()) for name in means},
        warnings=tuple(warnings_of(compared, {method.criterion: share})), notes=compared.notes,
        _matched=matched, _runs=runs, _pair=pair,
    )  # fmt: skip
    warn_each(result.warnings)
    return result
